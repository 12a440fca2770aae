// SPDX-License-Identifier: Apache-2.0
// Small models and batches that the tests of models/ share.
#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>

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

}  // namespace rnnlab
