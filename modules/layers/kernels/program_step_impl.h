// SPDX-License-Identifier: Apache-2.0
// Runs the steps of program_step.h on a CPU, for any kind of vector: compiled programs vector by vector, and others by
// an interpreter, tile by tile, so that the cost of reading an instruction is small. step_math.h and step_units.h say
// what Lanes has; kWidth is the number of numbers in a vector. The sources that include this header are compiled for
// different processors, so everything here has internal linkage.
#pragma once

#include "layers/kernels/program_step.h"
#include "layers/kernels/simd_steps.h"
#include "layers/kernels/step_units.h"

namespace rnnlab::kernels {
namespace {

// The programs that print_step.h has written: with_compiled_program().
#include "layers/kernels/compiled_programs.inc"

template <class Lanes, class T, class Acc>
class TileRun {
  using Units = StepUnits<Lanes, T, Acc, Sums, /*kWhole=*/false>;
  using Math = typename Units::Math;
  using Vector = typename Lanes::Vector;
  static constexpr int64_t kWidth = Lanes::kWidth, kVectors = kTileWidth / kWidth;

 public:
  TileRun(const ProgramStep& work, const Sums& sums) : work_(work), sums_(sums) {}

  void run(int64_t row, int64_t first_unit, int64_t num_units) {
    row_ = row;
    unit_ = first_unit;
    num_units_ = num_units;
    num_vectors_ = (num_units + kWidth - 1) / kWidth;
    for (int64_t i = 0; i < work_.num_instructions; ++i) execute(work_.instructions[i]);
  }

 private:
  Units units(int64_t vector) const {
    const int64_t left = num_units_ - vector * kWidth;
    return {work_, work_.columns, sums_, row_, unit_ + vector * kWidth, left < kWidth ? left : kWidth};
  }

  // Calls value(i) for each vector of the target's tile.
  template <class Value>
  void fill(const TileInstruction& to, const Value& value) {
    Vector* target = tiles_[to.target];
    for (int64_t i = 0; i < num_vectors_; ++i) target[i] = value(i);
  }
  template <class Value>
  void load(const TileInstruction& to, const Value& value) {
    fill(to, [&](int64_t i) { return value(units(i)); });
  }
  template <class Store>
  void store(const TileInstruction& from, const Store& store_vector) {
    for (int64_t i = 0; i < num_vectors_; ++i) {
      Units target = units(i);
      store_vector(target, tiles_[from.a][i]);
    }
  }

  void execute(const TileInstruction& at) {
    using enum TileAction;
    switch (at.action) {
      case kCompute:
        return compute(at);
      case kLoadStateAfter:
        return load(at, [&](const Units& units) { return units.state_after(at.index); });
      case kLoadKept:
        return load(at, [&](const Units& units) { return units.kept(at.index); });
      case kStoreState:
        return store(at, [&](Units& units, const Vector& value) { units.set_state(at.index, value); });
      case kStoreKept:
        return store(at, [&](Units& units, const Vector& value) { units.keep(at.index, value); });
      case kStoreInputSide:
        return store(at, [&](Units& units, const Vector& value) { units.set_input_side(at.index, value); });
      case kStoreHiddenSide:
        return store(at, [&](Units& units, const Vector& value) { units.set_hidden_side(at.index, value); });
      case kStoreCarry:
        return store(at, [&](Units& units, const Vector& value) { units.set_carry(at.index, value); });
      case kStoreVectorGradient:
        return store(at, [&](Units& units, const Vector& value) { units.set_vector_gradient(at.index, value); });
      case kStoreOperand:
        return store(at, [&](Units& units, const Vector& value) { units.set_operand(at.index, value); });
    }
  }

