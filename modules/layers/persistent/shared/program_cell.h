// SPDX-License-Identifier: Apache-2.0
// The point-wise part of a cell as its equations say, from the code of a step that print_step.h writes. A kernel asks
// every cell for the members of ProgramCell. Left out: products, and reading and writing of tensors. Such a program has
// one state that kernels carry from step to step, the hidden state or one inner state, and at most the last gate with
// its sides apart, of which R h + b is in `sums` and W x + b in `aside` (persistent_program.h says which programs have
// kernels). The classes of 16 bits approximate sigmoid and tanh alone.
#pragma once

#include "layers/kernels/program_step.h"
#include "layers/kernels/step_math.h"
#include "layers/kernels/thread_lanes.h"
#include "layers/persistent/shared/numbers.h"
#include "layers/persistent/shared/passes.h"
#include "layers/persistent/shared/sizes.h"
#include "layers/persistent/shared/tensors.h"

namespace rnnlab::kernels::persistent {

// The functions of the equations, with the sigmoid and the tanh of a class of numbers.
template <class Functions>
struct UnitLanes : ThreadLanes<float> {
  __device__ static float sigmoid(float x) { return Functions::sigmoid(x); }
  __device__ static float tanh(float x) { return Functions::tanh(x); }
};

// What a program's forward pass reads and writes (step_units.h) for one unit of one sequence.
template <class Cell, class Functions>
struct ForwardUnit {
  using Math = StepMath<UnitLanes<Functions>>;
  using Vector = float;

  __device__ float gate(int column, int, int) const { return sums[column]; }
  __device__ float input_side(int, int) const { return aside; }
  __device__ float hidden_side(int column, int) const { return sums[column]; }
  __device__ float state(int) const { return before; }
  __device__ float vector(int row) const { return vectors.of[row]; }
  __device__ void set_state(int state, float value) {
    if (state == 0) hidden = value;
    if (state + 1 == Cell::kProgramStates) after = value;
  }
  __device__ void keep(int index, float value) { kept[index] = value; }

  const float (&sums)[Cell::kGates];
  float aside, before;
  const UnitVectors<Cell>& vectors;
  float (&kept)[Cell::kKeptRoom];
  float after = 0.0f, hidden = 0.0f;
};

// The same of its backward pass. hidden: the gradient of the hidden state after the step; carried: that of the carried
// state, if it is an inner one.
template <class Cell, class Functions>
struct BackwardUnit {
  using Math = StepMath<UnitLanes<Functions>>;
  using Vector = float;

  __device__ float kept(int index) const { return kept_values[index]; }
  __device__ float state(int) const { return before; }
  __device__ float state_after(int) const { return after; }
  __device__ float vector(int row) const { return vectors.of[row]; }
  __device__ float gradient(int state, int) const { return state == 0 ? hidden : carried; }
  __device__ void set_input_side(int column, float value) {
    if (Cell::kHasTwoSides && column + 1 == Cell::kGates)
      aside = value;
    else
      gates[column] = value;
  }
  __device__ void set_hidden_side(int column, float value) { gates[column] = value; }
  __device__ void set_carry(int, float value) { carry = value; }
  __device__ void set_vector_gradient(int row, float value) { vector_gradients.of[row] = value; }

  const float (&kept_values)[Cell::kKeptRoom];
  float before, after, hidden, carried;
  const UnitVectors<Cell>& vectors;
  float (&gates)[Cell::kGates];
  float& aside;
  UnitVectors<Cell>& vector_gradients;
  float carry = 0.0f;
};

template <class Program, HiddenStatesRead kRead, bool kSpoils, bool kStarts>
struct ProgramCell {
  // kGates: products that a unit needs in a step. kKept: numbers that the forward pass keeps for the backward pass,
  // besides states. kStates: numbers of a unit that are carried from step to step. kVectors: learned numbers of a unit.
  static constexpr int kGates = static_cast<int>(Program::kColumns.input);
  static constexpr int kKept = static_cast<int>(Program::kColumns.kept);
  static constexpr int kKeptRoom = kKept > 0 ? kKept : 1;
  static constexpr int kStates = 1;
  static constexpr int kVectors = static_cast<int>(Program::kColumns.vectors);
  static constexpr int kProgramStates = static_cast<int>(Program::kColumns.inner) + 1;
  // These state whether the backward pass reads cell states instead of hidden states; whether W x + b and R h + b have
  // different gradients; whether the backward pass reads the state after a step instead of the state before it, or
  // carries the hidden state, so that it has both; and whether the units are divided into heads.
  static constexpr bool kHasCellState = kProgramStates > 1;
  static constexpr bool kHasTwoSides = Program::kHasSidesApart;
  static constexpr bool kReadsStateAfter = kRead == HiddenStatesRead::kAfter;
  static constexpr bool kCarriesHidden = kRead == HiddenStatesRead::kBoth;
  static constexpr bool kHasHeads = false;
  // Whether a unit that does not exist, whose sums are 0, may have other states and gradients than 0, which would
  // spoil products.
  static constexpr bool kMaySpoilOthers = kSpoils;
  static constexpr bool kHasStarts = kStarts;  // PersistentProgram::has_starts

  // The state of a unit that is carried from step to step: the inner state, or the hidden state of a cell that has
  // none.
  using State = float;

  // Returns the hidden state. sums: the gates before activation. state: carried from step to step. kept: out, what the
  // backward pass needs.
  template <class Functions>
  __device__ float forward(const float (&sums)[kGates], float aside, const UnitVectors<ProgramCell>& vectors,
                           float& state, float (&kept)[kKeptRoom]) const {
    ForwardUnit<ProgramCell, Functions> unit{sums, aside, state, vectors, kept};
    Program::forward(unit);
    state = unit.after;
    return unit.hidden;
  }

  // Holds the values that the backward pass carries from step to step.
  struct Carried {
    float after;     // the carried state after the current step, if the backward pass reads it beside the one before
    float gradient;  // of the carried state, from the steps after the current one
  };

  // From the last state and its gradient, and to the gradient of the initial state.
  __device__ static Carried carried_from(State last, State gradient) { return {last, gradient}; }
  __device__ static State initial_gradient(const Carried& carried) { return carried.gradient; }

  // state: before the step, or after it if kReadsStateAfter. starts: whether the step starts, so that it read zeros in
  // place of the state before it, which gets no gradient. hidden, cell: gradients of the hidden and the inner state as
  // results. gradients: out, of the sums. aside: out, of W x + b of the last gate, if that differs.
  template <class Functions>
  __device__ void backward(const float (&kept)[kKeptRoom], float state, bool starts, float hidden, float cell,
                           const UnitVectors<ProgramCell>& vectors, Carried& carried, float (&gradients)[kGates],
                           float& aside, UnitVectors<ProgramCell>& vector_gradients) const {
    const float before = starts && !kReadsStateAfter ? 0.0f : state;
    const float after = kReadsStateAfter ? state : carried.after;
    BackwardUnit<ProgramCell, Functions> unit{kept,    before,    after, hidden,          carried.gradient + cell,
                                              vectors, gradients, aside, vector_gradients};
    Program::backward(unit);
    carried = {state, starts ? 0.0f : unit.carry};
  }

  // The part of the gradient of the previous hidden state that is not a product.
  __device__ static float hidden_gradient_of(const Carried& carried) { return kHasCellState ? 0.0f : carried.gradient; }
};

}  // namespace rnnlab::kernels::persistent
