// Weights with the names and shapes of Keras.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "training/named_tensor.h"
#include "weights/network_weights.h"
#include "weights/tensor_reader.h"

namespace rnnlab {

// The layers in a file of Keras's variables, by their paths: `sequential/lstm_1/lstm_cell/kernel`. The file does not
// store the order of layers, so layers of one kind are ordered by the number at the end of their names.
struct KerasNames {
  std::string cell;  // "lstm_cell", "gru_cell" or "simple_rnn_cell"
  std::vector<std::array<std::string, 2>>
      recurrent;                   // for each layer, the path of its cell, and the path of its backward cell or ""
  std::vector<std::string> dense;  // paths of layers
  std::string embedding;           // the path of the layer, or ""
};

bool is_keras_layout(const TensorFile& file);

// Throws UserError kCheckpoint if the names do not determine the order of layers, or if the layers are not a stack.
KerasNames keras_names(const TensorFile& file);

// Returns Keras's name for layer number `index` of a model: "dense", "dense_1".
std::string keras_layer_name(const std::string& kind, size_t index);

// Returns the path of a cell: "lstm_1/lstm_cell", "bidirectional_1/backward_lstm_1/lstm_cell".
std::string keras_cell_path(const std::string& kind, size_t layer, const char* direction);

// These functions read the dense layers and embeddings of Keras and TensorFlow: `dense_1/kernel` (inputs, outputs),
// `dense_1/bias`, `embedding/embeddings`. `path` is the path of the layer. They throw UserError kCheckpoint.
LinearWeights take_dense(TensorReader& taker, const std::string& path);
at::Tensor take_embedding(TensorReader& taker, const std::string& path);

void add_dense_layers(std::vector<NamedTensor>& tensors, const NetworkWeights& network);

// Keras 3's layout: kernels of (inputs, gates); an LSTM's gates in PyTorch's order and a GRU's gates z r h; one bias,
// but two for a GRU with reset_after=True, which is Keras's default and the reset gate of cuDNN.
NetworkWeights read_keras_layout(const TensorFile& file);
std::vector<NamedTensor> keras_layout(const NetworkWeights& network);

}  // namespace rnnlab
