// SPDX-License-Identifier: Apache-2.0
// Back-propagation through time for a group of sequences by a cluster. In each step a block waits until all blocks have
// sent what they add to the gradients of this block's hidden states, adds that up, computes the gates' gradients, gives
// them to all its warps, multiplies, and sends each block the sums for that block's units.
#pragma once

#include "layers/persistent/cluster/owner.h"
#include "layers/persistent/cluster/weights.h"
#include "layers/persistent/shared/cluster_exchange.h"
#include "layers/persistent/shared/half_gradients.h"

namespace rnnlab::kernels::persistent {

// kWritesHalf: whether the gates' gradients are written as float16 with exponents.
template <class T, bool kWritesHalf>
class BackwardBlock {
 public:
  // sums, gates: two buffers of each team. weights: room for those fragments that are kept in shared memory. barrier:
  // of the layer's warps of a block.
  __device__ BackwardBlock(const PersistentBackward& work, uint4* sums, uint4* gates, uint4* weights, uint32_t* maxima,
                           int thread, int barrier)
      : work_(work),
        sequence_(work.sequence),
        owner_(work.sequence, static_cast<int>(block_rank()), thread),
        rows_(work.sequence, opposite(work.sequence.order)),
        place_(rows_.first + owner_.place()),
        starts_(work, opposite(work.sequence.order)),
        sums_(sums),
        gates_(gates),
        maxima_(maxima),
        barrier_(barrier),
        weights_(packed_weights(work.weights), weights, owner_.warp, owner_.lane),
        exponent_(work, owner_.lane) {}

  __device__ BackwardBlock(const PersistentBackward& work, uint4* shared, uint64_t* barriers, uint32_t* maxima)
      : BackwardBlock(work, shared, shared + 2 * T::kTeams * T::kSumVectors, shared + T::kBackwardBufferBytes / 16,
                      maxima, static_cast<int>(threadIdx.x), /*barrier=*/0) {
#pragma unroll
    for (int team = 0; team < T::kTeams; ++team)
      received_[team] = ReceiveBarriers(barriers + 2 * team, T::kSumVectors * 16, num_steps(), work.timed_out);
  }

  __device__ void run() {
    run_steps([this](int step, Inputs& inputs) { run_step(step, inputs); });
  }

 protected:
  using Inputs = BackwardInputs<T>;
  using S = typename T::BackwardSlice;
  using Cell = typename T::Cell;
  using Value = typename T::Numbers::Value;
  using Operand = typename T::Numbers::Operand;
  using Functions = FunctionsOf<typename T::Numbers>;
  static constexpr int kGates = T::kGates;
  static constexpr int kKeptRoom = Cell::kKept > 0 ? Cell::kKept : 1;

  // Gradients of the gates before activation: of R h + b, and of W x + b of the last gate if that differs.
  struct Gradients {
    float gates[T::kTiles][2][kGates];
    float aside[T::kTiles][2];
    UnitVectors<Cell> vectors[T::kTiles][2];

    __device__ float magnitude(int tile, int i, int gate) const {
      return larger_side<Cell>(gate, gates[tile][i][gate], aside[tile][i]);
    }

    __device__ void clear(int tile, int i) {
#pragma unroll
      for (float& gate : gates[tile][i]) gate = 0.0f;
      aside[tile][i] = 0.0f;
      vectors[tile][i].clear();
    }
  };

  __device__ int num_steps() const { return static_cast<int>(sequence_.num_steps); }

  // Returns the packed fragments of this warp.
  __device__ const uint4* packed_weights(const void* of_layer) const {
    return static_cast<const uint4*>(of_layer) + (owner_.block * T::kWarps + owner_.warp) * S::kFragments * kLanes;
  }

