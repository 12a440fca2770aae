// Keras 3's layout: kernels of (inputs, gates), an LSTM's gates in PyTorch's order and a GRU's z r h, one bias, but two
// for a GRU with reset_after=True, which is Keras's default and the reset gate of cuDNN.
#pragma once

#include <vector>

#include "checkpoint/safetensors.h"
#include "training/named_tensor.h"
#include "weights/network_weights.h"

namespace rnnlab {

NetworkWeights read_keras_layout(const TensorFile& file);
std::vector<NamedTensor> keras_layout(const NetworkWeights& network);

}  // namespace rnnlab
