// SPDX-License-Identifier: Apache-2.0
// Defines number types, which kernels and their callers share, and how kernels load and store numbers of these types.
// Sums and cell states have the accumulation type: float32 for the 16-bit types, otherwise the type itself.
#pragma once

#include <cstdint>
#include <type_traits>

#ifdef __CUDACC__
#define RNNLAB_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define RNNLAB_HOST_DEVICE inline
#endif

namespace rnnlab::kernels {

enum class ElementType { kFloat32, kFloat64, kFloat16, kBfloat16 };

template <class T>
using Accumulation = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class T>
RNNLAB_HOST_DEVICE Accumulation<T> load(const void* data, int64_t index) {
  return static_cast<Accumulation<T>>(static_cast<const T*>(data)[index]);
}

template <class T>
RNNLAB_HOST_DEVICE Accumulation<T> load_or_zero(const void* data, int64_t index) {
  return data == nullptr ? Accumulation<T>(0) : load<T>(data, index);
}

template <class T>
RNNLAB_HOST_DEVICE void store(void* data, int64_t index, Accumulation<T> value) {
  static_cast<T*>(data)[index] = static_cast<T>(value);
}

#ifndef __CUDACC_RTC__  // NVRTC, which compiles kernels when they are first used, rejects functions for the host
// Calls `work` with a value of the C++ type; the 16-bit types are the caller's.
template <class Float16, class Bfloat16, class Work>
void with_element_type(ElementType type, const Work& work) {
  switch (type) {
    case ElementType::kFloat32:  // NOLINT(bugprone-branch-clone): the branches differ in the type of the value
      return work(float());
    case ElementType::kFloat64:
      return work(double());
    case ElementType::kFloat16:
      return work(Float16());
    case ElementType::kBfloat16:
      return work(Bfloat16());
  }
}
#endif

}  // namespace rnnlab::kernels
