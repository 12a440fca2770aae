// SPDX-License-Identifier: Apache-2.0
// The forward pass of a group of sequences by a group of blocks. In each step a block waits until the hidden states of
// the previous step have arrived from all blocks, writes them to shared memory, multiplies (each warpgroup by half of
// them), adds the halves, activates, hands the hidden states of its units to all blocks, and only then writes to
// memory.
#pragma once

#include "layers/persistent/grid/exchange.h"
#include "layers/persistent/grid/owner.h"
#include "layers/persistent/grid/weights.h"
#include "layers/persistent/shared/tensors.h"

namespace rnnlab::kernels::persistent {

template <class T, StepInputs kInputs = StepInputs::kProducts>
class GridForwardBlock {
 public:
  __device__ GridForwardBlock(const PersistentForward& work, int first_group, uint4* shared)
      : work_(work),
        sequence_(work.sequence),
        owner_(work.sequence, first_group),
        rows_(work.sequence, work.sequence.order),
        place_(rows_.first + owner_.place()),
        starts_(work, work.sequence.order),
        table_rows_(work),
        exchange_(static_cast<uint4*>(work.exchange) +
                  owner_.group * T::kTurns * T::kHiddenBuffers * T::kHiddenVectors),
        hidden_(shared + owner_.warpgroup * kVectorsOfHalf),
        sums_(reinterpret_cast<float*>(shared + T::kHiddenVectors)),
        weights_(
            static_cast<const uint4*>(work.weights) + (owner_.block * T::kWarps + owner_.warp) * S::kFragments * kLanes,
            shared + T::kForwardBufferBytes / 16, owner_.warp, owner_.lane),
        wait_(work.timed_out) {}

  __device__ void run() {
    read_bias();
    for (int cell = 0; cell < T::kTurns * T::kCells; ++cell)
      carried_.of(cell) = owner_.has(cell) && starts_.at(0, owner_.sequence_of(cell)) == 0
                              ? initial_state(place_ + rows_.before + owner_.offset(cell))
                              : 0.0f;
    if constexpr (Cell::kHasStarts) write_initial();
    if constexpr (kInputs == StepInputs::kRowsOfTable) read_tokens(Turn::of<T>(0));
    Inputs inputs = read_inputs(0, 0, place_);
    const int num_steps = static_cast<int>(sequence_.num_steps);
    for (int i = 0; i < num_steps * T::kTurns; ++i, carried_.next_turn())
      run_turn(Turn::of<T>(i), inputs, i / T::kTurns + 1 < num_steps);
  }

 private:
  using S = typename T::ForwardSlice;
  using Products = GridProducts<T>;
  using Cell = typename T::Cell;
  using Value = typename T::Numbers::Value;
  using Operand = typename T::Numbers::Operand;
  static constexpr int kGates = T::kGates;
  static constexpr int kKeptRoom = Cell::kKept > 0 ? Cell::kKept : 1;
  static constexpr int kVectorsOfHalf = T::kHiddenVectors / T::kWarpgroups;
  static constexpr int kThreadsOfHalf = T::kThreads / T::kWarpgroups;
  static constexpr int kAtOnce = T::received_at_once(T::kVectorsOfThread);
  static_assert(T::kVectorsOfThread % kAtOnce == 0);

  struct Inputs {
    Value of[T::kCells][kGates];
    StartMark<Cell> next_starts;  // of this lane, at the next step
  };

  __device__ float bias(const void* of, int gate) const {
    return owner_.unit < owner_.hidden_size && of != nullptr
               ? to_float(static_cast<const Value*>(of)[gate * owner_.hidden_size + owner_.unit])
               : 0.0f;
  }

  // If the last gate has two sums, R h + b and W x + b, it has two biases.
  __device__ void read_bias() {
    for (int gate = 0; gate < kGates; ++gate) bias_[gate] = bias(work_.bias_ih, gate) + bias(work_.bias_hh, gate);
    if constexpr (Cell::kHasTwoSides) {
      bias_[kGates - 1] = bias(work_.bias_hh, kGates - 1);
      bias_aside_ = bias(work_.bias_ih, kGates - 1);
    }
    vectors_.template read<Value>(work_.vectors, owner_.hidden_size, owner_.unit);
  }

