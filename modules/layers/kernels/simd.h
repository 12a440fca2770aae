// SPDX-License-Identifier: Apache-2.0
// Defines vectors of kSimdWidth floats: loads and stores of float32 and bfloat16, exp, sigmoid and tanh; and the
// functions of simd_steps.h that do not depend on a cell: transposing, interleaving and narrowing of words, and random
// words. This header is for sources that are compiled once for each instruction set, with RNNLAB_SIMD_WIDTH and the
// set's own flags. All functions have internal linkage and use no inline function of another header, because the linker
// must not give the rest of the program a copy that was compiled for a different processor.
#pragma once

#include <cstdint>

#include "layers/kernels/simd_steps.h"

namespace rnnlab::kernels {
namespace {

constexpr int kSimdWidth = RNNLAB_SIMD_WIDTH;

using Floats = float __attribute__((vector_size(kSimdWidth * 4)));
using Words = int32_t __attribute__((vector_size(kSimdWidth * 4)));
using HalfWords = uint16_t __attribute__((vector_size(kSimdWidth * 2)));

struct Bfloat16 {
  uint16_t bits;
};

inline Floats broadcast(float x) { return Floats{} + x; }

// Returns a vector of the first `count` elements, followed by zeros.
template <class Vector, class Element>
inline Vector load_some(const Element* source, int64_t count) {
  Vector vector = {};
  __builtin_memcpy(&vector, source, static_cast<unsigned long>(count) * sizeof(Element));
  return vector;
}

// The copy of a whole vector has a constant size, so the compiler makes one instruction of it.
template <class Vector, class Element>
inline Vector load_vector(const Element* source, int64_t count) {
  if (count < kSimdWidth) return load_some<Vector>(source, count);
  Vector vector;
  __builtin_memcpy(&vector, source, sizeof(Vector));
  return vector;
}

template <class Vector, class Element>
inline void store_vector(Element* target, const Vector& vector, int64_t count) {
  if (count < kSimdWidth)
    __builtin_memcpy(target, &vector, static_cast<unsigned long>(count) * sizeof(Element));
  else
    __builtin_memcpy(target, &vector, sizeof(Vector));
}

inline Floats load(const float* source, int64_t count) { return load_vector<Floats>(source, count); }

inline Floats load(const Bfloat16* source, int64_t count) {
  const auto narrow = load_vector<HalfWords>(source, count);
  return reinterpret_cast<Floats>(__builtin_convertvector(narrow, Words) << 16);
}

inline void store(float* target, const Floats& value, int64_t count) { store_vector(target, value, count); }

// Rounds to the nearest value, to even if two are equally near; a NaN stays NaN. The processor's instruction treats
// subnormal numbers as 0.
inline void store(Bfloat16* target, const Floats& value, int64_t count) {
#if defined(__AVX512BF16__) && !defined(__clang__)  // clang has a different name for it, and is used only for fuzzing
  store_vector(target, reinterpret_cast<HalfWords>(__builtin_ia32_cvtneps2bf16_v16sf(value)), count);
#else
  const auto bits = reinterpret_cast<Words>(value);
  const Words rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const Words narrow = value == value ? rounded : Words{} + 0x7fc0;
  store_vector(target, __builtin_convertvector(narrow, HalfWords), count);
#endif
}

// Computes exp(x) = 2^n exp(r), n = round(x / ln 2), |r| <= ln(2) / 2. ln 2 is split into two numbers (Cody and Waite
// 1980), and exp(r) is 1 + r + r^2 q(r) with q of degree 4, fitted for the least relative error (3.1e-9) by Lawson's
// iteration. If |x| is more than 88 (87 below zero), the result is the value at that bound. NaN gives NaN.
inline Floats exp_of(Floats x) {
  x = x > 88.0F ? broadcast(88.0F) : x;
  x = x < -87.0F ? broadcast(-87.0F) : x;
  constexpr float kToInteger = 12582912.0F;  // 1.5 * 2^23: the sum's last bits are the integer
  const Floats shifted = x * 1.44269504F + kToInteger;
  const Floats n = shifted - kToInteger;
  const Floats r = (x - n * 0x1.62e4p-1F) - n * 0x1.7f7d1cp-20F;
  Floats q = r * 0x1.6a2352p-10F + 0x1.123a6cp-7F;
  q = q * r + 0x1.5558f4p-5F;
  q = q * r + 0x1.555490p-3F;
  q = q * r + 0x1.fffffcp-2F;
  const Floats value = (r * r) * q + r + 1.0F;
  const Words exponent = (reinterpret_cast<Words>(shifted) - reinterpret_cast<Words>(broadcast(kToInteger))) << 23;
  return value * reinterpret_cast<Floats>(exponent + reinterpret_cast<Words>(broadcast(1.0F)));
}

inline Floats sigmoid_of(const Floats& x) { return 1.0F / (1.0F + exp_of(-x)); }

// Computes x + x^3 p(x^2) if |x| is below 0.625, with p of degree 4 fitted like q of exp_of (4.4e-9), otherwise 1 - 2 /
// (exp(2 |x|) + 1).
inline Floats tanh_of(const Floats& x) {
  const auto sign = reinterpret_cast<Words>(x) & static_cast<int32_t>(0x80000000U);
  const auto size = reinterpret_cast<Floats>(reinterpret_cast<Words>(x) ^ sign);
  const Floats far = 1.0F - 2.0F / (exp_of(size + size) + 1.0F);
  const auto signed_far = reinterpret_cast<Floats>(reinterpret_cast<Words>(far) | sign);
  const Floats z = x * x;
  Floats p = z * -0x1.75e1ccp-8F + 0x1.52269ap-6F;
  p = p * z + -0x1.b83c5ap-5F;
  p = p * z + 0x1.110726p-3F;
  p = p * z + -0x1.555532p-2F;
  return size < 0.625F ? (z * x) * p + x : signed_far;
}

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