  // Called before a barrier of the cluster.
  __device__ void begin() {
    if (owner_.thread() == 0)
      for (int team = 0; team < T::kTeams; ++team) received_[team].prepare();
    vectors_.template read<Value>(work_.vectors, owner_.hidden_size(), owner_.unit);
    for (int tile = 0; tile < T::kTiles; ++tile)
      for (int i = 0; i < 2; ++i) {
        carried_[tile][i] = {};
        if constexpr (Cell::kHasCellState)
          if (owner_.has(tile, i)) carried_[tile][i] = last_cell(owner_.offset(tile, i));
        if constexpr (Cell::kCarriesHidden)
          if (owner_.has(tile, i)) carried_[tile][i].after = last_hidden(owner_.offset(tile, i));
      }
  }

  __device__ typename Cell::Carried last_cell(int offset) const {
    const float state = work_.cell[place_ + rows_.after + offset];
    return {state, work_.later_cell == nullptr ? 0.0f : work_.later_cell[owner_.place() + offset]};
  }

  __device__ float last_hidden(int offset) const {
    return to_float(static_cast<const Value*>(work_.hidden)[place_ + rows_.after + offset]);
  }

  // place: of the thread's unit and first sequence, in the step.
  __device__ Inputs read_inputs(int step, int64_t place) const {
    return Inputs(work_, owner_, rows_, starts_.of_lane(step, owner_.first_of_team, owner_.lane), place);
  }

  // Calls run_one(step, inputs) for each step, with the inputs of this step in and of the next step out.
  template <class RunOne>
  __device__ void run_steps(const RunOne& run_one) {
    begin();
    Inputs inputs = read_inputs(0, place_);
    cluster_barrier();
    for (int step = 0; step < num_steps(); ++step, place_ += rows_.stride) run_one(step, inputs);
    finish(received_[0]);
    cluster_barrier();
  }

  // Returns the factor by which sums of the shared gradients are multiplied. kSharesAside: see share().
  template <bool kSharesAside = false>
  __device__ float run_step(int step, Inputs& inputs) {
    weights_.read_ahead();
    Gradients gradients;
    differentiate(step, inputs, received_[0], gradients);
    const float scale = T::Numbers::kIsScaled ? common_scale(step, gradients) : 1.0f;
    share<kSharesAside>(step, gradients, scale);
    barrier_of_team();
    if (step + 1 < num_steps()) inputs = read_inputs(step + 1, place_ + rows_.stride);
    multiply_and_send(step, 0, 1.0f / scale);
    write(step, gradients);
    return 1.0f / scale;
  }

  // Multiplies this step's gates' gradients for the gradients of the hidden states before the step.
  __device__ void multiply_and_send(int step, int team, float unscale) {
    float sums[T::kRowTiles][T::kTiles][4] = {};
    multiply_backward<T>(weights_, gates_of(step, team), sums);
    send_sums(sums_ + buffer_of(step + 1, team), received_[team].barrier_of(step + 1), sums, unscale);
  }

  // Return the gates' gradients of a step that a lane reads, and where the sums that are read in a step begin.
  __device__ const uint4* gates_of(int step, int team) const {
    return gates_ + ((step & 1) * T::kTeams + team) * T::kGateVectors + owner_.lane;
  }
  __device__ static int buffer_of(int step, int team) { return ((step & 1) * T::kTeams + team) * T::kSumVectors; }

  __device__ void add_received(int step, ReceiveBarriers& received, float (&hidden)[T::kTiles][2]) {
    received.wait(step, owner_.unit_warp == 0 && owner_.lane == 0);
    add_sums(sums_, step, hidden);
  }

  // Adds what all blocks have sent for this thread's unit.
  __device__ void add_sums(const uint4* buffers, int step, float (&hidden)[T::kTiles][2]) const {
    const uint4* place =
        buffers + buffer_of(step, owner_.team) + owner_.unit_warp / 2 * T::kTiles * kLanes + owner_.lane;
#pragma unroll
    for (int block = 0; block < T::kBlocks; ++block)
#pragma unroll
      for (int tile = 0; tile < T::kTiles; ++tile) {
        const uint4* vector = place + (block * T::kUnitTiles * T::kTiles + tile) * kLanes;
        const float2 part = reinterpret_cast<const float2*>(vector)[owner_.unit_warp & 1];
        hidden[tile][0] += part.x;
        hidden[tile][1] += part.y;
      }
  }

