// TensorFlow's canonical layout: what the cuDNN layers of TensorFlow 1 (tf.contrib.cudnn_rnn) saved themselves as, for
// cells that run anywhere. One kernel (inputs + hidden, gates) a cell; an LSTM's gates in the order i c f o; a GRU's
// gates r u apart from its candidate; biases summed, and halved on the way back.
// Source: tensorflow 1, contrib/cudnn_rnn/python/ops/cudnn_rnn_ops.py, the Saveable classes; GRUCell for the other
// reset gate.
#pragma once

#include <vector>

#include "checkpoint/safetensors.h"
#include "training/named_tensor.h"
#include "weights/network_weights.h"

namespace rnnlab {

bool is_tensorflow_layout(const TensorFile& file);
NetworkWeights read_tensorflow_layout(const TensorFile& file);

// UserError kUsage where the cells have another activation than TensorFlow's.
std::vector<NamedTensor> tensorflow_layout(const NetworkWeights& network);

}  // namespace rnnlab
