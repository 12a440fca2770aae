// Which layers a file of Keras's variables has, by their paths: `sequential/lstm_1/lstm_cell/kernel`. A file has no
// order of its own, so layers of a kind are taken by the number at the end of their names.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"

namespace rnnlab {

struct KerasNames {
  std::string cell;  // "lstm_cell", "gru_cell" or "simple_rnn_cell"
  std::vector<std::array<std::string, 2>>
      recurrent;                   // of each layer, its cell's path and that of its backward cell or ""
  std::vector<std::string> dense;  // paths of layers
  std::string embedding;           // the path of the layer, or ""
};

bool is_keras_layout(const TensorFile& file);

// UserError kCheckpoint where the order of layers cannot be told, or where they are no stack.
KerasNames keras_names(const TensorFile& file);

// What Keras calls the layer number `index` of a model: "dense", "dense_1".
std::string keras_layer_name(const std::string& kind, size_t index);

// The path of a cell: "lstm_1/lstm_cell", "bidirectional_1/backward_lstm_1/lstm_cell".
std::string keras_cell_path(const std::string& kind, size_t layer, const char* direction);

}  // namespace rnnlab
