// SPDX-License-Identifier: Apache-2.0
// The recurrent weights of a grid kernel: by which instructions it multiplies them, and the kernel that packs them.
#pragma once

#include <cstdint>
#include <type_traits>

#include "layers/persistent/grid/mma.h"
#include "layers/persistent/grid/tiles.h"
#include "layers/persistent/grid/wgmma.h"
#include "layers/persistent/shared/numbers.h"
#include "layers/persistent/shared/tensors.h"

namespace rnnlab::kernels::persistent {

// The products of a kernel. Both classes have the same members.
template <class T>
using GridProducts =
    std::conditional_t<T::kMultiplier == Multiplier::kWgmma, WarpgroupProducts, WarpProducts<T::kTiles>>;

// Packing. One thread packs the 8 numbers that one lane loads of a fragment. If the fragment is for registers, these
// are the numbers that the lane holds (in the order of shared/fragments.h); if wgmma reads it from shared memory, they
// are 8 columns of one row.

// A number of the packed weights.
struct GridElement {
  int block, warp, fragment;
  int row, column;  // of the fragment
  __device__ int warpgroup() const { return warp / kWarpsPerGroup; }
  __device__ int row_of_tile() const { return warp % kWarpsPerGroup * kTileRows + row; }
};

template <class T>
struct GridForwardOrder {
  using Slice = typename T::ForwardSlice;
  __device__ static Place place_of(const GridElement& e) {
    const int row = e.fragment % T::kRowTiles * kWarpgroupRows + e.row_of_tile();
    const int step = e.warpgroup() * T::kColumnSteps + e.fragment / T::kRowTiles;
    return {row / T::kUnits, e.block * T::kUnits + row % T::kUnits, step * kColumnsAStep + e.column};
  }
};

template <class T>
struct GridBackwardOrder {
  using Slice = typename T::BackwardSlice;
  __device__ static Place place_of(const GridElement& e) {
    constexpr int kOfTile = T::kPartners * T::kGateSteps;
    const int step = e.fragment % kOfTile;
    const int column = step % T::kGateSteps * kColumnsAStep + e.column;
    const int tile = (e.block % T::kPartners * T::kWarpgroups + e.warpgroup()) * T::kUnitTiles + e.fragment / kOfTile;
    const int from = T::partner_of(e.block, step / T::kGateSteps);
    return {column / T::kUnits, from * T::kUnits + column % T::kUnits, tile * kWarpgroupRows + e.row_of_tile()};
  }
};

// Sets the row and the column of number `i` of a lane's 8.
__device__ inline void place_in_fragment(int lane, int i, bool is_for_registers, GridElement& e) {
  e.row = is_for_registers ? (i >> 1 & 1) * 8 + lane / 4 : lane / 16 * 8 + lane % 8;
  e.column = is_for_registers ? (i >> 2) * 8 + lane % 4 * 2 + (i & 1) : lane / 8 % 2 * 8 + i;
}

template <class T, template <class> class Order>
__global__ void grid_pack_kernel(RecurrentWeights weights, int hidden_size, uint4* packed) {
  using S = typename Order<T>::Slice;
  const int index = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int lane = index % kLanes;
  GridElement e = {};
  e.fragment = index / kLanes % S::kFragments;
  e.warp = index / (kLanes * S::kFragments) % T::kWarps;
  e.block = index / (kLanes * S::kFragments * T::kWarps);
  if (e.block >= T::kBlocks) return;

  const WeightReader<T> reader(weights, hidden_size);
  float numbers[8];
  for (int i = 0; i < 8; ++i) {
    place_in_fragment(lane, i, GridProducts<T>::template Weights<S>::is_for_registers(e.fragment), e);
    numbers[i] = reader.at(Order<T>::place_of(e));
  }
  const auto word = [&](int i) { return pack<typename T::Numbers::Operand>(numbers[2 * i], numbers[2 * i + 1]); };
  packed[index] = make_uint4(word(0), word(1), word(2), word(3));
}

}  // namespace rnnlab::kernels::persistent
