// SPDX-License-Identifier: Apache-2.0
#include "layers/unrolled/passes.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/mul.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "layers/unrolled/recurrent_product.h"
#include "layers/unrolled/stream_set.h"

namespace rnnlab {
namespace {

class ForwardPass {
 public:
  ForwardPass(const UnrolledSpec& spec, std::vector<LayerTrace>& layers, const std::vector<at::Tensor>& masks)
      : spec_(spec),
        layers_(layers),
        masks_(masks),
        operands_(make_operands()),
        streams_(layers[0].gates.device(), /*num_side_streams=*/0, num_streams(spec, layers.size()) - 1),
        groups_(groups_of_steps(spec, layers[0].num_steps(), layers.size())) {}

  void run() {
    along_diagonals(layers_.size(), groups_.size(),
                    [&](size_t layer, size_t group) { run_group(layer, groups_[group]); });
    streams_.join();
  }

 private:
  struct Operands {
    at::Tensor weight_ih;  // (I, G * H)
    RecurrentProducts products;
    at::Tensor recurrent;  // (B, G * H), or undefined if there is no such product
  };

  std::vector<Operands> make_operands() const {
    std::vector<Operands> all;
    for (const LayerTrace& layer : layers_) {
      const at::Tensor& weight = layer.weights.weight_hh;
      all.push_back(
          {layer.weights.weight_ih.t(),
           RecurrentProducts(*spec_.code, weight, layer.hidden_size(), FactorLayout::kAsTheyAre),
           weight.defined() ? at::empty({layer.batch_size(), weight.size(0)}, layer.gates.options()) : weight});
    }
    return all;
  }

  void run_group(size_t layer, const Steps& steps) {
    const size_t product = product_stream(spec_, layer);
    const size_t recurrence = recurrence_stream(spec_, layer);
    if (layer > 0) streams_.order(recurrence_stream(spec_, layer - 1), product);
    streams_.run(product, [&] { multiply_inputs(layer, steps); });
    streams_.order(product, recurrence);
    streams_.run(recurrence, [&] {
      for (int64_t i = steps.first; i < steps.last; ++i) run_step(layer, i);
    });
  }

  void multiply_inputs(size_t layer, const Steps& steps) {
    LayerTrace& trace = layers_[layer];
    const int64_t first = first_position_of(spec_.direction, steps, trace.num_steps());
    if (layer > 0 && !masks_.empty()) {
      at::Tensor masked = trace.input.narrow(0, first, steps.size());
      at::mul_out(masked, output_of(layer - 1).narrow(0, first, steps.size()),
                  masks_[layer - 1].narrow(0, first, steps.size()));
    }
    at::Tensor products = matrix_of(trace.gates, first, steps.size());
    at::mm_out(products, matrix_of(trace.input, first, steps.size()), operands_[layer].weight_ih);
  }

  void run_step(size_t layer, int64_t i) {
    LayerTrace& trace = layers_[layer];
    const Operands& operands = operands_[layer];
    const int64_t t = position_of(spec_.direction, i, trace.num_steps());
    operands.products.multiply_hidden(operands.recurrent,
                                      trace.hidden_of_products()[state_rows(spec_.direction, t).before]);
    if (trace.operands.defined()) {
      run_operands_step(spec_, trace, operands.recurrent, t);
      operands.products.multiply_operands(operands.recurrent, trace.operands[t]);
    }
    run_forward_step(spec_, trace, operands.recurrent, t);
  }

  at::Tensor output_of(size_t layer) const { return states_after(spec_.direction, layers_[layer].hidden); }

  const UnrolledSpec& spec_;
  std::vector<LayerTrace>& layers_;
  const std::vector<at::Tensor>& masks_;
  std::vector<Operands> operands_;
  StreamSet streams_;  // begins after all that is prepared on the current stream
  std::vector<Steps> groups_;
};

// With fewer steps in a group, the layer above begins sooner; with more steps, there are fewer products and waits. This
// number keeps the time for which layers wait, (L - 1) groups, near the number of groups.
int64_t steps_per_group(const UnrolledSpec& spec, int64_t num_steps, size_t num_layers) {
  const double balanced = std::sqrt(static_cast<double>(num_steps) / static_cast<double>(num_layers));
  switch (spec.variant.input_products) {
    case InputProducts::kOneStep:
      return 1;
    case InputProducts::kAllSteps:
      return num_steps;
    case InputProducts::kGroupOfSteps:
      return std::clamp<int64_t>(std::llround(balanced), 1, num_steps);
  }
  fail_invariant("listed products", __FILE__, __LINE__, "steps_per_group does not know the products of the inputs");
}

}  // namespace

void run_forward_pass(const UnrolledSpec& spec, std::vector<LayerTrace>& layers, const std::vector<at::Tensor>& masks) {
  ForwardPass(spec, layers, masks).run();
}

std::vector<Steps> groups_of_steps(const UnrolledSpec& spec, int64_t num_steps, size_t num_layers) {
  const int64_t size = steps_per_group(spec, num_steps, num_layers);
  std::vector<Steps> groups;
  for (int64_t first = 0; first < num_steps; first += size)
    groups.push_back({first, std::min(first + size, num_steps)});
  return groups;
}

size_t recurrence_stream(const UnrolledSpec& spec, size_t layer) {
  return spec.variant.pipelines_layers ? 2 * layer : 0;
}

size_t product_stream(const UnrolledSpec& spec, size_t layer) {
  return recurrence_stream(spec, layer) + (spec.variant.uses_two_streams ? 1 : 0);
}

size_t num_streams(const UnrolledSpec& spec, size_t num_layers) { return product_stream(spec, num_layers - 1) + 1; }

}  // namespace rnnlab
