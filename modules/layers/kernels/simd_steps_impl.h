// SPDX-License-Identifier: Apache-2.0
// Implements simd_steps.h for one instruction set; simd.h explains how these sources are compiled. The formulas are
// those of pointwise_unit.h, for kSimdWidth units of one sequence at a time.
#pragma once

#include "layers/kernels/program_step_impl.h"
#include "layers/kernels/simd.h"
#include "layers/kernels/simd_steps.h"

namespace rnnlab::kernels {
namespace {

// Identifies up to kSimdWidth neighbouring units of one row.
struct Place {
  int64_t row, unit, count;
};

inline Floats slope_of_sigmoid(const Floats& value) { return value * (1.0F - value); }

inline Floats activate(Nonlinearity nonlinearity, const Floats& x) {
  if (nonlinearity == Nonlinearity::kTanh) return tanh_of(x);
  return x > 0.0F ? x : Floats{};
}

inline Floats activation_slope(Nonlinearity nonlinearity, const Floats& value) {
  if (nonlinearity == Nonlinearity::kTanh) return 1.0F - value * value;
  return value > 0.0F ? broadcast(1.0F) : Floats{};
}

inline Floats load_sum(const Sums& sums, const Place& place, int64_t gate) {
  const int64_t row = (place.row - sums.first_row) * sums.row_stride;
  return load(sums.data + row + gate * sums.gate_stride + place.unit - sums.first_unit, place.count);
}

// Holds the position of a gate of a step's units in a matrix (B, G * H), and of its bias in (G * H).
struct GatePlace {
  int64_t in_matrix, in_bias, count;
};
inline GatePlace place_of(const Step& step, int64_t num_gates, int64_t gate, const Place& place) {
  const int64_t column = gate * step.hidden_size + place.unit;
  return {place.row * num_gates * step.hidden_size + column, column, place.count};
}

template <class T>
Floats biases(const Products& products, const GatePlace& place) {
  return load(at<T>(products.bias_ih, place.in_bias), place.count) +
         load(at<T>(products.bias_hh, place.in_bias), place.count);
}

// Returns one gate before activation.
template <class T>
Floats load_gate(const Step& step, const Products& products, const Sums& sums, int64_t num_gates, int64_t gate,
                 const Place& place) {
  const GatePlace where = place_of(step, num_gates, gate, place);
  const Floats bias = biases<T>(products, where);
  if (sums.data != nullptr) return load_sum(sums, place, gate) + bias;
  return load(at<T>(products.input, where.in_matrix), place.count) +
         load(at<T>(products.recurrent, where.in_matrix), place.count) + bias;
}

template <class T>
void store_gate(const Step& step, void* gates, int64_t num_gates, int64_t gate, const Place& place,
                const Floats& value) {
  store(at<T>(gates, place_of(step, num_gates, gate, place).in_matrix), value, place.count);
}

template <class T>
Floats load_gate(const Step& step, const void* gates, int64_t num_gates, int64_t gate, const Place& place) {
  return load(at<T>(gates, place_of(step, num_gates, gate, place).in_matrix), place.count);
}

template <class T>
Floats hidden_gradient(const Step& step, const HiddenGradient& gradient, const Sums& sums, const Place& place) {
  const int64_t index = place.row * step.hidden_size + place.unit;
  Floats sum = {};
  if (gradient.from_output != nullptr) sum += load(at<T>(gradient.from_output, index), place.count);
  if (gradient.from_next_step != nullptr) sum += load(at<T>(gradient.from_next_step, index), place.count);
  if (sums.data != nullptr) sum += load_sum(sums, place, 0);
  return sum;
}

template <class T>
void run_units(const LstmForward& work, const Sums& sums, const Place& place) {
  const Nonlinearity nonlinearity = work.step.nonlinearity;
  const int64_t index = place.row * work.step.hidden_size + place.unit;
  const auto sum = [&](int64_t gate) { return load_gate<T>(work.step, work.products, sums, 4, gate, place); };
  const auto keep = [&](int64_t gate, const Floats& value) {
    store_gate<T>(work.step, work.products.input, 4, gate, place, value);
  };
  const Floats i = sigmoid_of(sum(0)), f = sigmoid_of(sum(1)), g = activate(nonlinearity, sum(2)),
               o = sigmoid_of(sum(3));
  const Floats cell = f * load(at<float>(work.previous_cell, index), place.count) + i * g;
  keep(0, i);
  keep(1, f);
  keep(2, g);
  keep(3, o);
  store(at<float>(work.cell, index), cell, place.count);
  store(at<T>(work.hidden, index), o * activate(nonlinearity, cell), place.count);
}

template <class T>
void run_units(const LstmBackward& work, const Sums& sums, const Place& place) {
  const Nonlinearity nonlinearity = work.step.nonlinearity;
  const int64_t index = place.row * work.step.hidden_size + place.unit;
  const auto gate = [&](int64_t number) { return load_gate<T>(work.step, work.gates, 4, number, place); };
  const auto give = [&](int64_t number, const Floats& value) {
    store_gate<T>(work.step, work.gate_gradients, 4, number, place, value);
  };
  const Floats i = gate(0), f = gate(1), g = gate(2), o = gate(3);
  const Floats hidden = hidden_gradient<T>(work.step, work.hidden_gradient, sums, place);
  const Floats activated = activate(nonlinearity, load(at<float>(work.cell, index), place.count));
  Floats cell = load(at<float>(work.carry, index), place.count);
  if (work.cell_output_gradient != nullptr) cell += load(at<float>(work.cell_output_gradient, index), place.count);
  cell += hidden * o * activation_slope(nonlinearity, activated);
  store(at<float>(work.carry, index), cell * f, place.count);
  give(0, cell * g * slope_of_sigmoid(i));
  give(1, cell * load(at<float>(work.previous_cell, index), place.count) * slope_of_sigmoid(f));
  give(2, cell * i * activation_slope(nonlinearity, g));
  give(3, hidden * activated * slope_of_sigmoid(o));
}

// Holds both sides of a candidate before activation, without the reset gate between them.
struct CandidateSides {
  Floats input, recurrent;
};
template <class T>
CandidateSides candidate_sides(const GruForward& work, const Sums& sums, const Place& place) {
  const GatePlace where = place_of(work.step, 3, 2, place);
  const Floats bias_ih = load(at<T>(work.products.bias_ih, where.in_bias), place.count);
  const Floats bias_hh = load(at<T>(work.products.bias_hh, where.in_bias), place.count);
  if (sums.data != nullptr) return {load_sum(sums, place, 2) + bias_ih, load_sum(sums, place, 3) + bias_hh};
  return {load(at<T>(work.products.input, where.in_matrix), place.count) + bias_ih,
          load(at<T>(work.products.recurrent, where.in_matrix), place.count) + bias_hh};
}

template <class T>
void run_units(const GruForward& work, const Sums& sums, const Place& place) {
  const int64_t index = place.row * work.step.hidden_size + place.unit;
  const auto sum = [&](int64_t gate) { return load_gate<T>(work.step, work.products, sums, 3, gate, place); };
  const auto keep = [&](int64_t gate, const Floats& value) {
    store_gate<T>(work.step, work.products.input, 3, gate, place, value);
  };
  const Floats r = sigmoid_of(sum(0)), z = sigmoid_of(sum(1));
  const CandidateSides sides = candidate_sides<T>(work, sums, place);
  const Floats n = activate(work.step.nonlinearity, sides.input + r * sides.recurrent);
  keep(0, r);
  keep(1, z);
  keep(2, n);
  store(at<T>(work.recurrent_candidate, index), sides.recurrent, place.count);
  const Floats previous = load(at<T>(work.previous_hidden, index), place.count);
  store(at<T>(work.hidden, index), (1.0F - z) * n + z * previous, place.count);
}

template <class T>
void run_units(const GruBackward& work, const Sums& sums, const Place& place) {
  const int64_t index = place.row * work.step.hidden_size + place.unit;
  const auto gate = [&](int64_t number) { return load_gate<T>(work.step, work.gates, 3, number, place); };
  const auto give = [&](int64_t number, const Floats& input_side, const Floats& recurrent_side) {
    store_gate<T>(work.step, work.input_gradients, 3, number, place, input_side);
    store_gate<T>(work.step, work.recurrent_gradients, 3, number, place, recurrent_side);
  };
  const Floats r = gate(0), z = gate(1), n = gate(2);
  const Floats hidden = hidden_gradient<T>(work.step, work.hidden_gradient, sums, place) +
                        load(at<float>(work.carry, index), place.count);
  const Floats candidate = hidden * (1.0F - z) * activation_slope(work.step.nonlinearity, n);
  const Floats previous = load(at<T>(work.previous_hidden, index), place.count);
  const Floats reset = candidate * load(at<T>(work.recurrent_candidate, index), place.count) * slope_of_sigmoid(r);
  const Floats update = hidden * (previous - n) * slope_of_sigmoid(z);
  store(at<float>(work.carry, index), hidden * z, place.count);
  give(0, reset, reset);
  give(1, update, update);
  give(2, candidate, candidate * r);
}

template <class T>
void run_units(const RnnForward& work, const Sums& sums, const Place& place) {
  const Floats value = activate(work.step.nonlinearity, load_gate<T>(work.step, work.products, sums, 1, 0, place));
  store_gate<T>(work.step, work.hidden, 1, 0, place, value);
}

template <class T>
void run_units(const RnnBackward& work, const Sums& sums, const Place& place) {
  const Floats value = load_gate<T>(work.step, work.hidden, 1, 0, place);
  const Floats hidden = hidden_gradient<T>(work.step, work.hidden_gradient, sums, place);
  store_gate<T>(work.step, work.gate_gradients, 1, 0, place, hidden * activation_slope(work.step.nonlinearity, value));
}

template <class T, class Work>
void run_part(const Work& work, const Sums& sums, const Part& part) {
  for (int64_t row = part.rows.first; row < part.rows.last; ++row) {
    int64_t unit = part.units.first;
    for (; unit + kSimdWidth <= part.units.last; unit += kSimdWidth)
      run_units<T>(work, sums, Place{row, unit, kSimdWidth});
    if (unit < part.units.last) run_units<T>(work, sums, Place{row, unit, part.units.last - unit});
  }
}

template <class Work>
void run_step(const Work& work, const Sums& sums, const Part& part) {
  if (work.step.type == ElementType::kBfloat16) return run_part<Bfloat16>(work, sums, part);
  run_part<float>(work, sums, part);
}

// The functions of program_step_impl.h. exp and log are those of the C library, because equations of a user may need
// their whole range.
struct SimdLanes {
  using Vector = Floats;
  static constexpr int64_t kWidth = kSimdWidth;