  __device__ void write_initial() const {
    for (int cell = 0; cell < T::kTurns * T::kCells; ++cell) {
      if (!owner_.has(cell)) continue;
      const int64_t place = place_ + rows_.before + owner_.offset(cell);
      const bool starts = starts_.at(0, owner_.sequence_of(cell)) != 0;
      write_read_hidden<T>(work_, place, starts ? 0.0f : initial_hidden(place));
    }
  }

  __device__ float initial_state(int64_t place) const {
    if constexpr (Cell::kHasCellState) return work_.cell[place];
    return initial_hidden(place);
  }

  __device__ float initial_hidden(int64_t place) const {
    return to_float(static_cast<const Value*>(work_.hidden)[place]);
  }

  // index: of the turn, counted over all steps. place: of this thread's unit and first cell, in the turn's step.
  __device__ Inputs read_inputs(int index, int turn, int64_t place) {
    if constexpr (kInputs == StepInputs::kRowsOfTable) return read_rows(index);
    const Value* gates = static_cast<const Value*>(work_.gates) + owner_.gate_place(place);
    Inputs inputs;
    inputs.next_starts = next_starts_of(Turn::of<T>(index));
#pragma unroll
    for (int cell = 0; cell < T::kCells; ++cell)
#pragma unroll
      for (int gate = 0; gate < kGates; ++gate)
        inputs.of[cell][gate] = gates[owner_.gate_offset(turn * T::kCells + cell, gate)];
    return inputs;
  }

  __device__ StartMark<Cell> starts_of_lane(int step, int turn) const {
    return starts_.of_lane(step, owner_.first_sequence + turn * T::kSequences, owner_.lane);
  }
  __device__ StartMark<Cell> next_starts_of(const Turn& of) const { return starts_of_lane(of.step + 1, of.turn); }

  // Called for each turn one after the other.
  __device__ Inputs read_rows(int index) {
    Inputs inputs;
    inputs.next_starts = next_starts_of(Turn::of<T>(index));
#pragma unroll
    for (int cell = 0; cell < T::kCells; ++cell) {
      const Value* row = table_rows_.row(cell, kGates * owner_.hidden_size) + owner_.unit_in_row();
#pragma unroll
      for (int gate = 0; gate < kGates; ++gate) inputs.of[cell][gate] = row[gate * owner_.hidden_size];
    }
    const Turn next = Turn::of<T>(index + 1);
    if (next.step < sequence_.num_steps) read_tokens(next);
    return inputs;
  }

  __device__ void read_tokens(const Turn& turn) {
#pragma unroll
    for (int cell = 0; cell < T::kCells; ++cell)
      table_rows_.read_token(cell, turn.step, owner_.sequence_of(turn.turn * T::kCells + cell));
  }

