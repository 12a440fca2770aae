// SPDX-License-Identifier: Apache-2.0
// The kernels of a scan on a GPU, for a program as print_step.h writes it. Each thread runs over all steps of one unit
// of a sequence. Neighbours in a warp are neighbours in memory. The operands of the next steps are loaded before the
// current operands are used: with 32,768 threads, this keeps the memory busy. The states stay in registers, so that the
// compiler moves all that does not depend on them ahead of the chain of the states. The backward pass computes the
// values of the forward pass again, which takes less time than to read them.
#pragma once

#include "layers/kernels/program_scan.h"
#include "layers/kernels/step_kernel.h"

namespace rnnlab::kernels {

inline constexpr int kThreadsOfScan = 64;

// The sigmoid by the GPU's approximate exponential and quotient, whose error is that of some roundings.
template <class Real>
struct ScanLanes : ThreadLanes<Real> {};
template <>
struct ScanLanes<float> : ThreadLanes<float> {
  __device__ static float sigmoid(float x) { return __fdividef(1.0f, 1.0f + __expf(-x)); }
};

// What a program reads and writes at one step (StepUnits), in registers. Each array has at least one element.
template <class Program, class Real>
struct ScanUnits {
  using Math = StepMath<ScanLanes<Real>>;
  using Vector = Real;

  RNNLAB_HOST_DEVICE static constexpr int at_least_one(int64_t count) {
    return count > 0 ? static_cast<int>(count) : 1;
  }
  static constexpr int kInput = static_cast<int>(Program::kColumns.input);
  static constexpr int kStates = 1 + static_cast<int>(Program::kColumns.inner);
  static constexpr int kVectors = static_cast<int>(Program::kColumns.vectors);
  static constexpr int kCarried = static_cast<int>(Program::kColumns.carried);

  RNNLAB_HOST_DEVICE Real input_side(int column, int) const { return sums[column]; }
  RNNLAB_HOST_DEVICE Real vector(int row) const { return vectors[row]; }
  RNNLAB_HOST_DEVICE Real state(int state) const { return before[state]; }
  RNNLAB_HOST_DEVICE void set_state(int state, Real value) { after[state] = value; }
  RNNLAB_HOST_DEVICE void keep(int index, Real value) { kept_values[index] = value; }

  RNNLAB_HOST_DEVICE Real kept(int index) const { return kept_values[index]; }
  RNNLAB_HOST_DEVICE Real state_after(int state) const { return after[state]; }
  RNNLAB_HOST_DEVICE Real gradient(int state, int carry_column) const {
    return carry_column == kNoColumn ? gradients[state] : gradients[state] + carry[carry_column];
  }
  RNNLAB_HOST_DEVICE void set_input_side(int column, Real value) { sum_gradients[column] = value; }
  RNNLAB_HOST_DEVICE void set_carry(int column, Real value) { carry[column] = value; }
  RNNLAB_HOST_DEVICE void set_vector_gradient(int row, Real value) { vector_gradients[row] = value; }

  Real sums[kInput], before[kStates], after[kStates], kept_values[at_least_one(Program::kColumns.kept)];
  Real vectors[at_least_one(kVectors)], vector_gradients[at_least_one(kVectors)];
  Real gradients[kStates];  // of the states as results
  Real carry[at_least_one(kCarried)], sum_gradients[kInput];
};

// Returns positions of a thread's unit in the tensors, by the number of the step in the order of the scan, from 0.
class ScanPlace {
 public:
  __device__ ScanPlace(const ProgramScan& scan, int64_t channel)
      : alive_(scan.alive),
        starts_(reinterpret_cast<const uint8_t*>(scan.starts)),
        size_(scan.step.hidden_size),
        row_(channel / size_),
        unit_(channel % size_),
        first_row_((scan.is_reversed ? scan.num_steps - 1 : 0) * scan.step.batch_size + row_),
        stride_(scan.is_reversed ? -scan.step.batch_size : scan.step.batch_size) {}

  // In (T, B, num_columns * H).
  __device__ int64_t at(int64_t i, int64_t num_columns, int64_t column) const {
    return ((first_row_ + i * stride_) * num_columns + column) * size_ + unit_;
  }
  // In (B, num_columns * H), and in (num_columns * H).
  __device__ int64_t of_row(int64_t num_columns, int64_t column) const {
    return (row_ * num_columns + column) * size_ + unit_;
  }
  __device__ int64_t of_unit(int64_t column) const { return column * size_ + unit_; }
  __device__ uint8_t starts(int64_t i) const { return starts_ == nullptr ? 0 : starts_[first_row_ + i * stride_]; }
  __device__ bool is_alive(int64_t i) const { return alive_ == nullptr || alive_[first_row_ + i * stride_]; }

