// SPDX-License-Identifier: Apache-2.0
// Weights as fragments of mma.m16n8k16 (sizes.h), for cluster/ and block/: where a warp keeps its fragments (registers,
// shared memory and L2), the product of a fragment with float32 sums, and the kernel that packs weights. Left out:
// which rows and columns of the weights a fragment has (cluster/weights.h, block/weights.h).
#pragma once

#include "layers/persistent/shared/numbers.h"
#include "layers/persistent/shared/tensors.h"

namespace rnnlab::kernels::persistent {

// Instructions of a warp.

// From the two numbers at (row, columns 2 * column and 2 * column + 1) of an 8 by 8 matrix to those at the same place
// of its transpose.
__device__ inline uint32_t transposed(uint32_t pair) {
  uint32_t result;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(result) : "r"(pair));
  return result;
}

// sum += a * b.
template <class Operand>
__device__ void multiply_add(float (&sum)[4], uint4 a, uint32_t b_low, uint32_t b_high) {
  if constexpr (std::is_same_v<Operand, Half>)
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b_low), "r"(b_high));
  else
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b_low), "r"(b_high));
}

// sum += a * b, of 16 rows by 8 columns in TF32.
__device__ inline void multiply_add_tf32(float (&sum)[4], uint4 a, uint32_t b_low, uint32_t b_high) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b_low), "r"(b_high));
}

// The weights.

// A warp's fragments. Each step takes each of them once, in their order. The loops over fragments are unrolled, so that
// where a fragment is kept is known at compile time: a register cannot be indexed at run time.
template <class S>
class WeightSlice {
 public:
  // packed: the fragments of this warp, one after the other. shared: room for those of the block, 512 bytes for each
  // fragment of each warp.
  __device__ WeightSlice(const uint4* packed, uint4* shared, int warp, int lane)
      : packed_(packed + lane), shared_(shared + warp * S::kInShared * kLanes + lane) {
    static_assert(has_a_place_for_each());
#pragma unroll
    for (int i = 0; i < S::kFragments; ++i) {
      if (is_in_registers(i))
        registers_[spread_before(i, S::kInRegisters, S::kFragments)] = read(packed_, i);
      else if (!is_in_l2(i))
        shared_[shared_before(i) * kLanes] = read(packed_, i);
    }
  }

  // Begins to read the first fragments from L2. They do not depend on the step, so this is called before it.
  __device__ void read_ahead() {
#pragma unroll
    for (int i = 0; i < S::kReadAhead; ++i) on_the_way_[i] = read(packed_, fragment_of_l2(i));
  }

  __device__ uint4 take(int i) {
    if (is_in_registers(i)) return registers_[spread_before(i, S::kInRegisters, S::kFragments)];
    if (!is_in_l2(i)) return shared_[shared_before(i) * kLanes];
    const int count = l2_before(i);
    const uint4 fragment = on_the_way_[count % kSlots];
    if (count + S::kReadAhead < S::kInL2)
      on_the_way_[count % kSlots] = read(packed_, fragment_of_l2(count + S::kReadAhead));
    return fragment;
  }

 private:
  __device__ static uint4 read(const uint4* packed, int i) { return __ldg(packed + i * kLanes); }

  __device__ static constexpr int rest_before(int i) { return i - spread_before(i, S::kInRegisters, S::kFragments); }
  __device__ static constexpr int l2_before(int i) {
    return spread_before(rest_before(i), S::kInL2, S::kFragments - S::kInRegisters);
  }
  __device__ static constexpr int shared_before(int i) { return rest_before(i) - l2_before(i); }
  __device__ static constexpr bool is_in_registers(int i) { return is_in_spread(i, S::kInRegisters, S::kFragments); }
  __device__ static constexpr bool is_in_l2(int i) {
    return !is_in_registers(i) && is_in_spread(rest_before(i), S::kInL2, S::kFragments - S::kInRegisters);
  }
  // The inverse of l2_before, in closed form, so that it is known at compile time.
  __device__ static constexpr int fragment_of_l2(int count) {
    constexpr int kRest = S::kFragments - S::kInRegisters;
    constexpr int kCounts = S::kInL2 > 0 ? S::kInL2 : 1;
    const int rest = ((count + 1) * kRest + kCounts - 1) / kCounts - 1;
    return rest * S::kFragments / (kRest > 0 ? kRest : 1);
  }

