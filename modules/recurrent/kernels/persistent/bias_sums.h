// The gradients of a layer's biases, which are the sums of its gates' gradients over all steps and sequences. A thread
// adds up its own unit's in registers; its group's are added in a fixed order, so that repeats give the same bits.
#pragma once

#include "recurrent/kernels/persistent/sequence.h"

namespace rnnlab::kernels::persistent {

// Whose sums a thread writes.
struct SumPlace {
  bool is_first;      // of the threads that have sequences of the unit
  int unit;           // of the layer
  int hidden_size;    // of the layer
  int first_row;      // of the group, of 8 sequences
  int num_sequences;  // of the group from its first to the end of the batch; none for a unit beyond the layer's
};

template <class T>
class BiasSums {
 public:
  // gates: of R h + b; aside: of W x + b of the last gate, where that is another. 0 for a cell that is not there.
  __device__ void add(const float (&gates)[T::kGates], float aside) {
#pragma unroll
    for (int gate = 0; gate < T::kGates; ++gate) sums_[gate] += gates[gate];
    if constexpr (kHasTwoSides) aside_ += aside;
  }

  // rows: as PersistentBackward has them; a group's sums go to its first one, 0 to its num_rows - 1 others.
  // of_all_sequences(sum): of the threads that have sequences of a unit, for the first of them.
  template <class OfAllSequences>
  __device__ void write(const SumPlace& place, int num_rows, const OfAllSequences& of_all_sequences,
                        float* rows) const {
#pragma unroll
    for (int side = 0; side < kSides; ++side)
#pragma unroll
      for (int gate = 0; gate < T::kGates; ++gate) {
        const bool is_aside = kHasTwoSides && side == 0 && gate == T::kGates - 1;
        const float sum = of_all_sequences(is_aside ? aside_ : sums_[gate]);
        if (!place.is_first) continue;
        for (int i = 0; i < num_rows && i * kSequencesPerTile < place.num_sequences; ++i) {
          const int64_t gate_of_row = ((int64_t{place.first_row} + i) * kSides + side) * T::kGates + gate;
          rows[gate_of_row * place.hidden_size + place.unit] = i == 0 ? sum : 0.0f;
        }
      }
  }

 private:
  static constexpr bool kHasTwoSides = T::Cell::kHasTwoSides;
  static constexpr int kSides = kHasTwoSides ? 2 : 1;

  float sums_[T::kGates] = {};
  float aside_ = 0.0f;
};

}  // namespace rnnlab::kernels::persistent