 private:
  const bool* alive_;
  const uint8_t* starts_;
  int64_t size_, row_, unit_, first_row_, stride_;
};

// The number of steps whose operands are loaded ahead; as many as registers can hold.
template <class Program>
RNNLAB_HOST_DEVICE constexpr int steps_ahead() {
  return Program::kColumns.input + Program::kColumns.inner <= 3 ? 8 : 4;
}

// Holds the operands of one step as they are in memory, because a conversion would wait for the memory.
template <class Program, class T>
struct ScanOperands {
  T sums[ScanUnits<Program, Accumulation<T>>::kInput];
  uint8_t starts;                    // whether the states before the step are zero
  T hidden_before, hidden_gradient;  // in the backward pass
  Accumulation<T> inner_before[ScanUnits<Program, Accumulation<T>>::kStates];  // likewise, from 1 on
};

template <class Program, class T>
__device__ ScanOperands<Program, T> forward_operands(const ProgramScan& scan, const ScanPlace& place, int64_t i) {
  constexpr int kInput = static_cast<int>(Program::kColumns.input);
  ScanOperands<Program, T> operands;
  operands.starts = place.starts(i);
#pragma unroll
  for (int k = 0; k < kInput; ++k) operands.sums[k] = static_cast<const T*>(scan.sums)[place.at(i, kInput, k)];
  return operands;
}

template <class Program, class T>
__device__ ScanOperands<Program, T> backward_operands(const ProgramScan& scan, const ScanPlace& place, int64_t i) {
  constexpr int kInner = static_cast<int>(Program::kColumns.inner);
  ScanOperands<Program, T> operands = forward_operands<Program, T>(scan, place, i);
  // In reverse, a sequence begins after the steps that it does not have.
  const bool is_first = i == 0 || !place.is_alive(i - 1);
  const T* hidden = static_cast<const T*>(is_first ? scan.initial_hidden : scan.hidden);
  operands.hidden_before = hidden[is_first ? place.of_row(1, 0) : place.at(i - 1, 1, 0)];
  const T* gradients = static_cast<const T*>(scan.hidden_gradients);
  operands.hidden_gradient = gradients == nullptr ? static_cast<T>(0.0f) : gradients[place.at(i, 1, 0)];
  const auto* inner = static_cast<const Accumulation<T>*>(is_first ? scan.initial_inner : scan.inner);
#pragma unroll
  for (int k = 0; k < kInner; ++k)
    operands.inner_before[k + 1] = inner[is_first ? place.of_row(kInner, k) : place.at(i - 1, kInner, k)];
  return operands;
}

template <class Program, class T, class Units>
__device__ void load_vectors(const ProgramScan& scan, const ScanPlace& place, Units& units) {
#pragma unroll
  for (int k = 0; k < Units::kVectors; ++k) units.vectors[k] = load<T>(scan.vectors, place.of_unit(k));
}

template <class Program, class T>
__global__ void __launch_bounds__(kThreadsOfScan) scan_forward_kernel(const __grid_constant__ ProgramScan scan) {
  using Real = Accumulation<T>;
  using Units = ScanUnits<Program, Real>;
  constexpr int kAhead = steps_ahead<Program>(), kInner = Units::kStates - 1;
  const int64_t channel = static_cast<int64_t>(blockIdx.x) * kThreadsOfScan + threadIdx.x;
  if (channel >= scan.step.batch_size * scan.step.hidden_size) return;
  const ScanPlace place(scan, channel);
  Units units = {};
  load_vectors<Program, T>(scan, place, units);
  units.before[0] = load<T>(scan.initial_hidden, channel);
#pragma unroll
  for (int k = 0; k < kInner; ++k) units.before[k + 1] = load<Real>(scan.initial_inner, place.of_row(kInner, k));
  ScanOperands<Program, T> next[kAhead] = {};
#pragma unroll
  for (int j = 0; j < kAhead; ++j)
    if (j < scan.num_steps) next[j] = forward_operands<Program, T>(scan, place, j);
  for (int64_t first = 0; first < scan.num_steps; first += kAhead) {
    ScanOperands<Program, T> current[kAhead];
#pragma unroll
    for (int j = 0; j < kAhead; ++j) current[j] = next[j];
#pragma unroll
    for (int j = 0; j < kAhead; ++j)
      if (first + kAhead + j < scan.num_steps) next[j] = forward_operands<Program, T>(scan, place, first + kAhead + j);
#pragma unroll
    for (int j = 0; j < kAhead; ++j) {
      const int64_t i = first + j;
      const bool is_alive = i < scan.num_steps && place.is_alive(i);
#pragma unroll
      for (int k = 0; k < Units::kInput; ++k) units.sums[k] = static_cast<Real>(current[j].sums[k]);
#pragma unroll
      for (int k = 0; k < Units::kStates; ++k)
        units.before[k] = is_alive && current[j].starts != 0 ? Real(0) : units.before[k];
      Program::forward(units);
      if (is_alive) store<T>(scan.hidden, place.at(i, 1, 0), units.after[0]);
#pragma unroll
      for (int k = 0; k < kInner; ++k)
        if (is_alive) store<Real>(scan.inner, place.at(i, kInner, k), units.after[k + 1]);
#pragma unroll
      for (int k = 0; k < Units::kStates; ++k) units.before[k] = is_alive ? units.after[k] : units.before[k];
    }
  }
  store<T>(scan.final_hidden, channel, units.before[0]);
#pragma unroll
  for (int k = 0; k < kInner; ++k) store<Real>(scan.final_inner, place.of_row(kInner, k), units.before[k + 1]);
}

// Computes the gradients of one step from `units.gradients` and `units.carry`, which become those of the step before
// it.
template <class Program, class T, class Units>
__device__ void scan_step_backward(const ScanOperands<Program, T>& operands, bool is_alive, Units& units) {
  using Real = Accumulation<T>;
#pragma unroll
  for (int k = 0; k < Units::kInput; ++k) units.sums[k] = static_cast<Real>(operands.sums[k]);
  units.before[0] = static_cast<Real>(operands.hidden_before);
#pragma unroll
  for (int k = 1; k < Units::kStates; ++k) units.before[k] = operands.inner_before[k];
#pragma unroll
  for (int k = 0; k < Units::kStates; ++k) units.before[k] = operands.starts != 0 ? Real(0) : units.before[k];
  Program::forward(units);  // for the kept values and the states after the step
  Real carry[sizeof(units.carry) / sizeof(Real)];
#pragma unroll
  for (int k = 0; k < Units::kCarried; ++k) carry[k] = units.carry[k];
  Program::backward(units);
#pragma unroll
  for (int k = 0; k < Units::kCarried; ++k)
    units.carry[k] = is_alive ? (operands.starts != 0 ? Real(0) : units.carry[k]) : carry[k];
}

template <class Program, class T>
__global__ void __launch_bounds__(kThreadsOfScan) scan_backward_kernel(const __grid_constant__ ProgramScan scan) {
  using Real = Accumulation<T>;
  using Units = ScanUnits<Program, Real>;
  constexpr int kAhead = steps_ahead<Program>(), kInner = Units::kStates - 1;
  const int64_t channel = static_cast<int64_t>(blockIdx.x) * kThreadsOfScan + threadIdx.x;
  if (channel >= scan.step.batch_size * scan.step.hidden_size) return;
  const ScanPlace place(scan, channel);
  Units units = {};
  load_vectors<Program, T>(scan, place, units);
  Real of_vectors[sizeof(units.vectors) / sizeof(Real)] = {};
  Real of_final[Units::kStates] = {load_or_zero<T>(scan.final_hidden_gradient, channel)};
#pragma unroll
  for (int k = 0; k < kInner; ++k)
    of_final[k + 1] = load_or_zero<Real>(scan.final_inner_gradient, place.of_row(kInner, k));
  const int64_t last = scan.num_steps - 1;  // steps are in reverse order: number j is last - j
  ScanOperands<Program, T> next[kAhead] = {};
#pragma unroll
  for (int j = 0; j < kAhead; ++j)
    if (j <= last) next[j] = backward_operands<Program, T>(scan, place, last - j);
  for (int64_t first = 0; first <= last; first += kAhead) {
    ScanOperands<Program, T> current[kAhead];
#pragma unroll
    for (int j = 0; j < kAhead; ++j) current[j] = next[j];
#pragma unroll
    for (int j = 0; j < kAhead; ++j)
      if (first + kAhead + j <= last) next[j] = backward_operands<Program, T>(scan, place, last - (first + kAhead + j));
#pragma unroll
    for (int j = 0; j < kAhead; ++j) {
      const int64_t i = last - (first + j);
      const bool is_alive = i >= 0 && place.is_alive(i);
      // The gradients of the final states are those of the last step that the sequence has.
#pragma unroll
      for (int k = 0; k < Units::kStates; ++k) {
        units.gradients[k] = of_final[k];
        of_final[k] = is_alive ? Real(0) : of_final[k];
      }
      units.gradients[0] += static_cast<Real>(current[j].hidden_gradient);
      scan_step_backward<Program, T>(current[j], is_alive, units);
#pragma unroll
      for (int k = 0; k < Units::kVectors; ++k) of_vectors[k] += is_alive ? units.vector_gradients[k] : Real(0);
#pragma unroll
      for (int k = 0; k < Units::kInput; ++k)
        if (is_alive) store<T>(scan.sum_gradients, place.at(i, Units::kInput, k), units.sum_gradients[k]);
    }
  }
#pragma unroll
  for (int k = 0; k < Units::kCarried; ++k) store<Real>(scan.carry, place.of_row(Units::kCarried, k), units.carry[k]);
#pragma unroll
  for (int k = 0; k < Units::kVectors; ++k)
    store<Real>(scan.vector_gradients, place.of_row(Units::kVectors, k), of_vectors[k]);
}

}  // namespace rnnlab::kernels
