// Implements the functions of simd_steps.h that do not depend on a cell, for one instruction set: transposing,
// interleaving and narrowing of words, and random words.
#pragma once

#include "recurrent/kernels/simd.h"
#include "recurrent/kernels/simd_steps.h"

namespace rnnlab::kernels {
namespace {

template <class T>
const T* at(const void* data, int64_t index) {
  return static_cast<const T*>(data) + index;
}
template <class T>
T* at(void* data, int64_t index) {
  return static_cast<T*>(data) + index;
}

// Element i of the result is number index[i] of both vectors, one after the other.
Words shuffled(const Words& first, const Words& second, const Words& index) {
#ifdef __clang__  // does not support a computed index
  Words result;
  for (int i = 0; i < kSimdWidth; ++i)
    result[i] = index[i] < kSimdWidth ? first[index[i]] : second[index[i] - kSimdWidth];
  return result;
#else
  return __builtin_shuffle(first, second, index);
#endif
}

// Exchanges bit kBit of the row's number and of the column's number.
template <int kBit>
void exchange(Words* rows) {
  Words first, second;
  for (int j = 0; j < kSimdWidth; ++j) {
    first[j] = (j & kBit) == 0 ? j : kSimdWidth + j - kBit;
    second[j] = (j & kBit) == 0 ? j + kBit : kSimdWidth + j;
  }
  for (int i = 0; i < kSimdWidth; ++i) {
    if ((i & kBit) != 0) continue;
    const Words upper = rows[i], lower = rows[i + kBit];
    rows[i] = shuffled(upper, lower, first);
    rows[i + kBit] = shuffled(upper, lower, second);
  }
}

// Transposes a square of kSimdWidth rows and columns, or the smaller rest of a matrix.
void transpose_square(const int32_t* source, int64_t stride, int64_t num_rows, int64_t num_columns, int32_t* target,
                      int64_t target_stride) {
  Words rows[kSimdWidth] = {};
  for (int64_t i = 0; i < num_rows; ++i) rows[i] = load_vector<Words>(source + i * stride, num_columns);
  exchange<1>(rows);
  exchange<2>(rows);
  exchange<4>(rows);
  if constexpr (kSimdWidth == 16) exchange<kSimdWidth / 2>(rows);
  for (int64_t i = 0; i < num_columns; ++i) store_vector(target + i * target_stride, rows[i], num_rows);
}

void transpose_words(const WordMatrix& source, void* target, int64_t target_stride) {
  const auto* from = static_cast<const int32_t*>(source.data);
  auto* to = static_cast<int32_t*>(target);
  const auto left = [](int64_t all, int64_t first) { return all - first < kSimdWidth ? all - first : kSimdWidth; };
  for (int64_t row = 0; row < source.num_rows; row += kSimdWidth)
    for (int64_t column = 0; column < source.num_columns; column += kSimdWidth)
      transpose_square(from + row * source.stride + column, source.stride, left(source.num_rows, row),
                       left(source.num_columns, column), to + column * target_stride + row, target_stride);
}

template <class Function>
void for_vectors(int64_t count, const Function& function) {
  for (int64_t i = 0; i < count; i += kSimdWidth) function(i, count - i < kSimdWidth ? count - i : kSimdWidth);
}

void interleave_words(const uint16_t* even, const uint16_t* odd, int64_t count, void* target) {
  for_vectors(count, [&](int64_t i, int64_t size) {
    const auto low = __builtin_convertvector(load_vector<HalfWords>(even + i, size), Words);
    const auto high = __builtin_convertvector(load_vector<HalfWords>(odd + i, size), Words);
    store_vector(static_cast<int32_t*>(target) + i, low | (high << 16), size);
  });
}

void narrow_floats(const float* source, int64_t count, void* target) {
  for_vectors(count, [&](int64_t i, int64_t size) { store(at<Bfloat16>(target, i), load(source + i, size), size); });
}

using Unsigned = uint32_t __attribute__((vector_size(kSimdWidth * 4)));
using Longs = uint64_t __attribute__((vector_size(kSimdWidth * 4)));

struct LongProduct {
  Unsigned low, high;
};

inline LongProduct multiply_long(const Unsigned& words, uint32_t factor) {
  constexpr uint64_t kLow = 0xffffffffU;
  const auto pairs = reinterpret_cast<Longs>(words);
  const Longs even = (pairs & kLow) * factor, odd = (pairs >> 32) * factor;
  return {reinterpret_cast<Unsigned>((even & kLow) | (odd << 32)),
          reinterpret_cast<Unsigned>((even >> 32) | (odd & ~kLow))};
}

// Draws the four words of kSimdWidth counters from `first` on, kCountersOfBlock words apart.
inline void draw_words(uint64_t key, uint64_t first, uint32_t* target) {
  Unsigned words[4] = {Unsigned{} + static_cast<uint32_t>(first), Unsigned{} + static_cast<uint32_t>(first >> 32)};
  for (uint32_t i = 0; i < kSimdWidth; ++i) words[0][i] += i;
  auto low_key = static_cast<uint32_t>(key), high_key = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round, low_key += 0x9e3779b9U, high_key += 0xbb67ae85U) {
    const LongProduct even = multiply_long(words[0], 0xd2511f53U), odd = multiply_long(words[2], 0xcd9e8d57U);
    words[0] = odd.high ^ words[1] ^ low_key;
    words[1] = odd.low;
    words[2] = even.high ^ words[3] ^ high_key;
    words[3] = even.low;
  }
  for (int i = 0; i < 4; ++i) store_vector(target + i * kCountersOfBlock, words[i], kSimdWidth);
}

void random_words(uint64_t key, uint64_t first_block, int64_t num_blocks, uint32_t* target) {
  for (int64_t block = 0; block < num_blocks; ++block)
    for (int64_t lane = 0; lane < kCountersOfBlock; lane += kSimdWidth)
      draw_words(key, (first_block + static_cast<uint64_t>(block)) * kCountersOfBlock + static_cast<uint64_t>(lane),
                 target + block * kWordsOfBlock + lane);
}

}  // namespace
}  // namespace rnnlab::kernels