  // inputs: of this turn in, of the next turn out. has_next: whether there is another step.
  __device__ void run_turn(const Turn& now, Inputs& inputs, bool has_next) {
    const auto [index, step, turn] = now;
    if (step == 0)
      read_initial(turn);
    else
      receive(step, turn);
    Products::publish();
    barrier_of_warps(kFirstBarrier + owner_.warpgroup, kWarpsPerGroup);
    float* sums = sums_ + index % T::kProductBuffers * T::kWarpgroups * T::kSums;
    multiply(sums + owner_.warpgroup * T::kSums);
    __syncthreads();

    const Turn next = Turn::of<T>(index + 1);
    const bool is_last_turn = next.turn == 0;
    if (T::kTurns > 1 && next.step > 0 && (has_next || !is_last_turn)) ask_ahead(next.step, next.turn);
    float kept[T::kCells][kKeptRoom];
    float hidden[T::kCells];
    const StartBits<Cell> next_starts = start_bits<Cell>(inputs.next_starts, owner_.sequence);
#pragma unroll
    for (int cell = 0; cell < T::kCells; ++cell) hidden[cell] = activate(sums, turn, cell, inputs.of[cell], kept[cell]);
    if (has_next) hand_out(step + 1, turn, hidden, next_starts);
    if (!is_last_turn)
      inputs = read_inputs(next.index, next.turn, place_);
    else if (has_next)
      inputs = read_inputs(next.index, 0, place_ + rows_.stride);
    write(turn, kept, hidden, next_starts);
#pragma unroll
    for (int cell = 0; cell < T::kCells; ++cell)
      if (is_start(next_starts, cell * T::kStride)) carried_.of(cell) = 0.0f;
    if (has_next) empty(step + 3, turn);
    if constexpr (!Products::kAreAsynchronous) exchange_fence();
    if (is_last_turn) place_ += rows_.stride;
  }

  // The place of this thread's i-th vector among those of its warpgroup's half.
  __device__ static int vector_of(int i) { return static_cast<int>(threadIdx.x) % kThreadsOfHalf + i * kThreadsOfHalf; }

  // Vectors are in the order in which products read them: 16 units, tiles of 8 sequences, octets of units, sequences.
  __device__ void read_initial(int turn) {
#pragma unroll
    for (int i = 0; i < T::kVectorsOfThread; ++i) {
      const int vector = owner_.warpgroup * kVectorsOfHalf + vector_of(i);
      const int unit = (vector / (2 * T::kSequences) * 2 + vector / kOctet % 2) * kOctet;
      hidden_[vector_of(i)] =
          initial_octet(owner_.first_sequence + turn * T::kSequences + sequence_of_vector(vector), unit);
    }
    if constexpr (Cell::kHasStarts) clear_starting(turn);
  }

  __device__ static int sequence_of_vector(int vector) {
    return vector / (2 * kOctet) % T::kTiles * kSequencesPerTile + vector % kOctet;
  }

  // A test within read_initial would take 20 registers from the loop over steps.
  __device__ void clear_starting(int turn) {
    const StartBits<Cell> starts = start_bits<Cell>(starts_of_lane(0, turn), 0);
#pragma unroll 1
    for (int i = 0; i < T::kVectorsOfThread; ++i)
      if (is_start(starts, sequence_of_vector(owner_.warpgroup * kVectorsOfHalf + vector_of(i))))
        hidden_[vector_of(i)] = make_uint4(0, 0, 0, 0);
  }

  __device__ uint4 initial_octet(int sequence, int unit) const {
    if (sequence >= sequence_.batch_size || unit >= owner_.hidden_size) return make_uint4(0, 0, 0, 0);
    const Value* units = static_cast<const Value*>(work_.hidden) + rows_.first + rows_.before +
                         static_cast<int64_t>(sequence) * owner_.hidden_size + unit;
    const auto word = [&](int i) { return pack<Operand>(to_float(units[2 * i]), to_float(units[2 * i + 1])); };
    return make_uint4(word(0), word(1), word(2), word(3));
  }

  __device__ uint4* buffer_of(int step, int turn) const {
    return exchange_ + (turn * T::kHiddenBuffers + step % T::kHiddenBuffers) * T::kHiddenVectors;
  }

  // Returns the place in L2 of this thread's i-th vector of the hidden states that a turn reads.
  __device__ const uint4* place_of(int step, int turn, int i) const {
    return buffer_of(step, turn) + owner_.warpgroup * kVectorsOfHalf + vector_of(i);
  }

