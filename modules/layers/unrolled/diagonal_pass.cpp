// SPDX-License-Identifier: Apache-2.0
#include "layers/unrolled/passes.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/as_strided.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>

namespace rnnlab {
namespace {

// Denotes the layers `first` to `last` - 1.
struct Layers {
  int64_t first, last;
  int64_t size() const { return last - first; }
};

// Returns the layers that work on diagonal d, if each layer l works for d - l = 0 to `num_places` - 1.
Layers layers_on(int64_t d, int64_t num_places, int64_t num_layers) {
  return {std::max<int64_t>(0, d - num_places + 1), std::min(num_layers, d + 1)};
}

// Returns (layers, B, columns): row `row` of the first layer's (rows, B, columns), row - 1 of the next layer's, and so
// on. All layers must lie one after the other in memory.
at::Tensor along_diagonal(const at::Tensor& first_layer, int64_t row, const Layers& layers) {
  const int64_t one_row = first_layer.size(1) * first_layer.size(2);
  return at::as_strided(first_layer, {layers.size(), first_layer.size(1), first_layer.size(2)},
                        {(first_layer.size(0) - 1) * one_row, first_layer.size(2), 1},
                        first_layer.storage_offset() + row * one_row);
}

const LayerTrace& at_layer(const std::vector<LayerTrace>& layers, int64_t layer) {
  return layers[static_cast<size_t>(layer)];
}

// Returns column `column` of layer l in a block (L, B, columns).
void* column_of(const at::Tensor& block, int64_t layer, int64_t column) {
  return static_cast<std::byte*>(row(block, layer)) + column * static_cast<int64_t>(block.element_size());
}

class DiagonalForward {
 public:
  DiagonalForward(const UnrolledSpec& spec, std::vector<LayerTrace>& layers)
      : spec_(spec),
        layers_(layers),
        num_layers_(std::ssize(layers)),
        num_steps_(layers[0].num_steps()),
        gate_columns_(layers[0].gates.size(2)),
        weights_(stacked_weights()),
        products_(at::empty({num_layers_, layers[0].batch_size(), 2 * gate_columns_}, layers[0].gates.options())) {}

  void run() {
    at::Tensor first_products = matrix_of(layers_[0].gates);
    at::mm_out(first_products, matrix_of(layers_[0].input), layers_[0].weights.weight_ih.t());
    for (int64_t d = 0; d < num_steps_ + num_layers_ - 1; ++d) {
      multiply(d);
      step(d);
    }
  }

 private:
  // Returns (L, 2 * G * H, H): weight_hh of each layer, and weight_ih of the layer above, which the top layer lacks.
  at::Tensor stacked_weights() const {
    at::Tensor stack =
        at::zeros({num_layers_, 2 * gate_columns_, layers_[0].hidden_size()}, layers_[0].gates.options());
    for (int64_t layer = 0; layer < num_layers_; ++layer) {
      stack[layer].narrow(0, 0, gate_columns_).copy_(at_layer(layers_, layer).weights.weight_hh);
      if (layer + 1 < num_layers_)
        stack[layer].narrow(0, gate_columns_, gate_columns_).copy_(at_layer(layers_, layer + 1).weights.weight_ih);
    }
    return stack;
  }

  // Multiplies the states from which the layers start the diagonal; a layer's last state is only for the layer above.
  void multiply(int64_t d) {
    const Layers layers = layers_on(d, num_steps_ + 1, num_layers_);
    const at::Tensor states = along_diagonal(at_layer(layers_, layers.first).hidden, d - layers.first, layers);
    at::Tensor products = products_.narrow(0, layers.first, layers.size());
    at::bmm_out(products, states, weights_.narrow(0, layers.first, layers.size()).transpose(1, 2));
  }

  void step(int64_t d) {
    const Layers layers = layers_on(d, num_steps_, num_layers_);
    std::vector<kernels::ProgramStep> works;
    for (int64_t layer = layers.first; layer < layers.last; ++layer) {
      const LayerTrace& trace = at_layer(layers_, layer);
      kernels::Products products = products_of(trace, column_of(products_, layer, 0), d - layer);
      products.below = layer == 0 ? nullptr : column_of(products_, layer - 1, gate_columns_);
      products.row_stride = 2 * gate_columns_;
      works.push_back(forward_work(spec_, trace, products, d - layer));
    }
    launch_steps(works, products_.device());
  }

  const UnrolledSpec& spec_;
  std::vector<LayerTrace>& layers_;
  int64_t num_layers_, num_steps_, gate_columns_;
  at::Tensor weights_;   // (L, 2 * G * H, H)
  at::Tensor products_;  // (L, B, 2 * G * H)
};

class DiagonalBackward {
 public:
  DiagonalBackward(const UnrolledSpec& spec, const std::vector<LayerTrace>& layers, const ResultGradients& results,
                   NeededGradients needs)
      : spec_(spec),
        layers_(layers),
        needs_(needs),
        num_layers_(std::ssize(layers)),
        num_steps_(layers[0].num_steps()),
        hidden_size_(layers[0].hidden_size()),
        weights_(stacked_weights()),
        products_(at::empty({num_layers_, layers[0].batch_size(), 2 * hidden_size_}, layers[0].gates.options())),
        gradients_(make_gradients(results)) {}

