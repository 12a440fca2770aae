// Where in the tensors a thread reads and writes: its rows, and the columns of gates and of their gradients.
#pragma once

#include "recurrent/kernels/persistent/numbers.h"
#include "recurrent/kernels/persistent/passes.h"
#include "recurrent/kernels/persistent/tiles.h"

namespace rnnlab::kernels::persistent {

// Thread (row, column) of a warp has the states of one unit for sequences 2 * column and one more of every tile.
template <class T>
struct Owner {
  int block, warp, lane;
  int team, unit_warp;  // the warp, counted within the team
  int unit;             // of the layer
  int first_sequence;   // of the batch
  int num_sequences;    // from that one to the end of the batch; none for a unit beyond the layer's
  int size;

  __device__ explicit Owner(const PersistentSequence& sequence, int rank)
      : block(rank), size(static_cast<int>(sequence.hidden_size)) {
    warp = static_cast<int>(threadIdx.x) / kLanes;
    lane = static_cast<int>(threadIdx.x) % kLanes;
    team = T::kTeams == 1 ? 0 : warp / T::kUnitWarps;
    unit_warp = warp - team * T::kUnitWarps;
    unit = block * T::kUnits + unit_warp * kUnitsPerWarp + lane / 4;
    first_sequence = static_cast<int>(blockIdx.x) / T::kBlocks * T::kSequences + team * T::kTiles * kSequencesPerTile +
                     2 * (lane % 4);
    num_sequences = is_in_layer() ? static_cast<int>(sequence.batch_size) - first_sequence : 0;
  }
  // Of the layer, at most T's.
  __device__ int hidden_size() const { return T::kFit == Fit::kWhole ? T::kHiddenSize : size; }
  __device__ bool is_in_layer() const { return unit < hidden_size(); }
  __device__ bool has(int tile, int i) const { return tile * kSequencesPerTile + i < num_sequences; }

  // Of this unit, in a row (B, H): the place of its first sequence, and from there that of another one.
  __device__ int64_t place() const { return static_cast<int64_t>(first_sequence) * hidden_size() + unit; }
  __device__ int offset(int tile, int i) const { return (tile * kSequencesPerTile + i) * hidden_size(); }

  // The same in a row (B, columns * H), of gates or of their gradients.
  __device__ int64_t gate_place(int64_t place, int columns = T::kGates) const {
    return columns * place - (columns - 1) * unit;
  }
  __device__ int gate_offset(int tile, int i, int gate, int columns = T::kGates) const {
    return columns * offset(tile, i) + gate * hidden_size();
  }
};

// Where the gradients of gates are in a row of PersistentBackward::gate_gradients.
template <class Cell>
struct GradientColumns {
  static constexpr int kCount = Cell::kHasTwoSides ? Cell::kGates + 1 : Cell::kGates;
  static constexpr int kAside = kCount - 1;  // W x + b's last one, where it has one of its own

  __device__ static constexpr int of(int gate) { return Cell::kHasTwoSides ? (gate + 1) % Cell::kGates : gate; }
};

// Rows (B, H) of tensors with T of them, in the order of a pass; tensors of states have one more.
struct PassRows {
  int64_t row;     // elements of one
  int64_t first;   // where the first one of the pass begins
  int64_t stride;  // to the next one
  int64_t after;   // from there to the states after a step, and before it
  int64_t before;

  __device__ PassRows(const PersistentSequence& sequence, ReadingOrder order_of_pass)
      : row(sequence.batch_size * sequence.hidden_size) {
    const bool goes_up = order_of_pass == ReadingOrder::kForward;
    const bool reads_up = sequence.order == ReadingOrder::kForward;
    first = goes_up ? 0 : (sequence.num_steps - 1) * row;
    stride = goes_up ? row : -row;
    after = reads_up ? row : 0;
    before = reads_up ? 0 : row;
  }
};

// A hidden state, to its place in the tensors.
template <class Numbers>
__device__ void write_hidden(const PersistentForward& work, int64_t place, float hidden) {
  using Value = typename Numbers::Value;
  static_cast<Value*>(work.hidden)[place] = from_float<Value>(hidden);
  if constexpr (std::is_same_v<Numbers, Tf32>)
    if (work.half_hidden != nullptr) static_cast<Half*>(work.half_hidden)[place] = from_float<Half>(hidden);
}

// Of a gate's gradients on both sides the larger one: R h + b has the reset gate's part of what W x + b has.
template <class Cell>
__device__ float larger_side(int gate, float recurrent, float aside) {
  return fabsf(Cell::kHasTwoSides && gate == Cell::kGates - 1 ? aside : recurrent);
}

__device__ inline ReadingOrder opposite(ReadingOrder order) {
  return order == ReadingOrder::kForward ? ReadingOrder::kReverse : ReadingOrder::kForward;
}

}  // namespace rnnlab::kernels::persistent
