// How kernels are launched that go over many vectors in strides of their grid.
#pragma once

#include <algorithm>
#include <cstdint>

namespace rnnlab::kernels::persistent {

constexpr int kStrideThreads = 256;  // of a block

inline unsigned blocks_for(int64_t vectors) {
  constexpr int64_t kMostBlocks = 1056;  // 8 for each SM of an H200
  return static_cast<unsigned>(std::clamp<int64_t>((vectors + kStrideThreads - 1) / kStrideThreads, 1, kMostBlocks));
}

}  // namespace rnnlab::kernels::persistent
