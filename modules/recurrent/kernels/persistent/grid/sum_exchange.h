// How the blocks of a group hand each other the sums of the backward pass through L2. Their bytes are what limits its
// speed, so a sum has only as many digits as its class gives to a factor of a product: TF32's 10 and its 8 bits of
// exponent if factors are float16, bfloat16's if tensors are. Eight sums of a thread are a parcel of five or four
// words. The last bit of each word is the phase that it belongs to (exchange.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "recurrent/kernels/persistent/grid/exchange.h"
#include "recurrent/kernels/persistent/grid/owner.h"
#include "recurrent/kernels/persistent/shared/numbers.h"

namespace rnnlab::kernels::persistent {

constexpr int kSumsOfParcel = 8;
using ParcelSums = float[kSumsOfParcel];

// The bits of a sum that is rounded to TF32's digits: the last 13 bits are 0.
__device__ inline uint32_t tf32_of(float sum) {
  uint32_t bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(sum));
  return bits & 0xFFFFE000;
}

// Eight sums of 19 bits in five words. Each word begins with one of the first five sums. The next 12 bits of a word
// have parts of the last three sums: words 0, 2 and 4 have their first 12 bits, words 1 and 3 their last 7 bits; those
// of the third are in both.
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

// Two sums in each word. The phase takes the place of the last digit of the first.
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

// The parcels of a warp are stored together: the first four words of each lane, then the fifth words.
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

  // place: where the parcels of the warp begin.
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

// Each sender writes a parcel for every 16 units of the receiver and every two tiles of sequences. The receiver adds up
// those of all senders.
template <class T>
class GridSumExchange {
 public:
  // room: kShares * kReceived numbers in shared memory.
  __device__ GridSumExchange(const PersistentBackward& work, const GridOwner<T>& owner, float* room)
      : exchange_(static_cast<uint32_t*>(work.exchange) +
                  static_cast<size_t>(owner.group) * T::kTurns * T::kSumBuffers * T::kSumBufferWords),
        room_(room),
        wait_(work.timed_out) {}

  // Room for a number of each thread, after the last sums have been received.
  __device__ float* room() const { return room_; }

  // Adds to `hidden`, for this thread's cells, what all senders have sent for this step. Threads add it up in kShares
  // parts.
  __device__ void add_received(int step, int turn, const GridOwner<T>& owner, float (&hidden)[T::kCells]) {
    const int share = static_cast<int>(threadIdx.x) / T::kParcels;
    const int parcel = static_cast<int>(threadIdx.x) % T::kParcels / kLanes;
    ParcelSums sums = {};
#pragma unroll
    for (int first = 0; first < T::kSendersAShare; first += T::kParcelsAtOnce)
      add_parcels(step, place_of(step, turn, owner.block, share * T::kSendersAShare + first, parcel), owner.lane, sums);
    spread(share, parcel, owner.lane, sums);
    __syncthreads();
#pragma unroll
    for (int cell = 0; cell < T::kCells; ++cell) {
      const int place = (owner.sequence + cell * T::kStride) * T::kReceivedStride + owner.unit_of_block;
#pragma unroll
      for (int i = 0; i < T::kShares; ++i) hidden[cell] += room_[i * T::kReceived + place];
    }
  }

  // Sends the sums of tiles 2 * pair and 2 * pair + 1 to the block that owns the 16 units from `unit` on, for its step
  // `step`.
  __device__ void send(int step, int turn, const GridOwner<T>& owner, int unit, int pair,
                       const ParcelSums& sums) const {
    const int parcel = unit % T::kUnits / kTileRows * T::kTilePairs + pair;
    Parcel(sums, phase_of(step))
        .write(place_of(step, turn, unit / T::kUnits, owner.block / T::kPartners, parcel), owner.lane);
  }

 private:
  using Parcel = persistent::Parcel<typename T::Numbers>;
  static constexpr int kWordsOfSender = T::kParcelsOfLane * Parcel::kWordsOfWarp;
  static_assert(T::kSendersAShare % T::kParcelsAtOnce == 0);

  // The parcels are in the order receivers, senders, 16 units, pairs of tiles.
  __device__ uint32_t* place_of(int step, int turn, int receiver, int sender, int parcel) const {
    return exchange_ + (turn * T::kSumBuffers + (step & 1)) * T::kSumBufferWords +
           (receiver * T::kSenders + sender) * kWordsOfSender + parcel * Parcel::kWordsOfWarp;
  }

  __device__ void add_parcels(int step, const uint32_t* from, int lane, ParcelSums& sums) {
    Parcel parcels[T::kParcelsAtOnce];
    wait_.read_all(
        parcels, [&](int i) { return Parcel::read(from + i * kWordsOfSender, lane); },
        [phase = phase_of(step)](const Parcel& parcel) { return parcel.is_of_phase(phase); });
#pragma unroll
    for (const Parcel& parcel : parcels) parcel.add_to(sums);
  }

  // Writes to shared memory, in the order sequences by units, the sums that a thread has in the order of a product.
  __device__ void spread(int share, int parcel, int lane, const ParcelSums& sums) const {
    const int sequence = parcel % T::kTilePairs * 2 * kSequencesPerTile + lane % 4 * 2;
    float* place =
        room_ + share * T::kReceived + sequence * T::kReceivedStride + parcel / T::kTilePairs * kTileRows + lane / 4;
#pragma unroll
    for (int i = 0; i < kSumsOfParcel; ++i)
      place[(i / 4 * kSequencesPerTile + i % 2) * T::kReceivedStride + i / 2 % 2 * 8] = sums[i];
  }

  uint32_t* exchange_;  // kSumBuffers of each turn of the group
  float* room_;         // the sums of each share
  TimedWait wait_;
};

}  // namespace rnnlab::kernels::persistent
