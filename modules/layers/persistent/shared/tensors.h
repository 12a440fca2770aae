// SPDX-License-Identifier: Apache-2.0
// Places in the tensors of a pass (passes.h) that kernels of all kinds, block/, cluster/ and grid/, read and write:
// rows of steps, columns of gates' gradients, recurrent weights, and sums of the biases' gradients. Left out: which
// units and sequences a thread works on (owner.h of each kind).
#pragma once

#include <cstdint>
#include <type_traits>

#include "layers/persistent/shared/numbers.h"
#include "layers/persistent/shared/passes.h"
#include "layers/persistent/shared/sizes.h"

namespace rnnlab::kernels::persistent {

// The columns of the gradients of gates in a row of PersistentBackward::gate_gradients. kCount: the number of columns
// of a unit.
template <class Cell>
struct GradientColumns {
  static constexpr int kCount = Cell::kHasTwoSides ? Cell::kGates + 1 : Cell::kGates;
  static constexpr int kAside = kCount - 1;  // the last gate's of W x + b, if W x + b has a gradient of its own

  __device__ static constexpr int of(int gate) { return Cell::kHasTwoSides ? (gate + 1) % Cell::kGates : gate; }
};

// Rows (B, H) of tensors (T, B, H) in the order of a pass, and of tensors of states, which have one row more. All are
// counted in elements.
struct PassRows {
  int64_t row;     // the size of a row
  int64_t first;   // where the row of the pass's first step begins
  int64_t stride;  // from there to the row of the next step
  int64_t after;   // from the row of a step to the states after it
  int64_t before;  // from the row of a step to the states before it
  int64_t num_steps;

  __device__ PassRows(const PersistentSequence& sequence, ReadingOrder order_of_pass)
      : row(sequence.batch_size * sequence.num_heads * sequence.hidden_size), num_steps(sequence.num_steps) {
    const bool goes_up = order_of_pass == ReadingOrder::kForward;
    const bool reads_up = sequence.order == ReadingOrder::kForward;
    first = goes_up ? 0 : (sequence.num_steps - 1) * row;
    stride = goes_up ? row : -row;
    after = reads_up ? row : 0;
    before = reads_up ? 0 : row;
  }

  // The size of a tensor of states.
  __device__ int64_t size_of_states() const { return (num_steps + 1) * row; }
};

// Marks and bits of a cell without starts, which take no register.
struct NoStarts {
  __device__ constexpr operator uint32_t() const { return 0; }
};

// Whether a sequence starts with a step: not 0. It keeps the type that it has in memory until it is used, because
// converting it would stall until the load completes.
template <class Cell>
using StartMark = std::conditional_t<Cell::kHasStarts, uint8_t, NoStarts>;

// Which sequences of a group start with a step: bit i for the i-th. Marks of all of a thread's cells would take more
// registers than kernels have.
template <class Cell>
using StartBits = std::conditional_t<Cell::kHasStarts, uint32_t, NoStarts>;

// Returns the bits from that of sequence `first` on. Called by a whole warp. of_lane: StartMarks::of_lane.
template <class Cell>
__device__ StartBits<Cell> start_bits(StartMark<Cell> of_lane, int first) {
  if constexpr (Cell::kHasStarts)
    return __ballot_sync(~0u, of_lane != 0) >> first;
  else
    return {};
}

template <class Bits>
__device__ bool is_start(Bits bits, int sequence) {
  return (static_cast<uint32_t>(bits) >> sequence & 1) != 0;
}

// Reads the marks of PersistentForward::starts. Steps are counted in the order of the pass. Reading past
// the last step returns the last mark, which no kernel uses.
template <class Cell, class Work>
class StartMarks {
 public:
  __device__ StartMarks(const Work& work, ReadingOrder order_of_pass)
      : work_(work), goes_up_(order_of_pass == ReadingOrder::kForward) {}

  // Places are 32 bits, which a tensor of marks does not exceed, because each instruction of a step counts.
  __device__ StartMark<Cell> at(int step, int sequence) const {
    if constexpr (Cell::kHasStarts) {
      const int last = static_cast<int>(work_.sequence.num_steps) - 1, place = smaller(step, last);
      const int row = goes_up_ ? place : last - place;
      return reinterpret_cast<const uint8_t*>(work_.starts)[row * batch_size() + sequence];
    } else {
      return {};
    }
  }

