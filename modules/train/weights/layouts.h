// SPDX-License-Identifier: Apache-2.0
// Reads and writes weights in the layouts of PyTorch, Keras and TensorFlow, and reads that of xlstm; docs/weights.md
// has the tables. If a layout has one bias and PyTorch has two, the sum is written, and each of the two is read as half
// of the bias, as TensorFlow does: the sum of the halves is exactly the bias in the file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/config/enum_names.h"
#include "layers/parameters.h"
#include "results/checkpoint/safetensors.h"
#include "train/weights/network_weights.h"

namespace rnnlab {

// The naming and layout of the same weights in different libraries. kPyTorch: rnnlab's own, with the names of torch.nn.
// kKeras: the variable paths of Keras 3. kTensorFlow: the cells as which TensorFlow 1's cuDNN layers are saved. kXlstm:
// the sLSTM cell and layer of the package xlstm, which rnnlab only reads.
enum class Layout { kPyTorch, kKeras, kTensorFlow, kXlstm };

RNNLAB_ENUM_NAMES(Layout, {kPyTorch, "pytorch"}, {kKeras, "keras"}, {kTensorFlow, "tensorflow"}, {kXlstm, "xlstm"});

// Returns the layout by the names of the tensors; nullopt if they do not belong to a recurrent layer.
std::optional<Layout> layout_of(const TensorFile& file);

// Returns the layouts that rnnlab writes. It reads all of them.
std::vector<Layout> written_layouts();

// Reads a file of float32 tensors. Throws UserError kCheckpoint with the first tensor that is missing, different or
// unexpected, or with a property of the file that rnnlab's layers do not support.
NetworkWeights read_network(const TensorFile& file, Layout layout);

// Returns contiguous float32 tensors. PyTorch's layout has the names of torch.nn without prefix if the network has only
// recurrent layers. Throws UserError kUsage if the layout cannot represent the network's function.
std::vector<NamedTensor> export_tensors(const NetworkWeights& network, Layout layout);

// Returns the metadata of a file with such tensors.
TensorMetadata metadata_of(const LayoutMetadata& metadata, Layout layout);

// Throws UserError kUsage if the layout does not have the cell, because the layouts of libraries have only the cells of
// libraries, or if rnnlab does not write the layout.
void require_layout_has(Cell cell, Layout layout);

// Returns the layer that accepts the recurrent weights: "torch.nn.LSTM(28, 128, num_layers=2)" or
// "2 x keras.layers.LSTM(128)". For a cell that libraries do not have, "min_gru(28, 128) of rnnlab, ...".
std::string layer_text(const RecurrentOptions& options, Layout layout);

// Returns the differences between the layer of layer_text and the function of the network.
std::vector<std::string> layout_notes(const RecurrentOptions& options, Layout layout);

}  // namespace rnnlab