  // Returns whether the fragments of each of the three places fill it in their order and without a gap.
  __device__ static constexpr bool has_a_place_for_each() {
    int in_registers = 0, in_shared = 0, in_l2 = 0;
    for (int i = 0; i < S::kFragments; ++i) {
      if (is_in_registers(i)) {
        if (spread_before(i, S::kInRegisters, S::kFragments) != in_registers++) return false;
      } else if (is_in_l2(i)) {
        if (l2_before(i) != in_l2 || fragment_of_l2(in_l2++) != i) return false;
      } else {
        if (shared_before(i) != in_shared++) return false;
      }
    }
    return in_registers == S::kInRegisters && in_shared == S::kInShared && in_l2 == S::kInL2;
  }

  static constexpr int kSlots = S::kReadAhead > 0 ? S::kReadAhead : 1;
  static constexpr int kHeld = S::kInRegisters > 0 ? S::kInRegisters : 1;
  const uint4* packed_;
  uint4* shared_;
  uint4 registers_[kHeld];
  uint4 on_the_way_[kSlots];
};

__device__ inline uint32_t word_of(const uint4& vector, int i) {
  if (i < 2) return i == 0 ? vector.x : vector.y;
  return i == 2 ? vector.z : vector.w;
}

// Products of fragments.

// 16 columns of weights, and the 16 rows of the vectors of all sequences that they are multiplied with, as mma takes
// them; all parts of both.
template <class T>
struct Weights16 {
  uint4 part[T::kParts];

  template <class S>
  __device__ Weights16(WeightSlice<S>& weights, int& next) {
#pragma unroll
    for (int i = 0; i < T::kParts; ++i) part[i] = weights.take(next++);
  }
};

template <class T>
struct Vectors16 {
  uint32_t low[T::kParts][T::kTiles], high[T::kParts][T::kTiles];
};

// sums += weights * vectors. If both have two parts, the product of both second parts is left out: it is below
// float32's rounding.
template <class T>
__device__ void multiply(const Weights16<T>& weights, const Vectors16<T>& vectors, float (&sums)[T::kTiles][4]) {
#pragma unroll
  for (int i = 0; i < T::kParts; ++i)
#pragma unroll
    for (int j = 0; i + j < T::kParts; ++j)
#pragma unroll
      for (int tile = 0; tile < T::kTiles; ++tile)
        multiply_add<typename T::Numbers::Operand>(sums[tile], weights.part[i], vectors.low[j][tile],
                                                   vectors.high[j][tile]);
}

// Words `first` and `first` + 1 of each vector.
template <class T>
__device__ Vectors16<T> words_of(const uint4 (&vectors)[T::kParts][T::kTiles], int first) {
  Vectors16<T> words;
#pragma unroll
  for (int part = 0; part < T::kParts; ++part)
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile) {
      words.low[part][tile] = word_of(vectors[part][tile], first);
      words.high[part][tile] = word_of(vectors[part][tile], first + 1);
    }
  return words;
}

// Reads one vector of each part and tile; they are `stride` apart.
template <class T>
__device__ void read_vectors(const uint4* place, int stride, uint4 (&vectors)[T::kParts][T::kTiles]) {
#pragma unroll
  for (int part = 0; part < T::kParts; ++part)
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile) vectors[part][tile] = place[(part * T::kTiles + tile) * stride];
}

// Packing. One thread packs the 8 numbers that one lane holds of a fragment: the numbers at (row, columns c and c + 1),
// (row + 8, the same columns), (row, columns c + 8 and c + 9), and (row + 8, those columns).

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

// Row y of the grid packs head y.
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

  const WeightReader<T> reader(weights, hidden_size, static_cast<int>(blockIdx.y));
  float numbers[8];
  for (e.number = 0; e.number < 8; ++e.number) numbers[e.number] = reader.at(Order<T>::place_of(e));
  const auto word = [&](int i) { return pack_part<Operand>(part, numbers[2 * i], numbers[2 * i + 1]); };
  constexpr int kVectorsOfHead = T::kBlocks * T::kWarps * S::kFragments * kLanes;
  packed[blockIdx.y * kVectorsOfHead + index] = make_uint4(word(0), word(1), word(2), word(3));
}

}  // namespace rnnlab::kernels::persistent