  __device__ void add_later(float (&hidden)[T::kTiles][2]) const {
    const Value* later = static_cast<const Value*>(work_.later_hidden) + owner_.place();
    for (int tile = 0; tile < T::kTiles; ++tile)
      for (int i = 0; i < 2; ++i)
        if (owner_.has(tile, i)) hidden[tile][i] += to_float(later[owner_.offset(tile, i)]);
  }

  __device__ void differentiate(int step, const Inputs& inputs, ReceiveBarriers& received, Gradients& gradients) {
    float hidden[T::kTiles][2];  // gradients of the hidden states after this step
    begin_hidden(inputs, hidden);
    if (step > 0)
      add_received(step, received, hidden);
    else if (work_.later_hidden != nullptr)
      add_later(hidden);
    differentiate(inputs, hidden, gradients);
  }

  // hidden: out, what does not come from other blocks.
  __device__ void begin_hidden(const Inputs& inputs, float (&hidden)[T::kTiles][2]) const {
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile)
#pragma unroll
      for (int i = 0; i < 2; ++i)
        hidden[tile][i] = to_float(inputs.output_gradient[tile][i]) + Cell::hidden_gradient_of(carried_[tile][i]);
  }

  // hidden: the gradients of the hidden states after this step.
  __device__ void differentiate(const Inputs& inputs, const float (&hidden)[T::kTiles][2], Gradients& gradients) {
    starts_now_ = start_bits<Cell>(inputs.starts, owner_.in_tile(0));
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float kept[kKeptRoom];
#pragma unroll
        for (int j = 0; j < Cell::kKept; ++j) kept[j] = to_float(inputs.kept[tile][i][j]);
        cell_.template backward<Functions>(kept, to_float(inputs.state[tile][i]), starts(tile, i), hidden[tile][i],
                                           inputs.cell_gradient[tile][i], vectors_, carried_[tile][i],
                                           gradients.gates[tile][i], gradients.aside[tile][i],
                                           gradients.vectors[tile][i]);
        if (Cell::kMaySpoilOthers && !owner_.has(tile, i)) gradients.clear(tile, i);
        bias_sums_.add(gradients.gates[tile][i], gradients.aside[tile][i], gradients.vectors[tile][i]);
      }
  }

  __device__ bool starts(int tile, int i) const { return is_start(starts_now_, tile * kSequencesPerTile + i); }

  // The power of two that brings the largest gradient of the block, or of the team, in this step near the top of
  // float16's range.
  __device__ float common_scale(int step, const Gradients& gradients) {
    float largest = 0.0f;
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile)
#pragma unroll
      for (int gate = 0; gate < kGates; ++gate)
        largest = fmaxf(largest, fmaxf(gradients.magnitude(tile, 0, gate), gradients.magnitude(tile, 1, gate)));
    uint32_t* maxima = maxima_ + ((step & 1) * T::kTeams + owner_.team) * T::kUnitWarps;
    const uint32_t of_warp = __reduce_max_sync(~0u, __float_as_uint(largest));
    if (owner_.lane == 0) maxima[owner_.unit_warp] = of_warp;
    barrier_of_team();
    uint32_t of_block = maxima[0];
