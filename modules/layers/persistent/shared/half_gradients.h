// SPDX-License-Identifier: Apache-2.0
// Gates' gradients that a kernel writes as float16, for the products after a pass in the TF32 class. A gradient is its
// float16 times two to the power of an exponent. A block chooses the exponent before it knows all its gradients, and
// changes it only if the gradients would leave float16's range or come near its end. So most passes have one exponent,
// and a kernel after the pass changes the others to the largest (operand_conversion.h). Left out: kernels in block/
// and pairs of layers, which write float32.
#pragma once

#include <cstdint>

#include "layers/persistent/shared/numbers.h"
#include "layers/persistent/shared/passes.h"
#include "layers/persistent/shared/sizes.h"

namespace rnnlab::kernels::persistent {

// The exponent of what a block, or a team of its warps, writes. All its threads have the same.
class HalfExponent {
 public:
  // Takes the exponent of the steps that are read later, or one that fits if the gates' gradients are about as large as
  // those of the outputs. All warps read the same sample of these, so that all blocks begin with the same exponent.
  __device__ HalfExponent(const PersistentBackward& work, int lane) {
    if (work.later_exponent != nullptr && *work.later_exponent != 0) {
      exponent_ = *work.later_exponent - kExponentBias;
      return;
    }
    const PersistentSequence& of = work.sequence;
    const int64_t count_of_row = of.batch_size * of.hidden_size;
    float largest = 0.0f;
    // After later steps, whose gradients are all 0 here, other clusters may already write their rows of later_hidden.
    if (work.later_exponent == nullptr) read_sample(work.later_hidden, count_of_row, lane, largest);
    read_sample(work.output_gradient, of.num_steps * count_of_row, lane, largest);
    const uint32_t bits = __reduce_max_sync(~0u, __float_as_uint(largest));
    if (bits != 0) exponent_ = exponent_of(bits) - kTop;
  }

  // Called before each turn's gradients are written, with the number of the turn, and the bits of the largest magnitude
  // up to this turn. fill(first, end, exponent) writes the exponent of these turns to the table.
  template <class Fill>
  __device__ void adapt(int turn, uint32_t largest, const Fill& fill) {
    const int top = exponent_of(largest) - exponent_;
    const bool fits = top >= kLeastTop && top <= kMostTop;
    if (fits || largest == 0 || largest >= kBitsOfInfinity) return;
    fill(since_, turn, static_cast<int8_t>(exponent_));
    since_ = turn;
    exponent_ = exponent_of(largest) - kTop;
  }

  // Called after the last turn, whose number is end - 1. reports: whether this thread reports for the block.
  template <class Fill>
  __device__ void finish(const PersistentBackward& work, int end, uint32_t largest, bool reports,
                         const Fill& fill) const {
    fill(since_, end, static_cast<int8_t>(exponent_));
    if (reports && largest != 0) atomicMax(work.largest_exponent, exponent_ + kExponentBias);
  }

  __device__ float scale() const { return power_of_two(-exponent_); }

 private:
  static constexpr uint32_t kBitsOfInfinity = 0x7F800000;
  // The exponents of the largest float16. float16 has them up to 15, and all of its digits down to -14.
  static constexpr int kLeastTop = 3, kTop = 9, kMostTop = 13;

  __device__ static void read_sample(const void* numbers, int64_t count, int lane, float& largest) {
    if (numbers == nullptr) return;
    constexpr int kOfLane = 16;
    const int64_t distance = count / (kOfLane * kLanes) | 1;  // odd, to meet all units
#pragma unroll
    for (int i = 0; i < kOfLane; ++i) {
      const int64_t place = (i * kLanes + lane) * distance;
      const float number = place < count ? fabsf(static_cast<const float*>(numbers)[place]) : 0.0f;
      if (__float_as_uint(number) < kBitsOfInfinity) largest = fmaxf(largest, number);
    }
  }

  int exponent_ = 0;
  int since_ = 0;  // the first turn that was written with it
};

// Replaces it in kernels that write the gradients in the layer's type.
struct NoHalfExponent {
  __device__ NoHalfExponent(const PersistentBackward&, int) {}
};

// What a block, or a team, writes in a turn: gradients of kSequences sequences and kUnits units from these on.
struct TurnPlace {
  int step, first_sequence, first_unit;
};

// Writes the exponent of the turns first to end - 1 to the table, by `num_threads` threads. place_of(turn) returns a
// turn's place.
template <int kSequences, int kUnits, class PlaceOf>
__device__ void write_exponents(const PersistentBackward& work, int first, int end, int8_t exponent, int thread,
                                int num_threads, const PlaceOf& place_of) {
  constexpr int kWidth = kUnits / kUnitsOfExponent, kOfTurn = kSequences / kSequencesOfExponent * kWidth;
  const PersistentSequence& of = work.sequence;
  const int rows = (static_cast<int>(of.batch_size) + kSequencesOfExponent - 1) / kSequencesOfExponent;
  const int columns = static_cast<int>(of.hidden_size) / kUnitsOfExponent;
  const bool goes_up = of.order == ReadingOrder::kReverse;  // opposite to the forward pass
#pragma unroll 1
  for (int i = first * kOfTurn + thread; i < end * kOfTurn; i += num_threads) {
    const TurnPlace place = place_of(i / kOfTurn);
    const int64_t position = goes_up ? place.step : of.num_steps - 1 - place.step;
    const int row = place.first_sequence / kSequencesOfExponent + i % kOfTurn / kWidth;
    const int column = place.first_unit / kUnitsOfExponent + i % kWidth;
    if (row < rows && column < columns) work.exponents[(position * rows + row) * columns + column] = exponent;
  }
}

}  // namespace rnnlab::kernels::persistent
