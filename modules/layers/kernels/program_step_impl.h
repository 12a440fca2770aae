// SPDX-License-Identifier: Apache-2.0
// The interpreter of program_step.h, for any kind of vector. Lanes has the types and functions of one instruction set:
//
//   using Vector = ...; static constexpr int64_t kWidth;      // numbers of a vector
//   template <class T> static Vector read(const void* data, int64_t index, int64_t count);
//   template <class T> static void write(void* data, int64_t index, const Vector& value, int64_t count);
//   static Vector number(double), sigmoid(v), tanh(v), exp(v), log(v), log1p(v), select(condition, p, q) ...
//
// Acc is the type of sums and inner states. The sources that include this header are compiled for different processors,
// so everything here has internal linkage.
#pragma once

#include "layers/kernels/program_step.h"
#include "layers/kernels/simd_steps.h"

namespace rnnlab::kernels {
namespace {

template <class Lanes, class T, class Acc>
class TileRun {
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
  int64_t size() const { return work_.step.hidden_size; }
  int64_t count(int64_t vector) const {
    const int64_t left = num_units_ - vector * kWidth;
    return left < kWidth ? left : kWidth;
  }

  template <class Value>
  void fill(const TileInstruction& to, const Value& value) {
    Vector* target = tiles_[to.target];
    for (int64_t i = 0; i < num_vectors_; ++i) target[i] = value(i);
  }

  // Loads (B, columns * H) at a column, in the type of the data.
  template <class Type>
  Vector load(const void* data, int64_t columns, int64_t column, int64_t vector) const {
    return Lanes::template read<Type>(data, (row_ * columns + column) * size() + unit_ + vector * kWidth,
                                      count(vector));
  }
  template <class Type>
  void store(void* data, int64_t columns, const TileInstruction& from) {
    for (int64_t i = 0; i < num_vectors_; ++i)
      Lanes::template write<Type>(data, (row_ * columns + from.index) * size() + unit_ + i * kWidth, tiles_[from.a][i],
                                  count(i));
  }

  Vector bias(const void* data, int64_t gate, int64_t vector) const {
    return Lanes::template read<T>(data, gate * size() + unit_ + vector * kWidth, count(vector));
  }
  Vector sum(int64_t place, int64_t vector) const {
    const int64_t row = (row_ - sums_.first_row) * sums_.row_stride;
    return Lanes::template read<float>(
        sums_.data, row + place * sums_.gate_stride + unit_ - sums_.first_unit + vector * kWidth, count(vector));
  }

  Vector gate(int64_t gate, int64_t vector) const {
    const Vector biases = bias(work_.products.bias_ih, gate, vector) + bias(work_.products.bias_hh, gate, vector);
    if (sums_.data != nullptr) return sum(gate, vector) + biases;
    return load<T>(work_.products.input, work_.num_gates, gate, vector) +
           load<T>(work_.products.recurrent, work_.num_gates, gate, vector) + biases;
  }
  Vector input_side(int64_t gate, int64_t vector) const {
    const Vector product =
        sums_.data != nullptr ? sum(gate, vector) : load<T>(work_.products.input, work_.num_gates, gate, vector);
    return product + bias(work_.products.bias_ih, gate, vector);
  }
  Vector hidden_side(int64_t gate, int64_t place, int64_t vector) const {
    const Vector product =
        sums_.data != nullptr ? sum(place, vector) : load<T>(work_.products.recurrent, work_.num_gates, gate, vector);
    return product + bias(work_.products.bias_hh, gate, vector);
  }

  Vector state(const void* hidden, const void* inner, int64_t index, int64_t vector) const {
    if (index == 0) return load<T>(hidden, 1, 0, vector);
    return load<Acc>(inner, work_.num_inner, index - 1, vector);
  }

  Vector gradient(int64_t index, int64_t vector) const {
    Vector sum_of_all = load<Acc>(work_.carry, work_.num_inner + 1, index, vector);
    if (index > 0) {
      if (work_.inner_gradient != nullptr)
        sum_of_all += load<Acc>(work_.inner_gradient, work_.num_inner, index - 1, vector);
      return sum_of_all;
    }
    const HiddenGradient& hidden = work_.hidden_gradient;
    if (hidden.from_output != nullptr) sum_of_all += load<T>(hidden.from_output, 1, 0, vector);
    if (hidden.from_next_step != nullptr) sum_of_all += load<T>(hidden.from_next_step, 1, 0, vector);
    if (sums_.data != nullptr) sum_of_all += sum(0, vector);
    return sum_of_all;
  }

  void execute(const TileInstruction& at) {
    using enum TileAction;
    switch (at.action) {
      case kCompute:
        return compute(at);
      case kLoadStateAfter:
        return fill(at, [&](int64_t i) { return state(work_.hidden_after, work_.inner_after, at.index, i); });
      case kLoadKept:
        return fill(at, [&](int64_t i) { return load<T>(work_.kept, work_.num_kept, at.index, i); });
      case kStoreState:
        if (at.index == 0) return store<T>(work_.hidden_after, 1, at);
        return store_inner(at);
      case kStoreKept:
        return store<T>(work_.kept, work_.num_kept, at);
      case kStoreInputSide:
        return store<T>(work_.input_side, work_.num_gates, at);
      case kStoreHiddenSide:
        return store<T>(work_.hidden_side, work_.num_gates, at);
      case kStoreCarry:
        return store<Acc>(work_.carry, work_.num_inner + 1, at);
    }
  }

