// SPDX-License-Identifier: Apache-2.0
// What the equations of a cell read and write in one step (program_step.h), for some neighbouring units of a sequence:
// where each value lies in memory, and from which parts it is summed. Interpreted and compiled programs, on CPUs and
// GPUs, use it. Lanes adds two functions to those of step_math.h:
//
//   template <class T> static Vector read(const void* data, int64_t index, int64_t count);
//   template <class T> static void write(void* data, int64_t index, const Vector& value, int64_t count);
//
// T is the type of the step, and Acc that of sums and inner states. kWhole: the vector is a whole one, so that `count`
// is known when the code is compiled.
#pragma once

#include <type_traits>

#include "layers/kernels/program_step.h"
#include "layers/kernels/step_math.h"
#include "layers/kernels/sums.h"

namespace rnnlab::kernels {

template <class Lanes, class T, class Acc, class SumsType, bool kWhole>
class StepUnits {
 public:
  using Math = StepMath<Lanes>;
  using Vector = typename Lanes::Vector;

  // columns: those of the work, which a compiled program knows when it is compiled.
  RNNLAB_HOST_DEVICE StepUnits(const ProgramStep& work, const StepColumns& columns, const SumsType& sums, int64_t row,
                               int64_t unit, int64_t count)
      : work_(work), columns_(columns), sums_(sums), row_(row), unit_(unit), count_(count) {}

  // ---- forward ----

  RNNLAB_HOST_DEVICE Vector gate(int input, int hidden, int place) const {
    Vector bias = load_bias(work_.products.bias_ih, input);
    if (columns_.has_hidden_bias) bias += load_bias(work_.products.bias_hh, hidden);
    if (has_sums()) return load_sum(place) + bias;
    return input_product(input) + hidden_product(hidden) + bias;
  }
  RNNLAB_HOST_DEVICE Vector input_side(int column, int place) const {
    return (has_sums() ? load_sum(place) : input_product(column)) + load_bias(work_.products.bias_ih, column);
  }
  RNNLAB_HOST_DEVICE Vector hidden_side(int column, int place) const {
    const Vector product = has_sums() ? load_sum(place) : hidden_product(column);
    return columns_.has_hidden_bias ? product + load_bias(work_.products.bias_hh, column) : product;
  }
  RNNLAB_HOST_DEVICE Vector vector(int row) const { return load_bias(work_.vectors, row); }
  RNNLAB_HOST_DEVICE Vector state(int state) const {
    if (is_in(work_.starts)) return Math::zero();
    return load_state(work_.hidden_before, work_.inner_before, state);
  }
  RNNLAB_HOST_DEVICE void set_state(int state, const Vector& value) {
    if (state == 0) return set_hidden(value);
    store<Acc>(work_.inner_after, columns_.inner, state - 1, value);
  }
  RNNLAB_HOST_DEVICE void keep(int index, const Vector& value) {
    if (index < columns_.input) return store<T>(work_.kept, columns_.input, index, value);
    store<T>(work_.more_kept, columns_.kept - columns_.input, index - columns_.input, value);
  }

  RNNLAB_HOST_DEVICE void set_operand(int index, const Vector& value) {
    store<T>(work_.operands, columns_.operands, index, value);
  }

  // ---- backward ----

  RNNLAB_HOST_DEVICE Vector product_gradient(int operand) const {
    return load<T>(work_.operand_gradients, columns_.operands, operand);
  }

  RNNLAB_HOST_DEVICE Vector kept(int index) const {
    if (index < columns_.input) return load<T>(work_.kept, columns_.input, index);
    return load<T>(work_.more_kept, columns_.kept - columns_.input, index - columns_.input);
  }
  RNNLAB_HOST_DEVICE Vector state_after(int state) const {
    return load_state(work_.hidden_after, work_.inner_after, state);
  }
  RNNLAB_HOST_DEVICE Vector gradient(int state, int carry_column) const {
    Vector sum = Math::zero();
    if (carry_column != kNoColumn) sum = load<Acc>(work_.carry, columns_.carried, carry_column);
    if (state > 0) {
      if (work_.inner_gradient != nullptr) sum += load<Acc>(work_.inner_gradient, columns_.inner, state - 1);
      return sum;
    }
    const HiddenGradient& hidden = work_.hidden_gradient;
    if (hidden.from_output != nullptr) sum += load<T>(hidden.from_output, 1, 0);
    const bool has_next = !is_in(work_.next_starts);
    if (has_next && hidden.from_next_step != nullptr)
      sum += load_strided(hidden.from_next_step, hidden.row_stride, 1, 0);
    if (hidden.from_above != nullptr) sum += load_strided(hidden.from_above, hidden.row_stride, 1, 0);
    if (has_next && has_sums()) sum += load_sum(0);
    return sum;
  }
  RNNLAB_HOST_DEVICE void set_input_side(int column, const Vector& value) {
    store<T>(work_.input_side, columns_.input, column, value);
  }
  RNNLAB_HOST_DEVICE void set_hidden_side(int column, const Vector& value) {
    store<T>(work_.hidden_side, columns_.hidden, column, value);
  }
  RNNLAB_HOST_DEVICE void set_carry(int column, const Vector& value) {
    store<Acc>(work_.carry, columns_.carried, column, is_in(work_.starts) ? Math::zero() : value);
  }
  RNNLAB_HOST_DEVICE void set_vector_gradient(int row, const Vector& value) {
    store<T>(work_.vector_gradients, columns_.vectors, row, value);
  }

