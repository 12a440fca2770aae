// What a block multiplies gates' gradients by before they become float16: powers of two that bring the largest one near
// the top of its range. One for each sequence, or for those that share a warp where a block has few units.
#pragma once

#include "recurrent/kernels/persistent/cluster.h"
#include "recurrent/kernels/persistent/grid_gradients.h"

namespace rnnlab::kernels::persistent {

template <class T>
class GradientScales {
 public:
  using Gates = typename GridGradients<T>::Gates;

  // Of shared memory, where several warps have units of a sequence.
  static constexpr int kMaxima = T::kWarpsOfSequence > 1 ? 2 * T::kWarps* T::kCells : 1;

  __device__ GradientScales(uint32_t* maxima, int warp, int lane) : maxima_(maxima), warp_(warp), lane_(lane) {}

  // Of this thread's cells.
  __device__ void find(int index, const Gates& gradients, float (&scales)[T::kCells]) {
    uint32_t largest[T::kCells];
#pragma unroll
    for (int cell = 0; cell < T::kCells; ++cell) largest[cell] = largest_of_warp(gradients, cell);
    if constexpr (T::kWarpsOfSequence > 1) share(index, largest);
#pragma unroll
    for (int cell = 0; cell < T::kCells; ++cell) {
      largest_ = max(largest_, largest[cell]);
      const int exponent = max(static_cast<int>(largest[cell] >> 23) - 127, -110);
      scales[cell] = __uint_as_float(static_cast<uint32_t>(127 + 13 - exponent) << 23);
    }
  }

  // The bits of the largest magnitude that this warp has seen.
  __device__ uint32_t largest() const { return largest_; }

 private:
  // The bits of it.
  __device__ static uint32_t largest_of_warp(const Gates& gradients, int cell) {
    float largest = 0.0f;
#pragma unroll
    for (int gate = 0; gate < T::kGates; ++gate) largest = fmaxf(largest, gradients.magnitude(cell, gate));
    return __reduce_max_sync(~0u, __float_as_uint(largest));
  }

  // Among the warps of a sequence. Two buffers take turns: who writes to one again has passed a barrier of the block.
  __device__ void share(int index, uint32_t (&largest)[T::kCells]) const {
    const int first = warp_ / T::kWarpsOfSequence * T::kWarpsOfSequence;
    uint32_t* maxima = maxima_ + (index & 1) * T::kWarps * T::kCells;
    if (lane_ == 0)
      for (int cell = 0; cell < T::kCells; ++cell) maxima[warp_ * T::kCells + cell] = largest[cell];
    barrier_of_warps(kFirstBarrier + warp_ / T::kWarpsOfSequence, T::kWarpsOfSequence);
#pragma unroll
    for (int cell = 0; cell < T::kCells; ++cell)
#pragma unroll
      for (int warp = 0; warp < T::kWarpsOfSequence; ++warp)
        largest[cell] = max(largest[cell], maxima[(first + warp) * T::kCells + cell]);
  }

  uint32_t* maxima_;
  int warp_, lane_;
  uint32_t largest_ = 0;
};

}  // namespace rnnlab::kernels::persistent
