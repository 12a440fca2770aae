// How the recurrent weights of a cluster kernel are packed: which element of them each number of a fragment is. One
// thread packs the 8 numbers that one lane holds of a fragment: those at (row, columns c and c + 1), (row + 8, the same
// columns), (row, columns c + 8 and c + 9), and (row + 8, those columns).
#pragma once

#include "recurrent/kernels/persistent/cluster/tiles.h"
#include "recurrent/kernels/persistent/shared/tensors.h"

namespace rnnlab::kernels::persistent {

// A number of the packed weights.
struct Element {
  int block, warp, fragment, lane;
  int number;  // 0-7, of the lane
  __device__ int fragment_row() const { return lane / 4; }
  __device__ int fragment_column() const { return lane % 4; }
  __device__ int low_bit() const { return number & 1; }
  __device__ int is_lower_half() const { return (number >> 1) & 1; }  // row + 8
  __device__ int is_right_half() const { return (number >> 2) & 1; }  // column + 8
};

// A lane has the 8 units of one warp, of 32 units that are the columns of two products: four words, of which each
// product takes two.
template <class T>
struct ForwardOrder {
  using Slice = typename T::ForwardSlice;
  __device__ static Place place_of(const Element& e) {
    const int slot = e.fragment % T::kGates;
    const bool is_odd = T::kGates % 2 == 1 && slot == T::kGates - 1;
    const int gate = is_odd ? slot : slot / 2 * 2 + e.is_lower_half();
    const int half = is_odd ? e.is_lower_half() : slot % 2;
    const int team = e.warp / T::kUnitWarps;
    const int unit = e.block * T::kUnits + e.warp % T::kUnitWarps * kUnitsPerWarp + e.fragment_row();
    const int from = (team * T::kStepsOfTeam + e.fragment / T::kGates) * kColumnsAtOnce + e.fragment_column() * 8 +
                     half * 4 + e.is_right_half() * 2 + e.low_bit();
    return {gate, unit, from};
  }
};

// A lane has two of the 8 units of a warp of the block. The fragments of each couple of warps are, in this order: pairs
// of gates of the first warp, pairs of gates of the second, and the odd gate of both.
template <class T>
struct BackwardOrder {
  using Slice = typename T::BackwardSlice;
  static constexpr int kGatePairs = T::kGates / 2;
  __device__ static Place place_of(const Element& e) {
    constexpr int kOfPairs = T::kRowTiles * kGatePairs;  // of one warp
    constexpr int kOfCouple = T::kRowTiles * T::kGates;
    const int slot = e.fragment % kOfCouple;
    int warp = e.fragment / kOfCouple * 2;
    int row_tile = slot - 2 * kOfPairs;
    int gate = T::kGates - 1;
    if (slot >= 2 * kOfPairs) {
      warp += e.is_right_half();
    } else {
      warp += slot / at_least_1(kOfPairs);
      row_tile = slot % at_least_1(kOfPairs) / at_least_1(kGatePairs);
      gate = slot % at_least_1(kGatePairs) * 2 + e.is_right_half();
    }
    const int to = T::unit_tile(e.block, e.warp, row_tile) * kTileRows + e.is_lower_half() * 8 + e.fragment_row();
    const int from = e.block * T::kUnits + warp * kUnitsPerWarp + e.fragment_column() * 2 + e.low_bit();
    return {gate, from, to};
  }
  __device__ static constexpr int at_least_1(int count) { return count > 0 ? count : 1; }
};

template <class T, template <class> class Order>
__global__ void pack_kernel(RecurrentWeights weights, int hidden_size, uint4* packed) {
  using S = typename Order<T>::Slice;
  using Operand = typename T::Numbers::Operand;
  const int index = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  Element e;
  e.lane = index % kLanes;
  const int part = index / kLanes % T::kParts;
  e.fragment = index / (kLanes * T::kParts) % (S::kFragments / T::kParts);
  const int warp = index / (kLanes * S::kFragments);
  e.warp = warp % T::kWarps;
  e.block = warp / T::kWarps;
  if (e.block >= T::kBlocks) return;

  const WeightReader<T> reader(weights, hidden_size);
  float numbers[8];
  for (e.number = 0; e.number < 8; ++e.number) numbers[e.number] = reader.at(Order<T>::place_of(e));
  const auto word = [&](int i) { return pack_part<Operand>(part, numbers[2 * i], numbers[2 * i + 1]); };
  packed[index] = make_uint4(word(0), word(1), word(2), word(3));
}

}  // namespace rnnlab::kernels::persistent
