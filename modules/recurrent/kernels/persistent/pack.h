// Where each number of the packed recurrent weights comes from. One thread packs the 8 numbers that one lane holds of
// one half of a tile pair: (row, columns c, c + 1), (row + 8, the same), (row, columns c + 8, c + 9), (row + 8, ...).
#pragma once

#include "recurrent/kernels/persistent/fragments.h"
#include "recurrent/kernels/persistent/tiles.h"

namespace rnnlab::kernels::persistent {

struct Place {
  int row, column;  // of the (4 * H, H) weights
};

struct Element {
  int block, warp, row_tile, column_pair, half, lane;
  int number;  // 0-7 of the lane's
  __device__ int fragment_row() const { return lane / 4; }
  __device__ int fragment_column() const { return lane % 4; }
  __device__ int low_bit() const { return number & 1; }
  __device__ int is_lower_half() const { return (number >> 1) & 1; }  // row + 8
  __device__ int is_right_half() const { return (number >> 2) & 1; }  // column + 8
};

// Rows: gates (i, f) or (g, o) of the warp's units. Columns: of 32 units, those of one warp's 8 stand in one lane.
template <class T>
struct ForwardOrder {
  using Slice = typename T::ForwardSlice;
  __device__ static Place place_of(const Element& e) {
    const int gate = 2 * e.row_tile + e.is_lower_half();
    const int unit = e.block * T::kUnits + e.warp * kUnitsPerWarp + e.fragment_row();
    const int from = e.column_pair * kPairColumns + e.fragment_column() * 8 + e.half * 4 + e.is_right_half() * 2;
    return {gate * T::kHiddenSize + unit, from + e.low_bit()};
  }
};

// Rows: 16 units. Columns: of the 8 units of one warp of the block, a lane has two, all four gates.
template <class T>
struct BackwardOrder {
  using Slice = typename T::BackwardSlice;
  __device__ static Place place_of(const Element& e) {
    const int unit = T::unit_tile(e.block, e.warp, e.row_tile) * kTileRows + e.is_lower_half() * 8 + e.fragment_row();
    const int gate = 2 * e.half + e.is_right_half();
    const int from = e.block * T::kUnits + e.column_pair * kUnitsPerWarp + e.fragment_column() * 2 + e.low_bit();
    return {gate * T::kHiddenSize + from, unit};
  }
};

template <class T, template <class> class Order, class Value>
__global__ void pack_kernel(const Value* weights, uint4* packed) {
  using S = typename Order<T>::Slice;
  using Operand = OperandOf<Value>;
  const int index = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  Element e;
  e.lane = index % kLanes;
  e.half = index / kLanes % 2;
  const int pair = index / (2 * kLanes) % S::kPairs;
  e.row_tile = pair % S::kRowTiles;
  e.column_pair = pair / S::kRowTiles;
  const int warp = index / (2 * kLanes * S::kPairs);
  e.warp = warp % T::kWarps;
  e.block = warp / T::kWarps;
  if (e.block >= T::kBlocks) return;

  float numbers[8];
  for (e.number = 0; e.number < 8; ++e.number) {
    const Place place = Order<T>::place_of(e);
    numbers[e.number] = to_float(weights[static_cast<int64_t>(place.row) * T::kHiddenSize + place.column]);
  }
  packed[index] = make_uint4(pack<Operand>(numbers[0], numbers[1]), pack<Operand>(numbers[2], numbers[3]),
                             pack<Operand>(numbers[4], numbers[5]), pack<Operand>(numbers[6], numbers[7]));
}

}  // namespace rnnlab::kernels::persistent