#pragma unroll
    for (int warp = 1; warp < T::kUnitWarps; ++warp) of_block = max(of_block, maxima[warp]);
    largest_ = max(largest_, of_block);
    return scale_for_half(of_block);
  }

  __device__ void barrier_of_team() const {
    barrier_of_warps(T::kTeams == 1 ? barrier_ : kFirstBarrier + owner_.team, T::kUnitWarps);
  }

  // Writes the warp's gradients to shared memory as a lane of the product takes them: two units of one sequence, a word
  // for each gate, and one for the last gate of W x + b if that is requested. A start shares zeros, so
  // that no gradient reaches the steps before it.
  template <bool kSharesAside = false>
  __device__ void share(int step, const Gradients& gradients, float scale) {
#pragma unroll
    for (int part = 0; part < T::kParts; ++part)
#pragma unroll
      for (int tile = 0; tile < T::kTiles; ++tile) {
        const auto& [first, second] = gradients.gates[tile];
        const float of_first = starts(tile, 0) ? 0.0f : scale, of_second = starts(tile, 1) ? 0.0f : scale;
        uint32_t words[4] = {};
#pragma unroll
        for (int gate = 0; gate < kGates; ++gate)
          words[gate] = transposed(pack_part<Operand>(part, first[gate] * of_first, second[gate] * of_second));
        if constexpr (kSharesAside) {
          const auto& [first_aside, second_aside] = gradients.aside[tile];
          words[kGates] = transposed(pack_part<Operand>(part, first_aside * scale, second_aside * scale));
        }
        const int place = ((part * T::kTiles + tile) * T::kUnitWarps + owner_.unit_warp) * kLanes + owner_.lane;
        gates_[((step & 1) * T::kTeams + owner_.team) * T::kGateVectors + place] =
            make_uint4(words[0], words[1], words[2], words[3]);
      }
  }

  __device__ void write(int step, const Gradients& gradients) {
    if constexpr (kWritesHalf) {
      exponent_.adapt(step, largest_, fill_exponents());
      write_as<Half>(gradients, exponent_.scale());
    } else {
      write_as<Value>(gradients, 1.0f);
    }
  }

  // Writes the exponents of the team's steps.
  __device__ auto fill_exponents() const {
    return [this](int first, int end, int8_t exponent) {
      const auto place_of = [this](int step) -> TurnPlace {
        return {step, owner_.first_of_team, owner_.block * T::kUnits};
      };
      write_exponents<T::kTiles * kSequencesPerTile, T::kUnits>(
          work_, first, end, exponent, owner_.unit_warp * kLanes + owner_.lane, T::kUnitWarps * kLanes, place_of);
    };
  }

  // Writes the gradients times `scale`. Written: their type in memory.
  template <class Written>
  __device__ void write_as(const Gradients& gradients, float scale) const {
    using Columns = GradientColumns<Cell>;
    Written* out = static_cast<Written*>(work_.gate_gradients) + owner_.gate_place(place_, Columns::kCount);
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        if (!owner_.has(tile, i)) continue;
        const auto write_column = [&](int column, float gradient) {
          out[owner_.gate_offset(tile, i, column, Columns::kCount)] = from_float<Written>(gradient * scale);
        };
#pragma unroll
        for (int gate = 0; gate < kGates; ++gate) write_column(Columns::of(gate), gradients.gates[tile][i][gate]);
        if constexpr (Cell::kHasTwoSides) write_column(Columns::kAside, gradients.aside[tile][i]);
      }
  }

  // buffer, barrier: in this block's shared memory; the sums go to the same places in the receivers' memory.
  __device__ void send_sums(const uint4* buffer, uint32_t barrier, const float (&sums)[T::kRowTiles][T::kTiles][4],
                            float unscale) {
    const uint32_t own_buffer = shared_address(buffer + owner_.lane);
#pragma unroll
    for (int row = 0; row < T::kRowTiles; ++row) {
      const int unit_tile = T::unit_tile(owner_.block, owner_.warp, row);
      const uint32_t receiver = unit_tile / T::kUnitTiles;
      const int place = (owner_.block * T::kUnitTiles + unit_tile % T::kUnitTiles) * T::kTiles * kLanes;
      const uint32_t address = address_in(receiver, own_buffer + place * 16);
      const uint32_t counting = address_in(receiver, barrier);
#pragma unroll
      for (int tile = 0; tile < T::kTiles; ++tile) {
        const float* of = sums[row][tile];
        send(address + tile * kLanes * 16,
             make_uint4(__float_as_uint(of[0] * unscale), __float_as_uint(of[1] * unscale),
                        __float_as_uint(of[2] * unscale), __float_as_uint(of[3] * unscale)),
             counting);
      }
    }
  }

  // Writes the results that are complete after the last step.
  __device__ void finish(ReceiveBarriers& received) {
    write_initial(received);
    if (work_.bias_sums != nullptr) write_bias_sums();
    const bool reports = owner_.unit_warp == 0 && owner_.lane == 0;
    if (work_.largest != nullptr && reports) atomicMax(work_.largest, static_cast<int32_t>(largest_));
    if constexpr (kWritesHalf) exponent_.finish(work_, num_steps(), largest_, reports, fill_exponents());
  }

  // The four threads of a unit have all sequences of a group.
  __device__ void write_bias_sums() const {
    const SumPlace place = {.is_first = owner_.lane % 4 == 0,
                            .unit = owner_.unit,
                            .hidden_size = owner_.hidden_size(),
                            .first_row = owner_.first_sequence / kSequencesOfSums,
                            .num_sequences = owner_.num_sequences};
    const auto of_all_sequences = [](float sum) {
      sum += __shfl_xor_sync(~0u, sum, 1);
      return sum + __shfl_xor_sync(~0u, sum, 2);
    };
    bias_sums_.write(place, T::kTiles * kSequencesPerTile / kSequencesOfSums, of_all_sequences, work_.bias_sums);
  }

  __device__ void write_initial(ReceiveBarriers& received) {
    float hidden[T::kTiles][2] = {};
    add_received(num_steps(), received, hidden);
    Value* initial_hidden = static_cast<Value*>(work_.initial_hidden) + owner_.place();
    float* initial_cell = work_.initial_cell + owner_.place();
    for (int tile = 0; tile < T::kTiles; ++tile)
      for (int i = 0; i < 2; ++i) {
        if (!owner_.has(tile, i)) continue;
        const int offset = owner_.offset(tile, i);
        initial_hidden[offset] = from_float<Value>(hidden[tile][i] + Cell::hidden_gradient_of(carried_[tile][i]));
        if constexpr (Cell::kHasCellState) initial_cell[offset] = carried_[tile][i].gradient;
      }
  }

  const PersistentBackward& work_;
  const PersistentSequence& sequence_;
  Cell cell_;
  Owner<T> owner_;
  PassRows rows_;
  int64_t place_;  // of this thread's unit and first sequence, in the current step
  StartMarks<Cell, PersistentBackward> starts_;
  StartBits<Cell> starts_now_ = {};  // at the current step, from this thread's first sequence on
  uint4* sums_;   // two buffers of each team: sending blocks by tiles of 16 units by tiles of sequences by 32 lanes
  uint4* gates_;  // two buffers of each team: parts by tiles of sequences by warps by 32 lanes
  uint32_t* maxima_;
  int barrier_;
  WeightSlice<S> weights_;
  ReceiveBarriers received_[T::kTeams];
  typename Cell::Carried carried_[T::kTiles][2];
  BiasSums<T> bias_sums_;
  UnitVectors<Cell> vectors_;
  uint32_t largest_ = 0;  // the bits of the largest gradient of a gate that the block, or the team, has had
  std::conditional_t<kWritesHalf, HalfExponent, NoHalfExponent> exponent_;
};

template <class T, bool kWritesHalf = false>
__global__ void __launch_bounds__(T::kThreads, 1) backward_kernel(const __grid_constant__ PersistentBackward work) {
  extern __shared__ uint4 shared[];
  __shared__ alignas(8) uint64_t barriers[2];
  __shared__ uint32_t maxima[2 * T::kWarps];
  BackwardBlock<T, kWritesHalf>(work, shared, barriers, maxima).run();
}

}  // namespace rnnlab::kernels::persistent
