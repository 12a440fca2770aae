// SPDX-License-Identifier: Apache-2.0
// How the blocks of a group exchange data through L2, and the blocks of a cluster through shared memory: words that
// show whether they have been written, the gates' gradients of a cluster, and the sums of the backward pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "layers/persistent/grid/owner.h"
#include "layers/persistent/grid/weights.h"
#include "layers/persistent/shared/cluster_exchange.h"
#include "layers/persistent/shared/numbers.h"

namespace rnnlab::kernels::persistent {

// Through L2. There are no flags, because each word shows whether it has been written. Words of two hidden
// states are kNothing before, which is two NaN that no conversion produces. Words of sums (below) have in
// their last bit their phase. Waits time out.

constexpr uint32_t kNothing = 0xFFFFFFFF;

__device__ inline uint4 read_exchanged(const uint4* place) {
  uint4 value;
  asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(place)
               : "memory");
  return value;
}

__device__ inline uint32_t read_exchanged(const uint32_t* place) {
  uint32_t value;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(place) : "memory");
  return value;
}

// Copies a vector from L2 to shared memory as it is now, for data that have probably been written. The copy is not a
// relaxed read, and need not be one: each word shows whether it has been written, and exchange_fence() is between the
// copy and the thread's last read of the previous buffer, whose senders had emptied this one.
__device__ inline void copy_exchanged(uint4* shared, const uint4* place) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(shared)), "l"(place) : "memory");
}
__device__ inline void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

__device__ inline void write_exchanged(uint4* place, uint4 value) {
  asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(place), "r"(value.x), "r"(value.y),
               "r"(value.z), "r"(value.w)
               : "memory");
}

__device__ inline void write_exchanged(uint32_t* place, uint32_t value) {
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(place), "r"(value) : "memory");
}

// Orders all that this thread has read and written before all that it will read and write, for every block.
__device__ inline void exchange_fence() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

__device__ inline bool is_filled(const uint4& words) {
  return max(max(words.x, words.y), max(words.z, words.w)) != kNothing;
}

// The phase of step s >= 1 if two buffers are used in turn. In both the first phase is 1, and memory is 0 before.
__device__ inline uint32_t phase_of(int step) { return ((step >> 1) ^ step) & 1; }

// Waits for data, until a timeout.
class TimedWait {
 public:
  __device__ explicit TimedWait(int* timed_out) : timed_out_(timed_out) {}

  // Fills `all` by read(i), and repeats that for each element until is_written(element) is true for all of them.
  template <class Exchanged, int kCount, class Read, class IsWritten>
  __device__ void read_all(Exchanged (&all)[kCount], const Read& read, const IsWritten& is_written) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) all[i] = read(i);
    complete(all, read, is_written);
  }

  // Does the same if each element has been read once. Returns whether an element had to be read again.
  template <class Exchanged, int kCount, class Read, class IsWritten>
  __device__ bool complete(Exchanged (&all)[kCount], const Read& read, const IsWritten& is_written) {
    if (has_all(all, is_written) || has_timed_out_) return false;
    const long long start = clock64();
    do {
      if (clock64() - start > kMostTicksToWait) {
        report_timeout();
        break;
      }
#pragma unroll
      for (int i = 0; i < kCount; ++i)
        if (!is_written(all[i])) all[i] = read(i);
    } while (!has_all(all, is_written));
    return true;
  }

 private:
  template <class Exchanged, int kCount, class IsWritten>
  __device__ static bool has_all(const Exchanged (&all)[kCount], const IsWritten& is_written) {
    bool has = true;
#pragma unroll
    for (int i = 0; i < kCount; ++i) has = has && is_written(all[i]);
    return has;
  }

  __device__ void report_timeout() {
    *timed_out_ = 1;
    has_timed_out_ = true;
  }

  int* timed_out_;
  bool has_timed_out_ = false;
};

// Within a cluster, in the backward pass: each block sends its gates' gradients, as products read them, and the numbers
// that its sums are multiplied by. A block that is its only partner only keeps its own here: it does not call
// prepare(), hand_out() and wait(), because a barrier of the block is enough.

