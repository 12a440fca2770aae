// SPDX-License-Identifier: Apache-2.0
// The forward pass of a group of sequences by a cluster. In each step a warp begins to read the next step's inputs,
// waits until the hidden states of the previous step have arrived from all blocks, multiplies, activates, sends the
// hidden states of its 8 units to all blocks, and only then writes to memory.
#pragma once

#include "layers/persistent/cluster/narrow.h"
#include "layers/persistent/cluster/owner.h"
#include "layers/persistent/cluster/weights.h"
#include "layers/persistent/shared/cluster_exchange.h"

namespace rnnlab::kernels::persistent {

template <class T, StepInputs kInputs = StepInputs::kProducts>
class ForwardBlock {
 public:
  // hidden: two buffers of each team. weights: room for those fragments that are kept in shared memory.
  __device__ ForwardBlock(const PersistentForward& work, uint4* hidden, uint4* weights, int thread)
      : work_(work),
        sequence_(work.sequence),
        owner_(work.sequence, static_cast<int>(block_rank()), thread),
        rows_(work.sequence, work.sequence.order),
        place_(rows_.first + owner_.place()),
        starts_(work, work.sequence.order),
        table_rows_(work),
        input_weights_(work, owner_),
        hidden_(hidden),
        weights_(packed_weights(work.weights), weights, owner_.warp, owner_.lane) {}

  __device__ ForwardBlock(const PersistentForward& work, uint4* shared, uint64_t* barriers)
      : ForwardBlock(work, shared, shared + T::kForwardBufferBytes / 16, static_cast<int>(threadIdx.x)) {
#pragma unroll
    for (int team = 0; team < T::kTeams; ++team)
      received_[team] = ReceiveBarriers(barriers + 2 * team, T::kHiddenVectors * 16, num_steps() - 1, work.timed_out);
  }

  __device__ void run() {
    prepare();
    Inputs inputs = read_inputs(0, place_);
    cluster_barrier();
    for (int step = 0; step < num_steps(); ++step, place_ += rows_.stride) run_step(step, inputs);
    cluster_barrier();
  }

 protected:
  using S = typename T::ForwardSlice;
  using Cell = typename T::Cell;
  using Value = typename T::Numbers::Value;
  using Operand = typename T::Numbers::Operand;
  using Functions = FunctionsOf<typename T::Numbers>;
  static constexpr int kGates = T::kGates;
  static constexpr int kKeptRoom = Cell::kKept > 0 ? Cell::kKept : 1;

  // The products of a step's inputs, for both sequences of each tile.
  struct ReadProducts {
    Value of[T::kTiles][2][kGates];
  };
  static constexpr bool kIsNarrow = kInputs == StepInputs::kNarrow;
  using Inputs = std::conditional_t<kIsNarrow, NarrowInputs<T>, ReadProducts>;

  // Holds the results of a step.
  struct Results {
    float kept[T::kTiles][2][kKeptRoom];  // what the backward pass needs
    float hidden[T::kTiles][2];
  };

  __device__ int num_steps() const { return static_cast<int>(sequence_.num_steps); }

  // Returns the packed fragments of this warp.
  __device__ const uint4* packed_weights(const void* of_layer) const {
    return static_cast<const uint4*>(of_layer) + (owner_.block * T::kWarps + owner_.warp) * S::kFragments * kLanes;
  }

  // Called before a barrier of the cluster.
  __device__ void prepare() {
    later_starts_ = starts_of_lane(1);
    if constexpr (kInputs == StepInputs::kRowsOfTable) read_tokens(0);
    if (owner_.thread() == 0)
      for (int team = 0; team < T::kTeams; ++team) received_[team].prepare();
    read_bias();
    read_initial();
  }

  __device__ float bias(const void* of, int gate) const {
    return owner_.is_in_layer() && of != nullptr
               ? to_float(static_cast<const Value*>(of)[gate * owner_.hidden_size() + owner_.unit])
               : 0.0f;
  }

  // If the last gate has two sums, R h + b and W x + b, it has two biases.
  __device__ void read_bias() {
    for (int gate = 0; gate < kGates; ++gate) bias_[gate] = bias(work_.bias_ih, gate) + bias(work_.bias_hh, gate);
    if constexpr (Cell::kHasTwoSides) {
      bias_[kGates - 1] = bias(work_.bias_hh, kGates - 1);
      bias_aside_ = bias(work_.bias_ih, kGates - 1);
    }
    vectors_.template read<Value>(work_.vectors, owner_.hidden_size(), owner_.unit);
  }