  // A switch over all operations, with a line or two for each.
  void compute(const TileInstruction& at) {  // NOLINT(readability-function-size)
    using enum Operation;
    const Vector *a = tiles_[at.a], *b = tiles_[at.b], *c = tiles_[at.c];
    switch (at.operation) {
      case kNumber:
        return fill(at, [&](int64_t) { return Lanes::number(at.number); });
      case kGate:
        return fill(at, [&](int64_t i) { return gate(at.index, i); });
      case kInputSide:
        return fill(at, [&](int64_t i) { return input_side(at.index, i); });
      case kHiddenSide:
        return fill(at, [&](int64_t i) { return hidden_side(at.index, at.a, i); });
      case kState:
        return fill(at, [&](int64_t i) { return state(work_.hidden_before, work_.inner_before, at.index, i); });
      case kStateGradient:
        return fill(at, [&](int64_t i) { return gradient(at.index, i); });
      case kVector:
      case kHiddenProduct:
        return;  // the maker of instructions refuses them
      case kNegate:
        return fill(at, [&](int64_t i) { return -a[i]; });
      case kSigmoid:
        return fill(at, [&](int64_t i) { return Lanes::sigmoid(a[i]); });
      case kTanh:
        return fill(at, [&](int64_t i) { return Lanes::tanh(a[i]); });
      case kRelu:
        return fill(at, [&](int64_t i) { return Lanes::select(a[i] <= Vector{}, Vector{}, a[i]); });
      case kExp:
        return fill(at, [&](int64_t i) { return Lanes::exp(a[i]); });
      case kLog:
        return fill(at, [&](int64_t i) { return Lanes::log(a[i]); });
      case kSoftplus:
        return fill(at, [&](int64_t i) {
          const Vector threshold = Lanes::number(20);  // that of at::softplus
          return Lanes::select(a[i] > threshold, a[i], Lanes::log1p(Lanes::exp(a[i])));
        });
      case kLogSigmoid:
        return fill(at, [&](int64_t i) {
          const Vector size = Lanes::select(a[i] < Vector{}, -a[i], a[i]);
          return Lanes::select(a[i] < Vector{}, a[i], Vector{}) - Lanes::log1p(Lanes::exp(-size));
        });
      case kAbs:
        return fill(at, [&](int64_t i) { return Lanes::select(a[i] < Vector{}, -a[i], a[i]); });
      case kSignOf:
        return fill(at, [&](int64_t i) {
          const Vector one = Lanes::number(1);
          return Lanes::select(a[i] > Vector{}, one, Lanes::select(a[i] < Vector{}, -one, Vector{}));
        });
      case kConstant:
        return fill(at, [&](int64_t i) { return a[i]; });
      case kAdd:
        return fill(at, [&](int64_t i) { return a[i] + b[i]; });
      case kSubtract:
        return fill(at, [&](int64_t i) { return a[i] - b[i]; });
      case kMultiply:
        return fill(at, [&](int64_t i) { return a[i] * b[i]; });
      case kDivide:
        return fill(at, [&](int64_t i) { return a[i] / b[i]; });
      // NaN is the result if an argument is NaN.
      case kMin:
        return fill(
            at, [&](int64_t i) { return Lanes::select(b[i] != b[i], b[i], Lanes::select(b[i] < a[i], b[i], a[i])); });
      case kMax:
        return fill(
            at, [&](int64_t i) { return Lanes::select(b[i] != b[i], b[i], Lanes::select(b[i] > a[i], b[i], a[i])); });
      case kLess:
        return fill(at, [&](int64_t i) { return truth(a[i] < b[i]); });
      case kLessOrEqual:
        return fill(at, [&](int64_t i) { return truth(a[i] <= b[i]); });
      case kEqual:
        return fill(at, [&](int64_t i) { return truth(a[i] == b[i]); });
      case kWhere:
        return fill(at, [&](int64_t i) { return Lanes::select(a[i] != Vector{}, b[i], c[i]); });
    }
  }

  template <class Condition>
  static Vector truth(const Condition& condition) {
    return Lanes::select(condition, Lanes::number(1), Vector{});
  }

  void store_inner(TileInstruction at) {
    at.index -= 1;
    store<Acc>(work_.inner_after, work_.num_inner, at);
  }

  const ProgramStep& work_;
  const Sums& sums_;
  int64_t row_ = 0, unit_ = 0, num_units_ = 0, num_vectors_ = 0;
  Vector tiles_[kMostTiles][kVectors];
};

template <class Lanes, class T, class Acc>
void run_program_part(const ProgramStep& work, const Sums& sums, const Part& part) {
  TileRun<Lanes, T, Acc> tile(work, sums);
  for (int64_t row = part.rows.first; row < part.rows.last; ++row)
    for (int64_t unit = part.units.first; unit < part.units.last; unit += kTileWidth)
      tile.run(row, unit, part.units.last - unit < kTileWidth ? part.units.last - unit : kTileWidth);
}

}  // namespace
}  // namespace rnnlab::kernels
