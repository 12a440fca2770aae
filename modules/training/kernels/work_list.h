// Works on many float32 tensors by one launch: each tensor is cut into pieces, and a block works on one piece.
// LibTorch's fused operators give a block 65,536 elements, so a network with one large weight leaves half of a large
// GPU idle.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

#include "training/kernels/pieces.h"

namespace rnnlab::kernels {

inline constexpr size_t kTensorsAtOnce = 48;  // the limit of a launch's arguments

// `Tensor` must be a struct with an int64_t `size`.
template <class Tensor>
struct WorkList {
  Tensor tensors[kTensorsAtOnce];
  uint32_t first_block[kTensorsAtOnce + 1];
  uint32_t num_tensors;

  explicit WorkList(std::span<const Tensor> work) : num_tensors(static_cast<uint32_t>(work.size())) {
    std::copy(work.begin(), work.end(), tensors);
    first_block[0] = 0;
    for (size_t i = 0; i < work.size(); ++i) first_block[i + 1] = first_block[i] + num_pieces(work[i].size);
  }

  uint32_t num_blocks() const { return first_block[num_tensors]; }

  // Returns the index in the list of the tensor on which a block works.
  __device__ uint32_t tensor_of(uint32_t block) const {
    uint32_t low = 0, high = num_tensors;  // bisection keeps first_block[low] <= block < first_block[high]
    while (high - low > 1) {
      const uint32_t middle = (low + high) / 2;
      (first_block[middle] <= block ? low : high) = middle;
    }
    return low;
  }
};

// Calls `work` with successive lists of at most kTensorsAtOnce tensors.
template <class Tensor, class Work>
void for_each_list(std::span<const Tensor> tensors, const Work& work) {
  for (size_t first = 0; first < tensors.size(); first += kTensorsAtOnce)
    work(WorkList<Tensor>(tensors.subspan(first, std::min(kTensorsAtOnce, tensors.size() - first))));
}

// Throws std::runtime_error with CUDA's message if the last launch failed.
inline void require_queued(const char* what) {
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return;
  throw std::runtime_error(std::string(what) + " did not start: " + cudaGetErrorString(error) +
                           "; `rnnlab info` shows what this machine can do");
}

}  // namespace rnnlab::kernels