  __device__ void read_initial() {
    const int64_t before = place_ + rows_.before;
    if constexpr (kIsNarrow)
      if (work_.begins_with_zeros) return write_zeros(before);
    for (int tile = 0; tile < T::kTiles; ++tile)
      for (int i = 0; i < 2; ++i) {
        carried_[tile][i] = 0.0f;
        if (!owner_.has(tile, i)) continue;
        const int64_t place = before + owner_.offset(tile, i);
        const bool starts = starts_.at(0, owner_.sequence_of(tile, i)) != 0;
        if (!starts) carried_[tile][i] = initial_state(place);
        write_read_hidden<T>(work_, place, starts ? 0.0f : initial_hidden(place));
      }
    const Value* hidden = static_cast<const Value*>(work_.hidden) + rows_.first + rows_.before;
    for (int i = owner_.thread(); i < T::kTeams * T::kHiddenVectors; i += T::kThreads)
      hidden_[i] = vector_of(hidden, i);
  }

  // Writes initial states of 0, so that the pass does not wait for a kernel that would.
  __device__ void write_zeros(int64_t before) {
    for (int tile = 0; tile < T::kTiles; ++tile)
      for (int i = 0; i < 2; ++i) {
        carried_[tile][i] = 0.0f;
        if (!owner_.has(tile, i)) continue;
        const int64_t place = before + owner_.offset(tile, i);
        static_cast<Value*>(work_.hidden)[place] = from_float<Value>(0.0f);
        write_read_hidden<T>(work_, place, 0.0f);
        if constexpr (Cell::kHasCellState) work_.cell[place] = 0.0f;
      }
    for (int i = owner_.thread(); i < T::kTeams * T::kHiddenVectors; i += T::kThreads)
      hidden_[i] = make_uint4(0, 0, 0, 0);
  }

  __device__ float initial_state(int64_t place) const {
    if constexpr (Cell::kHasCellState) return work_.cell[place];
    return initial_hidden(place);
  }

  __device__ float initial_hidden(int64_t place) const {
    return to_float(static_cast<const Value*>(work_.hidden)[place]);
  }

  // The vector `index` of the initial states: 8 units of one sequence, as a lane of the product takes them.
  __device__ uint4 vector_of(const Value* hidden, int index) const {
    const int lane = index % kLanes;
    const int unit = index / kLanes % T::kColumnSteps * kColumnsAtOnce + lane % 4 * 8;
    const int tile = index / (kLanes * T::kColumnSteps) % T::kTiles + index / T::kHiddenVectors * T::kTiles;
    const int part = T::kParts == 1 ? 0 : index % T::kHiddenVectors / (kLanes * T::kColumnSteps * T::kTiles);
    const int64_t sequence =
        static_cast<int>(blockIdx.x) / T::kBlocks * T::kSequences + tile * kSequencesPerTile + lane / 4;
    if (sequence >= sequence_.batch_size || unit >= owner_.hidden_size()) return make_uint4(0, 0, 0, 0);
    if (starts_.at(0, static_cast<int>(sequence)) != 0) return make_uint4(0, 0, 0, 0);
    const Value* units = hidden + sequence * owner_.hidden_size() + unit;
    const auto word = [&](int i) {
      return pack_part<Operand>(part, to_float(units[2 * i]), to_float(units[2 * i + 1]));
    };
    return make_uint4(word(0), word(1), word(2), word(3));
  }

  // place: of this thread's unit and first sequence, in the step.
  __device__ Inputs read_inputs(int step, int64_t place) {
    if constexpr (kInputs == StepInputs::kProducts)
      return read_products(place);
    else if constexpr (kInputs == StepInputs::kRowsOfTable)
      return read_rows(step);
    else
      return NarrowInputs<T>(work_, owner_, step);
  }