  // Returns the mark of a lane of a group: that of the sequence of the lane's number. first: that of the group, which
  // may be beyond the batch.
  __device__ StartMark<Cell> of_lane(int step, int first, int lane) const {
    return at(step, smaller(first + lane, batch_size() - 1));
  }

 private:
  __device__ int batch_size() const { return static_cast<int>(work_.sequence.batch_size); }

  const Work& work_;
  bool goes_up_;
};

// Read and write the cell states of a unit, whose tensors are `distance` apart if the cell has several.
template <class State>
__device__ State read_state(const float* place, int64_t distance) {
  if constexpr (std::is_same_v<State, float>)
    return *place;
  else
    return {place[0], place[distance], place[2 * distance]};
}
__device__ inline void write_state(float* place, int64_t, float state) { *place = state; }
template <class State>
__device__ void write_state(float* place, int64_t distance, const State& state) {
  place[0] = state.cell;
  place[distance] = state.normalizer;
  place[2 * distance] = state.stabilizer;
}

// Writes a hidden state to its place in the tensors.
template <class Numbers>
__device__ void write_hidden(const PersistentForward& work, int64_t place, float hidden) {
  using Value = typename Numbers::Value;
  static_cast<Value*>(work.hidden)[place] = from_float<Value>(hidden);
  if constexpr (std::is_same_v<Numbers, Tf32>)
    if (work.half_hidden != nullptr) static_cast<Half*>(work.half_hidden)[place] = from_float<Half>(hidden);
}

// Writes what products read of a hidden state to its place, if the pass keeps it.
template <class T>
__device__ void write_read_hidden(const PersistentForward& work, int64_t place, float read) {
  using Value = typename T::Numbers::Value;
  if constexpr (!T::Cell::kHasStarts) return;
  if (work.read_hidden != nullptr) static_cast<Value*>(work.read_hidden)[place] = from_float<Value>(read);
  if constexpr (std::is_same_v<typename T::Numbers, Tf32>)
    if (work.half_read_hidden != nullptr) static_cast<Half*>(work.half_read_hidden)[place] = from_float<Half>(read);
}

// The larger magnitude of a gate's two gradients, of R h + b and of W x + b.
template <class Cell>
__device__ float larger_side(int gate, float recurrent, float aside) {
  const bool has_two = Cell::kHasTwoSides && gate == Cell::kGates - 1;
  return has_two ? fmaxf(fabsf(aside), fabsf(recurrent)) : fabsf(recurrent);
}

__device__ inline ReadingOrder opposite(ReadingOrder order) {
  return order == ReadingOrder::kForward ? ReadingOrder::kReverse : ReadingOrder::kForward;
}

// The learned numbers of a unit, one for each row of the cell's vectors, or their gradients.
template <class Cell>
struct UnitVectors {
  float of[Cell::kVectors > 0 ? Cell::kVectors : 1] = {};

  // rows: (V, H) of `Value`. Without a unit they stay 0.
  template <class Value>
  __device__ void read(const void* rows, int hidden_size, int unit) {
    if (unit >= hidden_size) return;
#pragma unroll
    for (int i = 0; i < Cell::kVectors; ++i)
      of[i] = to_float(static_cast<const Value*>(rows)[static_cast<int64_t>(i) * hidden_size + unit]);
  }

  __device__ void clear() {
#pragma unroll
    for (float& one : of) one = 0.0f;
  }
};

// An element of the recurrent weights (G, H, H).
struct Place {
  int gate, unit, column;
};

// Reads the rows of PersistentForward::table that are the inputs of a thread's kSequences sequences in a step. A row's
// place depends on its token, so tokens are read a step before the row, and nothing waits for them.
template <class Value, int kSequences>
class TableRows {
 public:
  __device__ explicit TableRows(const PersistentForward& work) : work_(work) {}

  // Reads a token. i: which of the thread's sequences `sequence` is.
  __device__ void read_token(int i, int64_t step, int64_t sequence) {
    const PersistentSequence& of = work_.sequence;
    const int64_t position = of.order == ReadingOrder::kForward ? step : of.num_steps - 1 - step;
    tokens_[i] = static_cast<uint32_t>(work_.tokens[position * of.batch_size + sequence]);
  }