  // A switch over all operations, with a line or two for each.
  void compute(const TileInstruction& at) {  // NOLINT(readability-function-size)
    using enum Operation;
    const Vector *a = tiles_[at.a], *b = tiles_[at.b], *c = tiles_[at.c];
    switch (at.operation) {
      case kNumber:
        return fill(at, [&](int64_t) { return Math::number(at.number); });
      case kGate:
        return load(at, [&](const Units& units) { return units.gate(at.index, at.a, at.b); });
      case kInputSide:
        return load(at, [&](const Units& units) { return units.input_side(at.index, at.b); });
      case kHiddenSide:
        return load(at, [&](const Units& units) { return units.hidden_side(at.a, at.b); });
      case kState:
        return load(at, [&](const Units& units) { return units.state(at.index); });
      case kStateGradient:
        return load(at, [&](const Units& units) { return units.gradient(at.index, at.a); });
      case kVector:
        return load(at, [&](const Units& units) { return units.vector(at.index); });
      case kProductGradient:
        return load(at, [&](const Units& units) { return units.product_gradient(at.index); });
      case kHiddenProduct:
        return;  // an instruction reads it as a kHiddenSide
      case kNegate:
        return fill(at, [&](int64_t i) { return Math::negate(a[i]); });
      case kSigmoid:
        return fill(at, [&](int64_t i) { return Math::sigmoid(a[i]); });
      case kTanh:
        return fill(at, [&](int64_t i) { return Math::tanh(a[i]); });
      case kRelu:
        return fill(at, [&](int64_t i) { return Math::relu(a[i]); });
      case kExp:
        return fill(at, [&](int64_t i) { return Math::exp(a[i]); });
      case kLog:
        return fill(at, [&](int64_t i) { return Math::log(a[i]); });
      case kSoftplus:
        return fill(at, [&](int64_t i) { return Math::softplus(a[i]); });
      case kLogSigmoid:
        return fill(at, [&](int64_t i) { return Math::log_sigmoid(a[i]); });
      case kAbs:
        return fill(at, [&](int64_t i) { return Math::abs(a[i]); });
      case kSignOf:
        return fill(at, [&](int64_t i) { return Math::sign(a[i]); });
      case kConstant:
        return fill(at, [&](int64_t i) { return Math::constant(a[i]); });
      case kAdd:
        return fill(at, [&](int64_t i) { return a[i] + b[i]; });
      case kSubtract:
        return fill(at, [&](int64_t i) { return a[i] - b[i]; });
      case kMultiply:
        return fill(at, [&](int64_t i) { return a[i] * b[i]; });
      case kDivide:
        return fill(at, [&](int64_t i) { return a[i] / b[i]; });
      case kMin:
        return fill(at, [&](int64_t i) { return Math::min(a[i], b[i]); });
      case kMax:
        return fill(at, [&](int64_t i) { return Math::max(a[i], b[i]); });
      case kLess:
        return fill(at, [&](int64_t i) { return Math::truth(a[i] < b[i]); });
      case kLessOrEqual:
        return fill(at, [&](int64_t i) { return Math::truth(a[i] <= b[i]); });
      case kEqual:
        return fill(at, [&](int64_t i) { return Math::truth(a[i] == b[i]); });
      case kWhere:
        return fill(at, [&](int64_t i) { return Math::where(a[i], b[i], c[i]); });
    }
  }

  const ProgramStep& work_;
  const Sums& sums_;
  int64_t row_ = 0, unit_ = 0, num_units_ = 0, num_vectors_ = 0;
  Vector tiles_[kMostTiles][kVectors];
};

template <class Lanes, class T, class Acc>
void interpret(const ProgramStep& work, const Sums& sums, const Part& part) {
  TileRun<Lanes, T, Acc> tile(work, sums);
  for (int64_t row = part.rows.first; row < part.rows.last; ++row)
    for (int64_t unit = part.units.first; unit < part.units.last; unit += kTileWidth)
      tile.run(row, unit, part.units.last - unit < kTileWidth ? part.units.last - unit : kTileWidth);
}

// Flattened, so that nothing of the units is in memory: a plain cell has few operations beside it.
template <class Program, StepPass kPass, class Lanes, class T, class Acc>
__attribute__((flatten)) void run_compiled(const ProgramStep& work, const Sums& sums, const Part& part) {
  constexpr int64_t kWidth = Lanes::kWidth;
  for (int64_t row = part.rows.first; row < part.rows.last; ++row) {
    int64_t unit = part.units.first;
    for (; unit + kWidth <= part.units.last; unit += kWidth)
      run_pass<Program, kPass>(StepUnits<Lanes, T, Acc, Sums, true>(work, Program::kColumns, sums, row, unit, kWidth));
    if (unit < part.units.last)
      run_pass<Program, kPass>(
          StepUnits<Lanes, T, Acc, Sums, false>(work, Program::kColumns, sums, row, unit, part.units.last - unit));
  }
}

template <class Lanes, class T, class Acc>
void run_program_part(const ProgramStep& work, const Sums& sums, const Part& part) {
  if (work.program == kInterpreted) return interpret<Lanes, T, Acc>(work, sums, part);
  with_compiled_program(work.program, [&](auto program) {
    using Program = decltype(program);
    with_pass<Program>(
        work.pass, [&](auto pass) { run_compiled<Program, decltype(pass)::kValue, Lanes, T, Acc>(work, sums, part); });
  });
}

}  // namespace
}  // namespace rnnlab::kernels
