#include "weights/layouts.h"

#include <fmt/format.h>

#include "base/error.h"
#include "recurrent/cells/cell.h"
#include "weights/keras_layout.h"
#include "weights/pytorch_layout.h"
#include "weights/tensorflow_layout.h"

namespace rnnlab {

std::optional<Layout> layout_of(const TensorFile& file) {
  if (is_pytorch_layout(file)) return Layout::kPyTorch;
  if (is_keras_layout(file)) return Layout::kKeras;
  if (is_tensorflow_layout(file)) return Layout::kTensorFlow;
  return std::nullopt;
}

NetworkWeights read_network(const TensorFile& file, Layout layout) {
  switch (layout) {
    case Layout::kPyTorch:
      return read_pytorch_layout(file);
    case Layout::kKeras:
      return read_keras_layout(file);
    case Layout::kTensorFlow:
      return read_tensorflow_layout(file);
  }
  fail_invariant("a listed layout", __FILE__, __LINE__, "read_network does not know it");
}

std::vector<NamedTensor> export_tensors(const NetworkWeights& network, Layout layout) {
  switch (layout) {
    case Layout::kPyTorch:
      return pytorch_layout(network);
    case Layout::kKeras:
      return keras_layout(network);
    case Layout::kTensorFlow:
      return tensorflow_layout(network);
  }
  fail_invariant("a listed layout", __FILE__, __LINE__, "export_tensors does not know it");
}

namespace {

const char* pytorch_module(Cell cell) {
  switch (library_cell(cell)) {
    case LibraryCell::kLstm:
      return "LSTM";
    case LibraryCell::kGru:
      return "GRU";
    case LibraryCell::kRnnTanh:
    case LibraryCell::kRnnRelu:
      return "RNN";
  }
  fail_invariant("a listed cell", __FILE__, __LINE__, "pytorch_module does not know the cell");
}

const char* keras_class(Cell cell) {
  switch (library_cell(cell)) {
    case LibraryCell::kLstm:
      return "LSTM";
    case LibraryCell::kGru:
      return "GRU";
    case LibraryCell::kRnnTanh:
    case LibraryCell::kRnnRelu:
      return "SimpleRNN";
  }
  fail_invariant("a listed cell", __FILE__, __LINE__, "keras_class does not know the cell");
}

std::string pytorch_text(const RecurrentOptions& options) {
  std::string text =
      fmt::format("torch.nn.{}({}, {}", pytorch_module(options.cell), options.input_size, options.hidden_size);
  if (options.num_layers > 1) text += fmt::format(", num_layers={}", options.num_layers);
  if (options.bidirectional) text += ", bidirectional=True";
  if (options.cell == Cell::kRnnRelu) text += ", nonlinearity='relu'";
  return text + ")";
}

std::string keras_text(const RecurrentOptions& options) {
  std::string text = fmt::format("keras.layers.{}({}", keras_class(options.cell), options.hidden_size);
  if (options.cell == Cell::kRnnRelu || options.activation == Activation::kRelu) text += ", activation='relu'";
  if (options.cell == Cell::kGru && options.reset_gate == ResetGate::kBefore) text += ", reset_after=False";
  text += ")";
  return options.bidirectional ? fmt::format("keras.layers.Bidirectional({})", text) : text;
}

std::string tensorflow_text(const RecurrentOptions& options) {
  const int64_t size = options.hidden_size;
  switch (library_cell(options.cell)) {
    case LibraryCell::kLstm:
      return fmt::format("CudnnCompatibleLSTMCell({0}) or LSTMCell({0}, forget_bias=0)", size);
    case LibraryCell::kGru:
      return fmt::format("{}({})", options.reset_gate == ResetGate::kAfter ? "CudnnCompatibleGRUCell" : "GRUCell",
                         size);
    case LibraryCell::kRnnTanh:
      return fmt::format("BasicRNNCell({})", size);
    case LibraryCell::kRnnRelu:
      return fmt::format("BasicRNNCell({}, activation=tf.nn.relu)", size);
  }
  fail_invariant("a listed cell", __FILE__, __LINE__, "tensorflow_text does not know the cell");
}

std::string cells_text(const RecurrentOptions& options, const std::string& one) {
  const int64_t count = options.num_layers;
  return count == 1 ? one : fmt::format("{} x {}", count, one);
}

}  // namespace

void require_layout_has(Cell cell, Layout layout) {
  if (layout == Layout::kPyTorch || info_of(cell).library) return;
  throw_error(ExitCode::kUsage, "model.cell: the {} layout has no {}; use --layout pytorch", config::name_of(layout),
              config::name_of(cell));
}

std::string layer_text(const RecurrentOptions& options, Layout layout) {
  if (!info_of(options.cell).library)
    return fmt::format("{}({}, {}) of rnnlab, which torch.nn does not have", config::name_of(options.cell),
                       options.input_size, options.hidden_size);
  if (layout == Layout::kPyTorch) return pytorch_text(options);
  if (layout == Layout::kKeras) return cells_text(options, keras_text(options));
  return cells_text(options, tensorflow_text(options)) + (options.bidirectional ? ", bidirectional" : "");
}

std::vector<std::string> layout_notes(const RecurrentOptions& options, Layout layout) {
  if (layout != Layout::kPyTorch) return {};
  std::vector<std::string> notes;
  if (options.reset_gate == ResetGate::kBefore)
    notes.emplace_back(
        "model.reset_gate is before: torch.nn.GRU applies the reset gate after the product and computes a different "
        "function");
  if (options.activation == Activation::kRelu)
    notes.emplace_back("model.activation is relu: torch.nn's cells have tanh and compute a different function");
  return notes;
}

}  // namespace rnnlab