  template <class T>
  static Floats read(const void* data, int64_t index, int64_t count) {
    return load(at<T>(data, index), count);
  }
  template <class T>
  static void write(void* data, int64_t index, const Floats& value, int64_t count) {
    store(at<T>(data, index), value, count);
  }
  static Floats number(double value) { return broadcast(static_cast<float>(value)); }
  static Floats sigmoid(const Floats& x) { return sigmoid_of(x); }
  static Floats tanh(const Floats& x) { return tanh_of(x); }
  template <class Condition>
  static Floats select(const Condition& condition, const Floats& yes, const Floats& no) {
    return condition ? yes : no;
  }

  static Floats exp(Floats x) {
    for (int i = 0; i < kSimdWidth; ++i) x[i] = __builtin_expf(x[i]);
    return x;
  }
  static Floats log(Floats x) {
    for (int i = 0; i < kSimdWidth; ++i) x[i] = __builtin_logf(x[i]);
    return x;
  }
  static Floats log1p(Floats x) {
    for (int i = 0; i < kSimdWidth; ++i) x[i] = __builtin_log1pf(x[i]);
    return x;
  }
};

void run_program(const ProgramStep& work, const Sums& sums, const Part& part) {
  if (work.step.type == ElementType::kBfloat16) return run_program_part<SimdLanes, Bfloat16, float>(work, sums, part);
  run_program_part<SimdLanes, float, float>(work, sums, part);
}

constexpr SimdSteps make_steps(const char* name) {
  return {name,
          run_step<LstmForward>,
          run_step<LstmBackward>,
          run_step<GruForward>,
          run_step<GruBackward>,
          run_step<RnnForward>,
          run_step<RnnBackward>,
          run_program,
          transpose_words,
          interleave_words,
          narrow_floats,
          random_words};
}

}  // namespace
}  // namespace rnnlab::kernels