  // Writes the hidden states that a turn reads to shared memory. If groups take turns, ask_ahead was called for this
  // turn before.
  __device__ void receive(int step, int turn) {
    if constexpr (T::kTurns > 1) wait_for_copies();
#pragma unroll
    for (int first = 0; first < T::kVectorsOfThread; first += kAtOnce) {
      uint4 vectors[kAtOnce];
      const auto read = [&](int i) { return read_exchanged(place_of(step, turn, first + i)); };
      if constexpr (T::kTurns > 1) {
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) vectors[i] = hidden_[vector_of(first + i)];
        if (!wait_.complete(vectors, read, is_filled)) continue;
      } else {
        wait_.read_all(vectors, read, is_filled);
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) hidden_[vector_of(first + i)] = vectors[i];
    }
  }

  // Starts to copy the hidden states of a turn to shared memory, and does not wait for them. Called after all warps
  // have multiplied the vectors that were there.
  __device__ void ask_ahead(int step, int turn) const {
#pragma unroll
    for (int i = 0; i < T::kVectorsOfThread; ++i) copy_exchanged(hidden_ + vector_of(i), place_of(step, turn, i));
  }

  // Writes the product to `sums`: sequences, kSumStride apart, by rows. The fence orders the emptying of a buffer, a
  // step ago, before the handing out of the hidden states that make others read it. Here its time overlaps with an
  // asynchronous product. If products are not asynchronous, run_turn has the fence at the end of a turn, where its time
  // overlaps with the way of the others' hidden states.
  __device__ void multiply(float* sums) {
    constexpr int kVectorsAStep = 2 * T::kSequences;
    ProductSums<T::kTiles> of[T::kRowTiles];
    const typename Products::Matrix hidden(hidden_);
    Products::begin();
#pragma unroll
    for (int step = 0; step < T::kColumnSteps; ++step) {
      const auto vectors = hidden.at(step * kVectorsAStep);
#pragma unroll
      for (int tile = 0; tile < T::kRowTiles; ++tile)
        weights_.template multiply<Operand>(step * T::kRowTiles + tile, step == 0 ? Sums::kBegin : Sums::kContinue,
                                            of[tile], vectors);
    }
    Products::commit();
    if constexpr (Products::kAreAsynchronous) exchange_fence();
    Products::template wait<0>();
    if constexpr (T::kProductBuffers == 1) __syncthreads();  // all have read the sums of the turn before

    float* place =
        sums + owner_.lane % 4 * 2 * T::kSumStride + owner_.warp % kWarpsPerGroup * kTileRows + owner_.lane / 4;
#pragma unroll
    for (int tile = 0; tile < T::kRowTiles; ++tile)
#pragma unroll
      for (int i = 0; i < 4 * T::kTiles; ++i)
        place[(i / 4 * kSequencesPerTile + i % 2) * T::kSumStride + tile * kWarpgroupRows + i / 2 % 2 * 8] =
            of[tile][i];
  }

  // Returns the hidden state of a cell.
  __device__ float activate(const float* sums, int turn, int cell, const Value (&inputs)[kGates],
                            float (&kept)[kKeptRoom]) {
    const float* place = sums + (owner_.sequence + cell * T::kStride) * T::kSumStride + owner_.unit_of_block;
    float gates[kGates];
    float aside = 0.0f;
#pragma unroll
    for (int gate = 0; gate < kGates; ++gate) {
      const float recurrent = place[gate * T::kUnits] + place[T::kSums + gate * T::kUnits] + bias_[gate];
      const float input = owner_.has(turn * T::kCells + cell) ? to_float(inputs[gate]) : 0.0f;
      const bool is_aside = Cell::kHasTwoSides && gate == kGates - 1;
      gates[gate] = is_aside ? recurrent : recurrent + input;
      if (is_aside) aside = input + bias_aside_;
    }
    const float hidden =
        cell_.template forward<FunctionsOf<typename T::Numbers>>(gates, aside, vectors_, carried_.of(cell), kept);
    return Cell::kMaySpoilOthers && !owner_.has(turn * T::kCells + cell) ? 0.0f : hidden;
  }

