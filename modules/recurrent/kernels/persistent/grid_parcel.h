// Sums of gradients on their way from block to block through L2. Bytes are what bounds the backward pass there, so that
// a sum has as many digits as its class gives to a factor of a product: TF32's 10 and its 8 bits of exponent where
// factors are float16, bfloat16's where tensors are. Eight sums of a thread are a parcel: five words or four, in which
// the last bit of each tells what phase it belongs to.
#pragma once

#include "recurrent/kernels/persistent/grid_exchange.h"
#include "recurrent/kernels/persistent/grid_tiles.h"
#include "recurrent/kernels/persistent/numbers.h"

namespace rnnlab::kernels::persistent {

constexpr int kSumsOfParcel = 8;
using ParcelSums = float[kSumsOfParcel];

// The bits of a sum with TF32's digits, the last 13 of them 0.
__device__ inline uint32_t tf32_of(float sum) {
  uint32_t bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(sum));
  return bits & 0xFFFFE000;
}

// 19 bits each. A word has one of the first five in front; its other 12 bits have parts of the last three: the first 12
// bits of them in words 0, 2 and 4, the last 7 in words 1 and 3, of the third one in both.
struct Tf32Words {
  static constexpr int kCount = 5;

  __device__ static void pack(const ParcelSums& sums, uint32_t (&words)[kCount]) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) words[i] = tf32_of(sums[i]);
    const uint32_t first = tf32_of(sums[5]), second = tf32_of(sums[6]), third = tf32_of(sums[7]);
    words[0] |= first >> 19 & 0x1FFE;
    words[2] |= second >> 19 & 0x1FFE;
    words[4] |= third >> 19 & 0x1FFE;
    words[1] |= (first >> 7 & 0x1FC0) | (third >> 14 & 0x003E);
    words[3] |= (second >> 7 & 0x1FC0) | (third >> 9 & 0x0030);
  }

  __device__ static void add(const uint32_t (&words)[kCount], ParcelSums& sums) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) sums[i] += __uint_as_float(words[i] & 0xFFFFE000);
    const auto front = [&](int i) { return words[i] << 19 & 0xFFF00000; };
    sums[5] += __uint_as_float(front(0) | (words[1] << 7 & 0x000FE000));
    sums[6] += __uint_as_float(front(2) | (words[3] << 7 & 0x000FE000));
    sums[7] += __uint_as_float(front(4) | (words[1] << 14 & 0x000F8000) | (words[3] << 9 & 0x00006000));
  }
};

// Two sums a word; the phase takes a digit of the first.
struct Bfloat16Words {
  static constexpr int kCount = 4;

  __device__ static void pack(const ParcelSums& sums, uint32_t (&words)[kCount]) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      constexpr uint32_t kHalfOfLastDigit = 1 << 16;
      const uint32_t first = __float_as_uint(sums[i]) + (isfinite(sums[i]) ? kHalfOfLastDigit : 0);
      words[i] = persistent::pack<Bfloat>(0.0f, sums[kCount + i]) | (first >> 16 & ~1u);
    }
  }

  __device__ static void add(const uint32_t (&words)[kCount], ParcelSums& sums) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      sums[i] += __uint_as_float(words[i] << 16 & 0xFFFE0000);
      sums[kCount + i] += __uint_as_float(words[i] & 0xFFFF0000);
    }
  }
};

// A warp's parcels lie side by side: four words of each lane, then the fifth ones.
template <class Numbers>
class Parcel {
 public:
  using Words = std::conditional_t<std::is_same_v<typename Numbers::Operand, Half>, Tf32Words, Bfloat16Words>;
  static constexpr int kWords = Words::kCount;
  static_assert(kWords == kWordsOfParcel<Numbers>);
  static constexpr int kWordsOfWarp = kLanes * kWords;

  Parcel() = default;
  __device__ explicit Parcel(const ParcelSums& sums, uint32_t phase) {
    Words::pack(sums, words_);
#pragma unroll
    for (uint32_t& word : words_) word |= phase;
  }

  // place: of the warp.
  __device__ static Parcel read(const uint32_t* place, int lane) {
    Parcel parcel;
    const uint4 four = read_exchanged(reinterpret_cast<const uint4*>(place) + lane);
    parcel.words_[0] = four.x;
    parcel.words_[1] = four.y;
    parcel.words_[2] = four.z;
    parcel.words_[3] = four.w;
    if constexpr (kWords == 5) parcel.words_[4] = read_exchanged(place + 4 * kLanes + lane);
    return parcel;
  }

  __device__ void write(uint32_t* place, int lane) const {
    write_exchanged(reinterpret_cast<uint4*>(place) + lane, make_uint4(words_[0], words_[1], words_[2], words_[3]));
    if constexpr (kWords == 5) write_exchanged(place + 4 * kLanes + lane, words_[4]);
  }

  __device__ bool is_of_phase(uint32_t phase) const {
    uint32_t all = words_[0], any = words_[0];
#pragma unroll
    for (int i = 1; i < kWords; ++i) {
      all &= words_[i];
      any |= words_[i];
    }
    return phase == 1 ? (all & 1) == 1 : (any & 1) == 0;
  }

  __device__ void add_to(ParcelSums& sums) const { Words::add(words_, sums); }

 private:
  uint32_t words_[kWords];
};

}  // namespace rnnlab::kernels::persistent
