// SPDX-License-Identifier: Apache-2.0
// W x of a layer with at most kMostNarrowInputs inputs, which a cluster kernel computes in each step: a warp keeps the
// input weights of its units in registers, and reads the inputs of its sequences a step ahead. In float32 products
// round to TF32, because inputs may be beyond float16's range.
#pragma once

#include "layers/persistent/cluster/owner.h"
#include "layers/persistent/shared/fragments.h"

namespace rnnlab::kernels::persistent {

// Lane (row, column) of a product has the inputs from kInputsOfLane * column on, and their weights. Products take words
// of them: one float32, or two numbers of 16 bits. Word i is in product i / 2.
template <class T>
struct NarrowSizes {
  using Value = typename T::Numbers::Value;
  static constexpr int kInputsOfLane = kMostNarrowInputs / 4;
  static constexpr int kNumbersOfWord = 4 / sizeof(Value);
  static constexpr int kWords = kInputsOfLane / kNumbersOfWord;
  static constexpr int kProducts = kWords / 2;
};

// Holds the inputs of a step in the lane's columns, of sequence `row` of each tile. Words keep the form that they have
// in memory until they are used, because converting them would wait for them.
template <class T>
class NarrowInputs : public NarrowSizes<T> {
 public:
  using typename NarrowSizes<T>::Value;
  using NarrowSizes<T>::kWords;

  __device__ NarrowInputs(const PersistentForward& work, const Owner<T>& owner, int64_t step) {
    const PersistentSequence& sequence = work.sequence;
    const int64_t position = sequence.order == ReadingOrder::kForward ? step : sequence.num_steps - 1 - step;
    const int column = owner.lane % 4 * kInputsOfLane;
    const int in_group = owner.first_sequence - 2 * (owner.lane % 4) + owner.lane / 4;
    const int size = work.narrow.size;
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile) {
      const int64_t row = in_group + tile * kSequencesPerTile;
      const int count = row < sequence.batch_size ? size - column : 0;  // of this lane's inputs
      const Value* first =
          static_cast<const Value*>(work.narrow.inputs) + (position * sequence.batch_size + row) * size;
      if (work.narrow.has_whole_vectors)
        read_vectors(first + column, count, tile);
      else
        read_numbers(first + column, count, tile);
    }
  }

  __device__ uint32_t word(int tile, int i) const { return low_[tile][i] | (kIsPair ? high_[tile][i] << 16 : 0); }

 private:
  using NarrowSizes<T>::kInputsOfLane;
  static constexpr bool kIsPair = sizeof(Value) == 2;
  static constexpr int kWordsOfVector = kWords / 2;  // of four inputs

  __device__ void read_vectors(const Value* place, int count, int tile) {
    using Vector = std::conditional_t<kIsPair, uint2, uint4>;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      Vector vector = {};
      if (count > 4 * half) vector = *reinterpret_cast<const Vector*>(place + 4 * half);
      const uint32_t(&words)[kWordsOfVector] = reinterpret_cast<const uint32_t(&)[kWordsOfVector]>(vector);
#pragma unroll
      for (int i = 0; i < kWordsOfVector; ++i) low_[tile][half * kWordsOfVector + i] = words[i];
    }
  }

  __device__ void read_numbers(const Value* place, int count, int tile) {
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      if constexpr (kIsPair) {
        low_[tile][i] = 2 * i < count ? place[2 * i].bits : 0;
        high_[tile][i] = 2 * i + 1 < count ? place[2 * i + 1].bits : 0;
      } else {
        low_[tile][i] = i < count ? __float_as_uint(place[i]) : 0;
      }
    }
  }

  uint32_t low_[T::kTiles][kWords];
  uint32_t high_[T::kTiles][kWords] = {};  // 0 if a word was read at once
};

// Four numbers that are read at once.
template <class Number>
struct alignas(4 * sizeof(Number)) Four {
  Number of[4];
};

// Holds the lane's input weights: of the gates of one unit, gates 2 * i and 2 * i + 1 in tile i.
template <class T>
class NarrowWeights : public NarrowSizes<T> {
 public:
  __device__ NarrowWeights(const PersistentForward& work, const Owner<T>& owner) {
    if (kIsFloat || work.narrow.type_of_weights == ElementType::kFloat32)
      read<float>(work.narrow, owner);
    else
      read<Value>(work.narrow, owner);
  }

