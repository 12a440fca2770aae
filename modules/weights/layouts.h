// Weights in the layouts of PyTorch, Keras and TensorFlow, read and written: docs/weights.md has the tables. Where
// a layout has one bias and PyTorch two, the sum goes out and halves come back, which is TensorFlow's own rule: the
// halves add up to exactly what was read.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/safetensors.h"
#include "config/enum_names.h"
#include "training/named_tensor.h"
#include "weights/network_weights.h"

namespace rnnlab {

// The ways in which libraries name and lay out the same weights.

// kPyTorch: rnnlab's own, torch.nn's names. kKeras: Keras 3's paths of variables. kTensorFlow: the cells that
// TensorFlow 1's cuDNN layers save themselves as.
enum class Layout { kPyTorch, kKeras, kTensorFlow };

}  // namespace rnnlab

template <>
struct rnnlab::config::EnumNames<rnnlab::Layout> {
  static constexpr std::array<std::pair<rnnlab::Layout, std::string_view>, 3> kNames = {{
      {rnnlab::Layout::kPyTorch, "pytorch"},
      {rnnlab::Layout::kKeras, "keras"},
      {rnnlab::Layout::kTensorFlow, "tensorflow"},
  }};
};

namespace rnnlab {

// By its names; nothing where they are of no recurrent layer.
std::optional<Layout> layout_of(const TensorFile& file);

// A file of float32 tensors. UserError kCheckpoint names the first tensor that is missing, different or unexpected, and
// what the layout says that rnnlab's layers are not.
NetworkWeights read_network(const TensorFile& file, Layout layout);

// Contiguous float32 tensors. PyTorch's layout has torch.nn's bare names where there is nothing but recurrent layers.
// UserError kUsage where the layout cannot say what the network computes.
std::vector<NamedTensor> export_tensors(const NetworkWeights& network, Layout layout);

// What to put beside the tensors in the file, and what a file says so.
TensorMetadata metadata_of(const LayoutMetadata& known, Layout layout);
LayoutMetadata facts_in(const TensorFile& file);

// That the file's weights are of the function that `options` compute, as far as it is known. UserError kCheckpoint, as
// of a model's settings.
void require_same_function(const LayoutMetadata& known, const RecurrentOptions& options, const std::string& file);

// "torch.nn.LSTM(28, 128, num_layers=2)", "2 x keras.layers.LSTM(128)": what takes the recurrent layers' weights.
std::string layer_text(const RecurrentOptions& options, Layout layout);

// What the layer of layer_text would compute otherwise, or needs to be told.
std::vector<std::string> layout_notes(const RecurrentOptions& options, Layout layout);

}  // namespace rnnlab
