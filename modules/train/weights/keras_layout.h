// SPDX-License-Identifier: Apache-2.0
// Names of Keras that the layouts of Keras and TensorFlow have in common: dense layers and embeddings, `dense_1/kernel`
// (inputs, outputs), `dense_1/bias`, `embedding/embeddings`.
#pragma once

#include <string>
#include <vector>

#include "layers/parameters.h"
#include "train/weights/network_weights.h"
#include "train/weights/tensor_reader.h"

namespace rnnlab {

// Returns Keras's name for layer number `index` of a model: "dense", "dense_1".
std::string keras_layer_name(const std::string& kind, size_t index);

// These functions read one layer. `path` is the path of the layer. They throw UserError kCheckpoint.
LinearWeights take_dense(TensorReader& reader, const std::string& path);
at::Tensor take_embedding(TensorReader& reader, const std::string& path);

void add_dense_layers(std::vector<NamedTensor>& tensors, const NetworkWeights& network);

// Returns "3 x `layer`", or the layer if there is only one.
std::string repeated_layer(int64_t count, const std::string& layer);

}  // namespace rnnlab