  // products: out, of the gates of this thread's unit, for both sequences of each tile.
  __device__ void multiply(const NarrowInputs<T>& inputs, float (&products)[T::kTiles][2][T::kGates]) const {
    float sums[T::kTiles][T::kGateTiles][4] = {};
#pragma unroll
    for (int i = 0; i < kProducts; ++i)
#pragma unroll
      for (int tile = 0; tile < T::kTiles; ++tile) {
        const uint32_t low = operand(inputs.word(tile, 2 * i)), high = operand(inputs.word(tile, 2 * i + 1));
#pragma unroll
        for (int gates = 0; gates < T::kGateTiles; ++gates) multiply_add_inputs(sums[tile][gates], gates, i, low, high);
      }
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile)
#pragma unroll
      for (int j = 0; j < 2; ++j)
#pragma unroll
        for (int gate = 0; gate < T::kGates; ++gate) products[tile][j][gate] = sums[tile][gate / 2][gate % 2 * 2 + j];
  }

 private:
  using typename NarrowSizes<T>::Value;
  using NarrowSizes<T>::kInputsOfLane;
  using NarrowSizes<T>::kNumbersOfWord;
  using NarrowSizes<T>::kProducts;
  static constexpr bool kIsFloat = sizeof(Value) == 4;

  __device__ static uint32_t operand(uint32_t word) { return kIsFloat ? rounded_to_tf32(__uint_as_float(word)) : word; }

  __device__ void multiply_add_inputs(float (&sum)[4], int gates, int i, uint32_t low, uint32_t high) const {
    if constexpr (kIsFloat)
      multiply_add_tf32(sum, fragments_[gates][i], low, high);
    else
      multiply_add<typename T::Numbers::Operand>(sum, fragments_[gates][i], low, high);
  }

  // All weights are read before the first is converted, which would wait for it. An odd gate fills half a tile.
  template <class Weight>
  __device__ void read(const NarrowPass& narrow, const Owner<T>& owner) {
    Weight weights[2 * T::kGateTiles][kInputsOfLane] = {};
    const int column = owner.lane % 4 * kInputsOfLane;
    const int count = owner.is_in_layer() ? narrow.size - column : 0;  // of this lane's inputs
    const int row_size = narrow.size * owner.hidden_size();            // from a gate's row to that of the next gate
    const Weight* place = static_cast<const Weight*>(narrow.weights) + owner.unit * narrow.size + column;
    if (narrow.has_whole_vectors)
      read_vectors(place, count, row_size, weights);
    else
      read_numbers(place, count, row_size, weights);
#pragma unroll
    for (int tile = 0; tile < T::kGateTiles; ++tile)
#pragma unroll
      for (int i = 0; i < kProducts; ++i) {
        const auto word = [&](int half, int gate) { return word_of(weights[2 * tile + gate], 2 * i + half); };
        fragments_[tile][i] = make_uint4(word(0, 0), word(0, 1), word(1, 0), word(1, 1));
      }
  }

  template <class Weight>
  __device__ static void read_vectors(const Weight* place, int count, int stride,
                                      Weight (&weights)[2 * T::kGateTiles][kInputsOfLane]) {
#pragma unroll
    for (int gate = 0; gate < T::kGates; ++gate, place += stride)
#pragma unroll
      for (int i = 0; i < kInputsOfLane; i += 4) {
        Four<Weight> four = {};
        if (i < count) four = *reinterpret_cast<const Four<Weight>*>(place + i);
#pragma unroll
        for (int j = 0; j < 4; ++j) weights[gate][i + j] = four.of[j];
      }
  }

  template <class Weight>
  __device__ static void read_numbers(const Weight* place, int count, int stride,
                                      Weight (&weights)[2 * T::kGateTiles][kInputsOfLane]) {
#pragma unroll
    for (int gate = 0; gate < T::kGates; ++gate, place += stride)
#pragma unroll
      for (int i = 0; i < kInputsOfLane; ++i)
        if (i < count) weights[gate][i] = place[i];
  }

  template <class Weight>
  __device__ static uint32_t word_of(const Weight (&weights)[kInputsOfLane], int word) {
    const int first = word * kNumbersOfWord;
    if constexpr (kIsFloat)
      return rounded_to_tf32(to_float(weights[first]));
    else
      return pack<typename T::Numbers::Operand>(to_float(weights[first]), to_float(weights[first + 1]));
  }

  uint4 fragments_[T::kGateTiles][kProducts];
};

// Replaces them in kernels that read products.
template <class T>
struct NoInputWeights {
  __device__ NoInputWeights(const PersistentForward&, const Owner<T>&) {}
};

}  // namespace rnnlab::kernels::persistent
