// Dense layers and embeddings as Keras and TensorFlow have them: `dense_1/kernel` (inputs, outputs), `dense_1/bias`,
// `embedding/embeddings`.
#pragma once

#include <string>
#include <vector>

#include "training/named_tensor.h"
#include "weights/network_weights.h"
#include "weights/tensor_taker.h"

namespace rnnlab {

// UserError kCheckpoint. `path` is that of the layer.
LinearWeights take_dense(TensorTaker& taker, const std::string& path);
at::Tensor take_embedding(TensorTaker& taker, const std::string& path);

void add_dense_layers(std::vector<NamedTensor>& tensors, const NetworkWeights& network);

}  // namespace rnnlab