 private:
  RNNLAB_HOST_DEVICE bool is_in(const bool* sequences) const { return sequences != nullptr && sequences[row_]; }
  RNNLAB_HOST_DEVICE void set_hidden(const Vector& value) {
    store<T>(work_.hidden_after, 1, 0, value);
    if (work_.hidden_of_products == nullptr) return;
    store<T>(work_.hidden_of_products, 1, 0, is_in(work_.next_starts) ? Math::zero() : value);
  }
  RNNLAB_HOST_DEVICE int64_t size() const { return work_.step.hidden_size; }
  RNNLAB_HOST_DEVICE int64_t count() const { return kWhole ? Lanes::kWidth : count_; }

  // (B, num_columns * H) at a column, in the type of the data.
  template <class Type>
  RNNLAB_HOST_DEVICE Vector load(const void* data, int64_t num_columns, int64_t column) const {
    return Lanes::template read<Type>(data, (row_ * num_columns + column) * size() + unit_, count());
  }
  template <class Type>
  RNNLAB_HOST_DEVICE void store(void* data, int64_t num_columns, int64_t column, const Vector& value) {
    Lanes::template write<Type>(data, (row_ * num_columns + column) * size() + unit_, value, count());
  }

  RNNLAB_HOST_DEVICE Vector load_strided(const void* data, int64_t stride, int64_t num_columns, int64_t column) const {
    const int64_t begin = row_ * (stride == 0 ? num_columns * size() : stride);
    return Lanes::template read<T>(data, begin + column * size() + unit_, count());
  }
  RNNLAB_HOST_DEVICE Vector input_product(int column) const {
    const Products& products = work_.products;
    if (products.below == nullptr) return load<T>(products.input, columns_.input, column);
    return load_strided(products.below, products.row_stride, columns_.input, column);
  }
  RNNLAB_HOST_DEVICE Vector hidden_product(int column) const {
    return load_strided(work_.products.recurrent, work_.products.row_stride, columns_.hidden, column);
  }
  RNNLAB_HOST_DEVICE Vector load_bias(const void* data, int column) const {
    return Lanes::template read<T>(data, column * size() + unit_, count());
  }
  RNNLAB_HOST_DEVICE bool has_sums() const {
    if constexpr (std::is_same_v<SumsType, NoSums>)
      return false;
    else
      return sums_.data != nullptr;
  }
  RNNLAB_HOST_DEVICE Vector load_sum(int place) const {
    if constexpr (std::is_same_v<SumsType, NoSums>) {
      return Math::zero();
    } else {
      const int64_t row = (row_ - sums_.first_row) * sums_.row_stride;
      return Lanes::template read<float>(sums_.data, row + place * sums_.gate_stride + unit_ - sums_.first_unit,
                                         count());
    }
  }
  RNNLAB_HOST_DEVICE Vector load_state(const void* hidden, const void* inner, int state) const {
    return state == 0 ? load<T>(hidden, 1, 0) : load<Acc>(inner, columns_.inner, state - 1);
  }

  const ProgramStep& work_;
  StepColumns columns_;
  const SumsType& sums_;
  int64_t row_, unit_, count_;
};

// Runs a pass of a compiled program.
template <class Program, StepPass kPass, class Units>
RNNLAB_HOST_DEVICE void run_pass(Units units) {
  if constexpr (kPass == StepPass::kForward) Program::forward(units);
  if constexpr (kPass == StepPass::kBackward) Program::backward(units);
  if constexpr (kPass == StepPass::kOperands) Program::operands(units);
  if constexpr (kPass == StepPass::kProductSides) Program::product_sides(units);
}

#ifndef __CUDACC_RTC__  // NVRTC compiles no function of the host
template <StepPass kPass>
struct PassConstant {
  static constexpr StepPass kValue = kPass;
};

// Calls use(pass) with the PassConstant of a pass of the program.
template <class Program, class Use>
void with_pass(StepPass pass, const Use& use) {
  if (pass == StepPass::kForward) use(PassConstant<StepPass::kForward>());
  if (pass == StepPass::kBackward) use(PassConstant<StepPass::kBackward>());
  if constexpr (Program::kColumns.operands > 0) {
    if (pass == StepPass::kOperands) use(PassConstant<StepPass::kOperands>());
    if (pass == StepPass::kProductSides) use(PassConstant<StepPass::kProductSides>());
  }
}
#endif

}  // namespace rnnlab::kernels
