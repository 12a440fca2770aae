// SPDX-License-Identifier: Apache-2.0
// Defines what a persistent pass over a stack of layers reads, stores and computes, beyond what every pass does
// (unrolled/trace.h): the passes are in persistent_pass.h.
#pragma once

#include "layers/persistent/persistent_layer.h"
#include "layers/unrolled/passes.h"

namespace rnnlab {

// Before the forward pass the weights may have any type. In its trace, weight_hh may be float32, and weight_ih too of
// the upper layer of a pair.
struct PersistentTrace : LayerTrace {
  // These tensors are read instead of `input` if its rows are rows of a table: (V, I), and (T * B) int64.
  at::Tensor table, tokens;

  // `packed` is weight_hh in the layout of the backward pass. The next three tensors are 16-bit operands of large
  // products, if these are faster with such operands (products.h). input_unscale is the factor that converts
  // input_operand to the input, or undefined.
  at::Tensor packed;
  at::Tensor weight_ih_operand, input_operand, half_hidden, input_unscale;
  // Only of the upper layer of a pair, which one kernel computes together with the layer below: weight_ih in the layout
  // of the backward pass.
  at::Tensor packed_input;
  at::Tensor starts;  // (T, B, 1) bool: those of the pass, or of a part of it; or undefined

  // Whether the forward pass must still set the initial states to 0, which it does on a side stream or in the kernel.
  bool lacks_hidden = false, lacks_cell = false;
  bool is_in_pair = false;  // only during the forward pass: whether the layer is one of a pair

  // Only during the forward pass: (V, G * H), W x of the table's rows; and weight_ih, float32 or of the type of the
  // states, if the layer's kernel multiplies the input.
  at::Tensor table_products = {}, weight_ih_of_kernel = {};

  std::vector<at::Tensor*> tensors() {
    std::vector<at::Tensor*> all = LayerTrace::tensors();
    all.insert(all.end(), {&table, &tokens, &packed, &weight_ih_operand, &input_operand, &half_hidden, &input_unscale,
                           &packed_input, &starts});
    return all;
  }
};

struct PersistentGradients : LayerGradients {
  // `sides` is (T, B, columns * H); its columns contain both sides, with the recurrent side first, in which a gate
  // whose sides are apart is before the other gates. `bias_sums` are the sums for the gradients of biases and vectors
  // if they are needed, (parts, rows, (sides * G + V) * H) float32. `largest` contains the bits of the largest
  // magnitude on both sides, (1) int32. If `exponents` are defined, `sides` is float16 (PersistentBackward::exponents
  // in shared/passes.h), and `largest_exponents` are those of the pass's parts, (parts) int32. `later_exponent` is that
  // of the part that is read later, if there is one.
  at::Tensor sides, bias_sums, largest, exponents, largest_exponents, later_exponent;
};

struct PersistentSpec : PassSpec {
  const kernels::PersistentProgram* program = nullptr;  // of the cell, as kernels know it
  kernels::PersistentKernels kernels = kernels::PersistentKernels::kAll;
  int64_t num_layers = 1;                                 // of the pass
  double dropout = 0;                                     // between layers; the pass draws its own masks
  bool may_go_back = false;                               // whether a backward pass may follow
  kernels::Operands operands = kernels::Operands::kTf32;  // in float32, equal for both passes
  // The inputs are the tokens' rows of a table, which is the sequence, (V, I) float32: (T, B) int64; or undefined.
  at::Tensor tokens = {};
  // Who receives the gradients of these parameters, one item for each layer; null: nobody.
  GradientSink* gradient_sink = nullptr;
  std::vector<DirectionWeights> parameters = {};
};

}  // namespace rnnlab