// index: a turn, counted over all steps. i: the block that is `i` places after this one in the circle of partners.
template <class T>
class GridPartners {
 public:
  // shared: the first part of T::kBackwardBufferBytes; end() is the place after it.
  __device__ GridPartners(uint4* shared, uint64_t* barriers, int block, int num_turns, int* timed_out)
      : block_(block),
        gates_(shared),
        unscale_(reinterpret_cast<float*>(shared + 2 * T::kPartners * T::kGateVectors)),
        received_(barriers, (T::kPartners - 1) * kVectors * 16, num_turns, timed_out) {}

  __device__ float* end() const { return unscale_ + 2 * T::kPartners * T::kSequences; }

  // One thread of a block calls it, before a barrier of the cluster.
  __device__ void prepare() const { received_.prepare(); }

  // The gates' gradients, in the order 16 rows, tiles of 8 sequences, octets of rows, sequences; and for each sequence
  // the number that its sums are multiplied by.
  __device__ uint4* gates(int index, int i) const { return gates_ + slot_of(index, i) * T::kGateVectors; }
  __device__ float* unscale(int index, int i) const { return unscale_ + slot_of(index, i) * T::kSequences; }

  // Sends those of this block to all partners. All threads call it, after a barrier of the block.
  __device__ void hand_out(int index) const {
    const uint4* own_gates = gates(index, 0);
    const uint4* own_unscale = reinterpret_cast<const uint4*>(unscale(index, 0));
    for (int i = static_cast<int>(threadIdx.x); i < kVectors; i += T::kThreads) {
      const uint4* place = i < T::kGateVectors ? own_gates + i : own_unscale + i - T::kGateVectors;
      const uint4 vector = *place;
#pragma unroll
      for (int j = 1; j < T::kPartners; ++j) {
        const uint32_t receiver = T::partner_of(block_, j) % T::kPartners;
        send(address_in(receiver, shared_address(place)), vector,
             address_in(receiver, received_.barrier_of(index + 1)));
      }
    }
  }

  // Waits until those of all partners have arrived and products can read them.
  __device__ void wait(int index) {
    received_.wait(index + 1);
    GridProducts<T>::publish();
  }

 private:
  static constexpr int kVectors = T::kGateVectors + T::kSequences / 4;

  // The place in the two buffers, which have a slot for each block.
  __device__ int slot_of(int index, int i) const {
    return (index & 1) * T::kPartners + T::partner_of(block_, i) % T::kPartners;
  }

  int block_;
  uint4* gates_;
  float* unscale_;
  ReceiveBarriers received_;
};

// Sums of the backward pass, through L2. Their bytes limit the speed of the pass. So a sum has only as many digits as
// its class gives to an operand of a product: TF32's 10 and its 8 bits of exponent if operands are float16, and those
// of bfloat16 if tensors are bfloat16. Eight sums of a thread are packed in five or four words. The last bit of each
// word is its phase.

constexpr int kSumsOfPack = 8;
using PartialSums = float[kSumsOfPack];

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

  __device__ static void pack(const PartialSums& sums, uint32_t (&words)[kCount]) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) words[i] = tf32_of(sums[i]);
    const uint32_t first = tf32_of(sums[5]), second = tf32_of(sums[6]), third = tf32_of(sums[7]);
    words[0] |= first >> 19 & 0x1FFE;
    words[2] |= second >> 19 & 0x1FFE;
    words[4] |= third >> 19 & 0x1FFE;
    words[1] |= (first >> 7 & 0x1FC0) | (third >> 14 & 0x003E);
    words[3] |= (second >> 7 & 0x1FC0) | (third >> 9 & 0x0030);
  }

  __device__ static void add(const uint32_t (&words)[kCount], PartialSums& sums) {
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

  __device__ static void pack(const PartialSums& sums, uint32_t (&words)[kCount]) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      constexpr uint32_t kHalfOfLastDigit = 1 << 16;
      const uint32_t first = __float_as_uint(sums[i]) + (isfinite(sums[i]) ? kHalfOfLastDigit : 0);
      words[i] = persistent::pack<Bfloat>(0.0f, sums[kCount + i]) | (first >> 16 & ~1u);
    }
  }

  __device__ static void add(const uint32_t (&words)[kCount], PartialSums& sums) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      sums[i] += __uint_as_float(words[i] << 16 & 0xFFFE0000);
      sums[kCount + i] += __uint_as_float(words[i] & 0xFFFF0000);
    }
  }
};