  __device__ Inputs read_products(int64_t place) const {
    const Value* gates = static_cast<const Value*>(work_.gates) + owner_.gate_place(place);
    Inputs inputs = {};
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile)
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int gate = 0; gate < kGates; ++gate)
          if (owner_.has(tile, i)) inputs.of[tile][i][gate] = gates[owner_.gate_offset(tile, i, gate)];
    return inputs;
  }

  // Called for each step in turn.
  __device__ Inputs read_rows(int step) {
    Inputs inputs = {};
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        if (!owner_.has(tile, i)) continue;
        const Value* row = table_rows_.row(2 * tile + i, kGates * owner_.hidden_size()) + owner_.unit;
#pragma unroll
        for (int gate = 0; gate < kGates; ++gate) inputs.of[tile][i][gate] = row[gate * owner_.hidden_size()];
      }
    if (step + 1 < num_steps()) read_tokens(step + 1);
    return inputs;
  }

  __device__ void read_tokens(int step) {
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile)
#pragma unroll
      for (int i = 0; i < 2; ++i)
        if (owner_.has(tile, i)) table_rows_.read_token(2 * tile + i, step, owner_.sequence_of(tile, i));
  }

  // inputs: of this step in, of the next step out.
  __device__ void run_step(int step, Inputs& inputs) {
    float sums[T::kGateTiles][T::kTiles][4] = {};  // see multiply_forward
    float aside[T::kTiles][2];
    begin(inputs, sums, aside);
    restart_and_look_ahead(step);
    if (step + 1 < num_steps()) inputs = read_inputs(step + 1, place_ + rows_.stride);
    weights_.read_ahead();
    if (step > 0) received_[0].wait(step);
    multiply_forward<T>(weights_, hidden_ + (step & 1) * T::kHiddenVectors + owner_.lane, sums);
    Results results;
    activate(step, received_[0], sums, aside, results);
    write(place_, results);
  }

  // Called for each step before its results are computed, and after those of the step before were written. The marks
  // are read two steps before they are used.
  __device__ void restart_and_look_ahead(int step) {
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile)
#pragma unroll
      for (int i = 0; i < 2; ++i)
        if (step > 0 && starts_next(tile, i)) carried_[tile][i] = 0.0f;
    next_starts_ = start_bits<Cell>(later_starts_, owner_.in_tile(0));
    later_starts_ = starts_of_lane(step + 2);
  }

  __device__ StartMark<Cell> starts_of_lane(int step) const {
    return starts_.of_lane(step, owner_.first_of_team, owner_.lane);
  }
  __device__ bool starts_next(int tile, int i) const { return is_start(next_starts_, tile * kSequencesPerTile + i); }

  // Computes the results of a step, and sends the hidden states that the next step reads.
  __device__ void activate(int step, const ReceiveBarriers& received, const float (&sums)[T::kGateTiles][T::kTiles][4],
                           const float (&aside)[T::kTiles][2], Results& results) {
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float gates[kGates];
#pragma unroll
        for (int gate = 0; gate < kGates; ++gate) gates[gate] = sums[gate / 2][tile][gate % 2 * 2 + i];
        results.hidden[tile][i] = cell_.template forward<Functions>(gates, aside[tile][i], vectors_, carried_[tile][i],
                                                                    results.kept[tile][i]);
        if (Cell::kMaySpoilOthers && !owner_.has(tile, i)) results.hidden[tile][i] = 0.0f;
      }
      const float read_next[2] = {starts_next(tile, 0) ? 0.0f : results.hidden[tile][0],
                                  starts_next(tile, 1) ? 0.0f : results.hidden[tile][1]};
      if (step + 1 < num_steps()) send_hidden(buffer_of(step + 1), received.barrier_of(step + 1), tile, read_next);
    }
  }

  // Sets the initial values of the sums of a step: the products of the inputs, except for the last gate of a cell with
  // two sides.
  __device__ void begin(const Inputs& inputs, float (&sums)[T::kGateTiles][T::kTiles][4],
                        float (&aside)[T::kTiles][2]) const {
    if constexpr (kIsNarrow) {
      float products[T::kTiles][2][kGates];
      input_weights_.multiply(inputs, products);
      begin_with(products, sums, aside);
    } else {
      begin_with(inputs.of, sums, aside);
    }
  }

  template <class Number>
  __device__ void begin_with(const Number (&products)[T::kTiles][2][kGates], float (&sums)[T::kGateTiles][T::kTiles][4],
                             float (&aside)[T::kTiles][2]) const {
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
#pragma unroll
        for (int gate = 0; gate < kGates; ++gate)
          sums[gate / 2][tile][gate % 2 * 2 + i] = to_float(products[tile][i][gate]) + bias_[gate];
        aside[tile][i] = 0.0f;
        if constexpr (!Cell::kHasTwoSides) continue;
        sums[(kGates - 1) / 2][tile][(kGates - 1) % 2 * 2 + i] = bias_[kGates - 1];
        aside[tile][i] = to_float(products[tile][i][kGates - 1]) + bias_aside_;
      }
  }

  // Returns the place of the team's hidden states that are read in a step.
  __device__ uint4* buffer_of(int step) const {
    return hidden_ + ((step & 1) * T::kTeams + owner_.team) * T::kHiddenVectors;
  }

  // buffer, barrier: those of the receivers. own: the hidden states of this thread's unit for two sequences. The four
  // lanes of a row gather the warp's 8 units of one sequence, and each of them sends to a quarter of the blocks.
  __device__ void send_hidden(const uint4* buffer, uint32_t barrier, int tile, const float (&own)[2]) {
    const int first = owner_.lane & ~3;
    const int warp = owner_.block * T::kUnitWarps + owner_.unit_warp;  // of the cluster
#pragma unroll
    for (int part = 0; part < T::kParts; ++part) {
      const uint32_t word = transposed(pack_part<Operand>(part, own[0], own[1]));
      const uint4 units = make_uint4(__shfl_sync(~0u, word, first), __shfl_sync(~0u, word, first + 1),
                                     __shfl_sync(~0u, word, first + 2), __shfl_sync(~0u, word, first + 3));
      const uint4* place =
          buffer + ((part * T::kTiles + tile) * T::kColumnSteps + warp / 4) * kLanes + first + warp % 4;
#pragma unroll
      for (int i = 0; i < (T::kBlocks + 3) / 4; ++i) {
        const uint32_t receiver = (owner_.lane & 3) + 4 * i;
        if (receiver < T::kBlocks)
          send(address_in(receiver, shared_address(place)), units, address_in(receiver, barrier));
      }
    }
  }

  __device__ void write(int64_t place, const Results& results) const {
    Value* gates_out = static_cast<Value*>(work_.gates) + owner_.gate_place(place);
    Value* candidates_out = static_cast<Value*>(work_.candidates) + place;
    float* cell_out = work_.cell + place + rows_.after;
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        if (!owner_.has(tile, i)) continue;
        const int offset = owner_.offset(tile, i);
#pragma unroll
        for (int gate = 0; gate < smaller(kGates, Cell::kKept); ++gate)
          gates_out[owner_.gate_offset(tile, i, gate)] = from_float<Value>(results.kept[tile][i][gate]);
        if constexpr (Cell::kKept > kGates) candidates_out[offset] = from_float<Value>(results.kept[tile][i][kGates]);
        if constexpr (Cell::kHasCellState) cell_out[offset] = carried_[tile][i];
        const int64_t after = place + rows_.after + offset;
        write_hidden<typename T::Numbers>(work_, after, results.hidden[tile][i]);
        write_read_hidden<T>(work_, after, starts_next(tile, i) ? 0.0f : results.hidden[tile][i]);
      }
  }

  const PersistentForward& work_;
  const PersistentSequence& sequence_;
  Cell cell_;
  Owner<T> owner_;
  PassRows rows_;
  int64_t place_;  // of this thread's unit and first sequence, in the current step
  StartMarks<Cell, PersistentForward> starts_;
  StartBits<Cell> next_starts_ = {};   // at the next step, from this thread's first sequence on
  StartMark<Cell> later_starts_ = {};  // of this lane, at the step after it
  std::conditional_t<kInputs == StepInputs::kRowsOfTable, TableRows<Value, 2 * T::kTiles>, NoTableRows> table_rows_;
  std::conditional_t<kIsNarrow, NarrowWeights<T>, NoInputWeights<T>> input_weights_;
  uint4* hidden_;  // two buffers of each team: parts by tiles of sequences by kColumnSteps by 32 lanes
  WeightSlice<S> weights_;
  ReceiveBarriers received_[T::kTeams];
  float bias_[kGates];
  float bias_aside_ = 0.0f;
  UnitVectors<Cell> vectors_;
  float carried_[T::kTiles][2];  // the cell state, or the hidden state of a cell that has none
};

template <class T, StepInputs kInputs = StepInputs::kProducts>
__global__ void __launch_bounds__(T::kThreads, 1) forward_kernel(const __grid_constant__ PersistentForward work) {
  extern __shared__ uint4 shared[];
  __shared__ alignas(8) uint64_t barriers[2];
  ForwardBlock<T, kInputs>(work, shared, barriers).run();
}

}  // namespace rnnlab::kernels::persistent