  // The row of the token that was read last for the i-th sequence. Ends the kernel with an error if there is none.
  __device__ const Value* row(int i, int size) const {
    if (tokens_[i] >= work_.num_rows) asm volatile("trap;");
    return static_cast<const Value*>(work_.table) + static_cast<int64_t>(tokens_[i]) * size;
  }

 private:
  const PersistentForward& work_;
  uint32_t tokens_[kSequences];
};

// Replaces them in kernels that read no tokens.
struct NoTableRows {
  __device__ explicit NoTableRows(const PersistentForward&) {}
};

// Reads a head's recurrent weights (G * H, H), whose hidden size is at most that of T. Elements beyond it are 0.
template <class T>
class WeightReader {
 public:
  __device__ WeightReader(const RecurrentWeights& weights, int hidden_size, int head = 0)
      : values_(weights.values),
        is_float_(weights.type == ElementType::kFloat32),
        hidden_size_(hidden_size),
        first_row_(int64_t{head} * T::kGates * hidden_size) {}

  __device__ float at(const Place& place) const {
    if (place.gate >= T::kGates || place.unit >= hidden_size_ || place.column >= hidden_size_) return 0.0f;
    const int64_t row = first_row_ + static_cast<int64_t>(place.gate) * hidden_size_ + place.unit;
    const int64_t index = row * hidden_size_ + place.column;
    return is_float_ ? static_cast<const float*>(values_)[index] : to_float(static_cast<const Value*>(values_)[index]);
  }

 private:
  using Value = typename T::Numbers::Value;
  const void* values_;
  bool is_float_;
  int hidden_size_;
  int64_t first_row_;
};

// The gradients of a layer's biases and vectors, which are sums over all steps and sequences. A thread adds up those of
// its unit in registers. The threads of a unit are added in a fixed order, so that repeats give the
// same bits.

// Which sums a thread writes.
struct SumPlace {
  bool is_first;      // whether it is the first of the threads that have sequences of its unit
  int unit;           // of the layer
  int hidden_size;    // of the layer
  int first_row;      // of its group; a row has the sums of kSequencesOfSums
  int num_sequences;  // from the first of its group to the end of the batch; 0 if its unit is beyond the layer's
};

template <class T>
class BiasSums {
  using Cell = typename T::Cell;

 public:
  // gates: gradients of R h + b. aside: that of W x + b of the last gate, if it differs. All are 0 for a unit or a
  // sequence that does not exist.
  __device__ void add(const float (&gates)[T::kGates], float aside, const UnitVectors<Cell>& vectors) {
#pragma unroll
    for (int gate = 0; gate < T::kGates; ++gate) sums_[gate] += gates[gate];
    if constexpr (kHasTwoSides) aside_ += aside;
#pragma unroll
    for (int i = 0; i < Cell::kVectors; ++i) vectors_.of[i] += vectors.of[i];
  }

  // rows: PersistentBackward::bias_sums. A group's sums go to its first row, and 0 to its num_rows - 1 others.
  // of_all_sequences(sum) adds up the sums of the threads that have sequences of a unit, for the first of them.
  template <class OfAllSequences>
  __device__ void write(const SumPlace& place, int num_rows, const OfAllSequences& of_all_sequences,
                        float* rows) const {
#pragma unroll
    for (int column = 0; column < kColumns; ++column) {
      const float sum = of_all_sequences(sum_of(column));
      if (!place.is_first) continue;
      for (int i = 0; i < num_rows && i * kSequencesOfSums < place.num_sequences; ++i)
        rows[((int64_t{place.first_row} + i) * kColumns + column) * place.hidden_size + place.unit] =
            i == 0 ? sum : 0.0f;
    }
  }

 private:
  static constexpr bool kHasTwoSides = Cell::kHasTwoSides;
  static constexpr int kOfBiases = kHasTwoSides ? 2 * T::kGates : T::kGates;
  static constexpr int kColumns = kOfBiases + Cell::kVectors;

  __device__ float sum_of(int column) const {
    if (column >= kOfBiases) return vectors_.of[column - kOfBiases];
    return kHasTwoSides && column == T::kGates - 1 ? aside_ : sums_[column % T::kGates];
  }

  float sums_[T::kGates] = {};
  float aside_ = 0.0f;
  UnitVectors<Cell> vectors_;
};

}  // namespace rnnlab::kernels::persistent