  PassGradients run() {
    for (int64_t d = num_steps_ + num_layers_ - 1; d-- > 0;) {
      step(d);
      multiply(d);
    }
    return {input_gradient(), all_initial_gradients(), weight_gradients()};
  }

 private:
  // Returns (L, 2 * H, G * H), transposed once a pass: weight_hh of each layer, and weight_ih except for the bottom
  // layer, because the gradient of its input is cheaper as one product over all steps.
  at::Tensor stacked_weights() const {
    at::Tensor stack = at::zeros({num_layers_, 2 * hidden_size_, layers_[0].gates.size(2)}, layers_[0].gates.options());
    for (int64_t layer = 0; layer < num_layers_; ++layer) {
      const DirectionWeights& weights = at_layer(layers_, layer).weights;
      stack[layer].narrow(0, 0, hidden_size_).copy_(weights.weight_hh.t());
      if (layer > 0) stack[layer].narrow(0, hidden_size_, hidden_size_).copy_(weights.weight_ih.t());
    }
    return stack;
  }

  std::vector<LayerGradients> make_gradients(const ResultGradients& results) const {
    const at::Tensor& gates = layers_[0].gates;
    const at::Tensor sides = at::empty({num_layers_, gates.size(0), gates.size(1), gates.size(2)}, gates.options());
    std::vector<LayerGradients> all;
    for (size_t layer = 0; layer < layers_.size(); ++layer) {
      LayerGradients gradients;
      gradients.output = results.hidden[layer];
      if (!results.cell.empty()) gradients.cell_output = results.cell[layer];
      gradients.input_side = gradients.recurrent_side = sides[static_cast<int64_t>(layer)];
      gradients.vectors = empty_vector_gradients(spec_, layers_[layer], num_steps_, empty_tensor);
      gradients.carry = make_carry(spec_, layers_[layer]);
      all.push_back(gradients);
    }
    return all;
  }

  void step(int64_t d) {
    const Layers layers = layers_on(d, num_steps_, num_layers_);
    std::vector<kernels::ProgramStep> works;
    for (int64_t layer = layers.first; layer < layers.last; ++layer) {
      const int64_t t = d - layer;
      const LayerGradients& gradients = gradients_[static_cast<size_t>(layer)];
      const kernels::HiddenGradient hidden = {
          .from_output = row(gradients.output, t),
          .from_next_step = t + 1 < num_steps_ ? column_of(products_, layer, 0) : nullptr,
          .from_above = layer + 1 < num_layers_ ? column_of(products_, layer + 1, hidden_size_) : nullptr,
          .row_stride = 2 * hidden_size_};
      works.push_back(backward_work(spec_, at_layer(layers_, layer), gradients, hidden, t, t));
    }
    launch_steps(works, products_.device());
  }

  void multiply(int64_t d) {
    const Layers layers = layers_on(d, num_steps_, num_layers_);
    const auto& first = gradients_[static_cast<size_t>(layers.first)];
    at::Tensor products = products_.narrow(0, layers.first, layers.size());
    at::bmm_out(products, along_diagonal(first.input_side, d - layers.first, layers),
                weights_.narrow(0, layers.first, layers.size()).transpose(1, 2));
  }

  at::Tensor input_gradient() const {
    if (!needs_.input) return {};
    at::Tensor gradient = at::empty_like(layers_[0].input);
    at::Tensor product = matrix_of(gradient);
    at::mm_out(product, matrix_of(gradients_[0].input_side), layers_[0].weights.weight_ih);
    return gradient;
  }

  std::vector<InitialGradients> all_initial_gradients() const {
    std::vector<InitialGradients> all;
    for (int64_t layer = 0; layer < num_layers_; ++layer)
      all.push_back(initial_gradients(spec_, products_[layer].narrow(1, 0, hidden_size_),
                                      gradients_[static_cast<size_t>(layer)].carry));
    return all;
  }

  std::vector<WeightGradients> weight_gradients() const {
    std::vector<WeightGradients> all;
    if (!needs_.weights) return all;
    for (size_t layer = 0; layer < layers_.size(); ++layer) {
      all.push_back(empty_weight_gradients(spec_, layers_[layer]));
      multiply_weight_gradients(spec_, layers_[layer], gradients_[layer], all.back());
    }
    return all;
  }

  const UnrolledSpec& spec_;
  const std::vector<LayerTrace>& layers_;
  NeededGradients needs_;
  int64_t num_layers_, num_steps_, hidden_size_;
  at::Tensor weights_;   // (L, 2 * H, G * H)
  at::Tensor products_;  // (L, B, 2 * H): gradients of the hidden state before a step, and of the input of the layer
  std::vector<LayerGradients> gradients_;
};

}  // namespace

bool can_run_diagonal(const UnrolledSpec& spec, size_t num_layers, const std::vector<at::Tensor>& masks) {
  return spec.variant.shares_diagonals && num_layers > 1 && masks.empty();
}

ExecutionPath diagonal_path() { return {"own loop over diagonals, one batched GEMM for all layers a step", {}}; }

void run_diagonal_forward(const UnrolledSpec& spec, std::vector<LayerTrace>& layers) {
  DiagonalForward(spec, layers).run();
}

PassGradients run_diagonal_backward(const UnrolledSpec& spec, const std::vector<LayerTrace>& layers,
                                    const ResultGradients& results, NeededGradients needs) {
  return DiagonalBackward(spec, layers, results, needs).run();
}

}  // namespace rnnlab