  // Hands the hidden states that a step reads to all blocks: two units in a word, which every other thread writes.
  __device__ void hand_out(int step, int turn, const float (&hidden)[T::kCells], StartBits<Cell> starts) const {
#pragma unroll
    for (int cell = 0; cell < T::kCells; ++cell) {
      const float read = is_start(starts, cell * T::kStride) ? 0.0f : hidden[cell];
      const uint32_t word = pack<Operand>(read, __shfl_down_sync(~0u, read, 1));
      if (owner_.lane % 2 == 0) write_exchanged(word_in(buffer_of(step, turn), cell), word);
    }
  }

  // Empties the buffer of a later step. It has the hidden states of the previous step, which all blocks have read,
  // because they sent what this step read after that.
  __device__ void empty(int step, int turn) const {
#pragma unroll
    for (int cell = 0; cell < T::kCells; ++cell)
      if (owner_.lane % 2 == 0) write_exchanged(word_in(buffer_of(step, turn), cell), kNothing);
  }

  __device__ uint32_t* word_in(uint4* buffer, int cell) const {
    const int sequence = owner_.sequence + cell * T::kStride;
    const int vector = owner_.unit / 16 * 2 * T::kSequences + sequence / kSequencesPerTile * 2 * kOctet +
                       owner_.unit / kOctet % 2 * kOctet + sequence % kSequencesPerTile;
    return reinterpret_cast<uint32_t*>(buffer + vector) + owner_.unit % kOctet / 2;
  }

  __device__ void write(int turn, const float (&kept)[T::kCells][kKeptRoom], const float (&hidden)[T::kCells],
                        StartBits<Cell> next_starts) const {
    Value* gates_out = static_cast<Value*>(work_.gates) + owner_.gate_place(place_);
    Value* candidates_out = static_cast<Value*>(work_.candidates) + place_;
    float* cell_out = work_.cell + place_ + rows_.after;
#pragma unroll
    for (int i = 0; i < T::kCells; ++i) {
      const int cell = turn * T::kCells + i;
      if (!owner_.has(cell)) continue;
#pragma unroll
      for (int gate = 0; gate < smaller(kGates, Cell::kKept); ++gate)
        gates_out[owner_.gate_offset(cell, gate)] = from_float<Value>(kept[i][gate]);
      if constexpr (Cell::kKept > kGates) candidates_out[owner_.offset(cell)] = from_float<Value>(kept[i][kGates]);
      if constexpr (Cell::kHasCellState) cell_out[owner_.offset(cell)] = carried_.of(i);
      const int64_t after = place_ + rows_.after + owner_.offset(cell);
      write_hidden<typename T::Numbers>(work_, after, hidden[i]);
      write_read_hidden<T>(work_, after, is_start(next_starts, i * T::kStride) ? 0.0f : hidden[i]);
    }
  }

  const PersistentForward& work_;
  const PersistentSequence& sequence_;
  Cell cell_;
  GridOwner<T> owner_;
  PassRows rows_;
  int64_t place_;  // of this thread's unit and first cell, in the current step
  StartMarks<Cell, PersistentForward> starts_;
  std::conditional_t<kInputs == StepInputs::kRowsOfTable, TableRows<Value, T::kCells>, NoTableRows> table_rows_;
  uint4* exchange_;  // kHiddenBuffers of each turn of the group
  uint4* hidden_;    // the hidden states of this warpgroup's half of the units
  float* sums_;      // kProductBuffers of the sums of both warpgroups
  typename Products::template Weights<S> weights_;
  TimedWait wait_;
  float bias_[kGates];
  float bias_aside_ = 0.0f;
  UnitVectors<Cell> vectors_;
  CarriedCells<T, float> carried_;  // the cell states, or the hidden states of a cell that has none
};

template <class T, StepInputs kInputs = StepInputs::kProducts>
__global__ void __launch_bounds__(T::kThreads, 1)
    grid_forward_kernel(const __grid_constant__ PersistentForward work, int first_group) {
  extern __shared__ uint4 shared[];
  GridForwardBlock<T, kInputs>(work, first_group, shared).run();
}

}  // namespace rnnlab::kernels::persistent
