// SPDX-License-Identifier: Apache-2.0
// Holds the unit and the sequences of a thread of a cluster kernel, their places in the tensors, and the inputs of a
// step of the backward pass.
#pragma once

#include "layers/persistent/cluster/tiles.h"
#include "layers/persistent/shared/tensors.h"

namespace rnnlab::kernels::persistent {

// Thread (row, column) of a warp has the states of one unit, for sequences 2 * column and 2 * column + 1 of every tile.
template <class T>
struct Owner {
  int block, warp, lane;
  int team, unit_warp;  // unit_warp: the warp, counted within its team
  int unit;             // of the layer
  int first_of_team;    // the first sequence of the team, counted within the batch
  int first_sequence;   // this thread's, of the batch
  int num_sequences;    // from the first to the end of the batch; 0 if the unit is beyond the layer's
  int size;             // hidden size of the layer

  // thread: counted within the layer's threads of the block.
  __device__ Owner(const PersistentSequence& sequence, int rank, int thread)
      : block(rank), size(static_cast<int>(sequence.hidden_size)) {
    warp = thread / kLanes;
    lane = thread % kLanes;
    team = T::kTeams == 1 ? 0 : warp / T::kUnitWarps;
    unit_warp = warp - team * T::kUnitWarps;
    unit = block * T::kUnits + unit_warp * kUnitsPerWarp + lane / 4;
    first_of_team = static_cast<int>(blockIdx.x) / T::kBlocks * T::kSequences + team * T::kTiles * kSequencesPerTile;
    first_sequence = first_of_team + in_tile(0);
    num_sequences = is_in_layer() ? static_cast<int>(sequence.batch_size) - first_sequence : 0;
  }
  __device__ int thread() const { return warp * kLanes + lane; }
  // The layer's, which is at most that of T.
  __device__ int hidden_size() const { return T::kFit == Fit::kWhole ? T::kHiddenSize : size; }
  __device__ bool is_in_layer() const { return unit < hidden_size(); }
  __device__ int in_tile(int i) const { return 2 * (lane % 4) + i; }
  __device__ int sequence_of(int tile, int i) const { return first_sequence + tile * kSequencesPerTile + i; }
  __device__ bool has(int tile, int i) const { return tile * kSequencesPerTile + i < num_sequences; }

  // In a row (B, H): the place of this unit for its first sequence, and the distance from there to another sequence.
  __device__ int64_t place() const { return static_cast<int64_t>(first_sequence) * hidden_size() + unit; }
  __device__ int offset(int tile, int i) const { return (tile * kSequencesPerTile + i) * hidden_size(); }

  // The same in a row (B, columns * H) of gates or of their gradients.
  __device__ int64_t gate_place(int64_t place, int columns = T::kGates) const {
    return columns * place - (columns - 1) * unit;
  }
  __device__ int gate_offset(int tile, int i, int gate, int columns = T::kGates) const {
    return columns * offset(tile, i) + gate * hidden_size();
  }
};

// Holds the inputs of a step of the backward pass for a thread's unit, for two sequences of each tile. Numbers keep the
// type that they have in memory until they are used, because converting them would wait for them.
template <class T>
struct BackwardInputs {
  using Cell = typename T::Cell;
  using Value = typename T::Numbers::Value;
  using State = std::conditional_t<Cell::kHasCellState, float, Value>;

  Value kept[T::kTiles][2][Cell::kKept > 0 ? Cell::kKept : 1] = {};
  State state[T::kTiles][2] = {};
  Value output_gradient[T::kTiles][2] = {};
  float cell_gradient[T::kTiles][2] = {};
  StartMark<Cell> starts = {};  // of this lane

  // place: of the thread's unit and first sequence, in the row of the step.
  __device__ BackwardInputs(const PersistentBackward& work, const Owner<T>& owner, const PassRows& rows,
                            StartMark<Cell> starts_of_lane, int64_t place)
      : starts(starts_of_lane) {
    const Value* gates = static_cast<const Value*>(work.gates) + owner.gate_place(place);
    const Value* candidates = static_cast<const Value*>(work.candidates) + place;
    const Value* of_output = static_cast<const Value*>(work.output_gradient) + place;
    const float* of_cell = work.cell_gradient + place;
    const State* states = states_of(work) + place + (Cell::kReadsStateAfter ? rows.after : rows.before);
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        if (!owner.has(tile, i)) continue;
        const int offset = owner.offset(tile, i);
#pragma unroll
        for (int gate = 0; gate < smaller(T::kGates, Cell::kKept); ++gate)
          kept[tile][i][gate] = gates[owner.gate_offset(tile, i, gate)];
        if constexpr (Cell::kKept > T::kGates) kept[tile][i][T::kGates] = candidates[offset];
        state[tile][i] = states[offset];
        if (work.output_gradient != nullptr) output_gradient[tile][i] = of_output[offset];
        if constexpr (Cell::kHasCellState)
          if (work.cell_gradient != nullptr) cell_gradient[tile][i] = of_cell[offset];
      }
  }

  __device__ static const State* states_of(const PersistentBackward& work) {
    if constexpr (Cell::kHasCellState)
      return work.cell;
    else
      return static_cast<const Value*>(work.hidden);
  }
};

}  // namespace rnnlab::kernels::persistent
