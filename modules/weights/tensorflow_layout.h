// TensorFlow's canonical layout: the form in which the cuDNN layers of TensorFlow 1 (tf.contrib.cudnn_rnn) were saved,
// for cells that run on every device. Each cell has one kernel (inputs + hidden, gates). An LSTM's gates are in the
// order i c f o. A GRU's gates r u are separate from its candidate. Biases are summed when written and halved when
// read.
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

// Throws UserError kUsage if the cells have a different activation than TensorFlow's cells.
std::vector<NamedTensor> tensorflow_layout(const NetworkWeights& network);

}  // namespace rnnlab