// Eight partial sums of a thread, packed with their phase: a pack. The packs of a warp are stored together: the first
// four words of each lane, then the fifth words.
template <class Numbers>
class PackedPartialSums {
 public:
  using Words = std::conditional_t<std::is_same_v<typename Numbers::Operand, Half>, Tf32Words, Bfloat16Words>;
  static constexpr int kWords = Words::kCount;
  static_assert(kWords == kWordsOfPack<Numbers>);
  static constexpr int kWordsOfWarp = kLanes * kWords;

  PackedPartialSums() = default;
  __device__ explicit PackedPartialSums(const PartialSums& sums, uint32_t phase) {
    Words::pack(sums, words_);
#pragma unroll
    for (uint32_t& word : words_) word |= phase;
  }

  // place: where the packs of the warp begin.
  __device__ static PackedPartialSums read(const uint32_t* place, int lane) {
    PackedPartialSums pack;
    const uint4 four = read_exchanged(reinterpret_cast<const uint4*>(place) + lane);
    pack.words_[0] = four.x;
    pack.words_[1] = four.y;
    pack.words_[2] = four.z;
    pack.words_[3] = four.w;
    if constexpr (kWords == 5) pack.words_[4] = read_exchanged(place + 4 * kLanes + lane);
    return pack;
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

  __device__ void add_to(PartialSums& sums) const { Words::add(words_, sums); }

 private:
  uint32_t words_[kWords];
};

// Each sender writes a pack for every 16 units of the receiver and every two tiles of sequences. The receiver adds up
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
    const int share = static_cast<int>(threadIdx.x) / T::kPacks;
    const int pack = static_cast<int>(threadIdx.x) % T::kPacks / kLanes;
    PartialSums sums = {};
#pragma unroll
    for (int first = 0; first < T::kSendersAShare; first += T::kPacksAtOnce)
      add_packs(step, place_of(step, turn, owner.block, share * T::kSendersAShare + first, pack), owner.lane, sums);
    spread(share, pack, owner.lane, sums);
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
                       const PartialSums& sums) const {
    const int pack = unit % T::kUnits / kTileRows * T::kTilePairs + pair;
    PackedPartialSums(sums, phase_of(step))
        .write(place_of(step, turn, unit / T::kUnits, owner.block / T::kPartners, pack), owner.lane);
  }

 private:
  using PackedPartialSums = persistent::PackedPartialSums<typename T::Numbers>;
  static constexpr int kWordsOfSender = T::kPacksOfLane * PackedPartialSums::kWordsOfWarp;
  static_assert(T::kSendersAShare % T::kPacksAtOnce == 0);

  // The packs are in the order receivers, senders, 16 units, pairs of tiles.
  __device__ uint32_t* place_of(int step, int turn, int receiver, int sender, int pack) const {
    return exchange_ + (turn * T::kSumBuffers + (step & 1)) * T::kSumBufferWords +
           (receiver * T::kSenders + sender) * kWordsOfSender + pack * PackedPartialSums::kWordsOfWarp;
  }

  __device__ void add_packs(int step, const uint32_t* from, int lane, PartialSums& sums) {
    PackedPartialSums packs[T::kPacksAtOnce];
    wait_.read_all(
        packs, [&](int i) { return PackedPartialSums::read(from + i * kWordsOfSender, lane); },
        [phase = phase_of(step)](const PackedPartialSums& pack) { return pack.is_of_phase(phase); });
#pragma unroll
    for (const PackedPartialSums& pack : packs) pack.add_to(sums);
  }

  // Writes to shared memory, in the order sequences by units, the sums that a thread has in the order of a product.
  __device__ void spread(int share, int pack, int lane, const PartialSums& sums) const {
    const int sequence = pack % T::kTilePairs * 2 * kSequencesPerTile + lane % 4 * 2;
    float* place =
        room_ + share * T::kReceived + sequence * T::kReceivedStride + pack / T::kTilePairs * kTileRows + lane / 4;
#pragma unroll
    for (int i = 0; i < kSumsOfPack; ++i)
      place[(i / 4 * kSequencesPerTile + i % 2) * T::kReceivedStride + i / 2 % 2 * 8] = sums[i];
  }

  uint32_t* exchange_;  // kSumBuffers of each turn of the group
  float* room_;         // the sums of each share
  TimedWait wait_;
};

}  // namespace rnnlab::kernels::persistent
