// SPDX-License-Identifier: Apache-2.0
// Small models and batches that the tests of models/ share.
#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include "train/models/model.h"

namespace rnnlab {

inline at::Tensor seeded_randn(at::IntArrayRef shape, uint64_t seed = 1) {
  return at::randn(shape, at::detail::createCPUGenerator(seed));
}

inline DataShape sequence_shape(Task task, int64_t input_size, int64_t num_outputs) {
  DataShape shape;
  shape.task = task;
  shape.input_size = input_size;
  shape.num_outputs = num_outputs;
  return shape;
}

inline DataShape text_shape(int64_t vocabulary) { return sequence_shape(Task::kLanguageModel, vocabulary, vocabulary); }

inline Batch batch_of(at::Tensor inputs, at::Tensor lengths = {}) {
  Batch batch;
  batch.size = inputs.size(1);
  batch.inputs = std::move(inputs);
  batch.lengths = std::move(lengths);
  return batch;
}

inline std::shared_ptr<Model> initialized_model(const ModelSettings& settings, const DataShape& shape,
                                                LayerKind layer = LayerKind::kNaive, uint64_t seed = 1) {
  auto model = make_model(settings, layer, shape);
  initialize(*model, settings.initialization, seed);
  return model;
}

// Returns the outputs of a function of `inputs`, then the gradients of their weighted sum in the inputs.
template <class Function>
std::vector<at::Tensor> with_gradients(const Function& function, const std::vector<at::Tensor>& inputs) {
  std::vector<at::Tensor> leaves;
  for (const at::Tensor& tensor : inputs) leaves.push_back(tensor.detach().clone().requires_grad_());
  const at::Tensor outputs = function(leaves);
  (outputs * seeded_randn(outputs.sizes(), 9).to(outputs.options())).sum().backward();
  std::vector<at::Tensor> results = {outputs.detach()};
  for (const at::Tensor& leaf : leaves) results.push_back(leaf.grad());
  return results;
}

inline std::vector<at::Tensor> converted(std::vector<at::Tensor> tensors, const at::TensorOptions& options) {
  for (at::Tensor& tensor : tensors) tensor = tensor.to(options);
  return tensors;
}

// tolerance: of the largest value of each tensor.
inline void expect_close(const std::vector<at::Tensor>& got, const std::vector<at::Tensor>& wanted, double tolerance) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].sizes(), wanted[i].sizes());
    const double scale = wanted[i].abs().max().item<double>();
    EXPECT_LE((got[i] - wanted[i]).abs().max().item<double>(), tolerance * scale) << "of result " << i;
  }
}

}  // namespace rnnlab
