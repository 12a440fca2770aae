#include "models/model_settings.h"

#include <fmt/format.h>

#include "recurrent/cells/cell.h"

namespace rnnlab {

RecurrentOptions recurrent_options(const ModelSettings& settings, int64_t input_size) {
  return {.cell = settings.cell,
          .input_size = input_size,
          .hidden_size = settings.hidden_size,
          .num_layers = settings.num_layers,
          .bidirectional = settings.bidirectional,
          .dropout = settings.dropout,
          .batch_first = false,
          .reset_gate = settings.reset_gate,
          .activation = settings.activation,
          .candidate = settings.candidate,
          .num_heads = settings.heads};
}

namespace {

using Settings = ModelSettings;
using config::Checker;

void list_recurrent(config::Schema<Settings>& s) {
  s.field("kind", &Settings::kind, "what the network is for");
  s.field("cell", &Settings::cell, "the recurrent cell; " + described_cells());
  s.field("hidden_size", &Settings::hidden_size, "units of a recurrent layer, in each direction")
      .unit("units")
      .at_least(1)
      .at_most(65536);
  s.field("num_layers", &Settings::num_layers, "recurrent layers on top of each other")
      .unit("layers")
      .at_least(1)
      .at_most(1024);
  s.field("bidirectional", &Settings::bidirectional, "read each sequence in both directions");
  s.field("dropout", &Settings::dropout, "probability of a zero, between recurrent layers").at_least(0.0).below(1.0);
  s.field("reset_gate", &Settings::reset_gate,
          cells_with(CellOption::kResetGate) + ": reset gate after the recurrent product (cuDNN's form) or before it");
  s.field(
      "activation", &Settings::activation,
      cells_with(CellOption::kActivation) + ": non-linearity of the cell; fused, cudnn and persistent have tanh only");
  s.field("candidate", &Settings::candidate,
          cells_with(CellOption::kCandidate) +
              ": candidate state of a sum x; positive: x + 0.5 where x >= 0, else sigmoid(x); linear: x");
  s.field("heads", &Settings::heads,
          cells_with(CellOption::kHeads) +
              ": equal groups of units; a group's gates read only the hidden states of the same group")
      .unit("heads")
      .at_least(1)
      .at_most(65536);
}

void list_head(config::Schema<Settings>& s) {
  s.field("pooling", &Settings::pooling,
          "a sequence as one vector: outputs after its last step, or their mean over its steps");
  s.field("output_dropout", &Settings::output_dropout,
          "probability of a zero, after the recurrent layers and the pooling")
      .at_least(0.0)
      .below(1.0);
  s.field("dense", &Settings::dense, "sizes of the dense layers before the output layer")
      .unit("units")
      .at_least(1)
      .at_most(1048576);
  s.field("dense_activation", &Settings::dense_activation, "non-linearity after each of the dense layers");
  s.field("dense_dropout", &Settings::dense_dropout, "probability of a zero, after each of the dense layers")
      .at_least(0.0)
      .below(1.0);
  s.field("num_convolutions", &Settings::num_convolutions, "image classifier: convolutions, in two groups")
      .unit("layers")
      .where("2 or 4", [](int64_t count) { return count == 2 || count == 4; });
  s.field("embedding_size", &Settings::embedding_size,
          "language model: length of a token's vector; by default hidden_size")
      .unit("units")
      .at_least(1)
      .at_most(65536);
  s.field("tied", &Settings::tied, "language model: the output layer's weights are the embedding's");
  s.field("initialization", &Settings::initialization,
          "initial weights: as torch.nn draws them, or Xavier-uniform kernels and zero biases");
  s.field("initial_weights", &Settings::initial_weights,
          "safetensors file with the initial weights, of the whole model or of the recurrent layer only, with the "
          "names of PyTorch, Keras or TensorFlow; searched from the current directory, then from the experiment file's "
          "folder")
      .may_change(config::Change::kOnCompare);
}

void check_recurrent(const Settings& m, Checker& checker) {
  for (const UnreadOption& unread : unread_options(recurrent_options(m, 1)))
    checker.complain({unread.key, "cell"}, unread.message);
  if (const std::string fault = cell_fault(recurrent_options(m, 1)); !fault.empty())
    checker.complain({"heads", "hidden_size"}, fault);
  if (m.dropout > 0.0 && m.num_layers == 1) {
    checker.complain({"dropout", "num_layers"},
                     "dropout applies between recurrent layers, and there is only one: use output_dropout");
  }
}

void check_language_model(const Settings& m, Checker& checker) {
  if (m.bidirectional)
    checker.complain(
        {"bidirectional", "kind"},
        "a bidirectional language model would see the tokens that it has to predict: use bidirectional: false");
  if (m.pooling == Pooling::kMean)
    checker.complain({"pooling", "kind"}, "a language model predicts at every step: remove pooling");
  if (!m.dense.empty()) checker.complain({"dense", "kind"}, "a language model has no dense layers");
  if (m.tied && m.effective_embedding_size() != m.hidden_size) {
    checker.complain({"tied", "embedding_size", "hidden_size"},
                     "tied weights need an embedding_size equal to hidden_size");
  }
}

// Refuses keys of recurrent layers that are set although the model has none.
void check_image_model(const Settings& m, Checker& checker) {
  const Settings defaults;
  const auto refuse_other = [&](const char* key, auto Settings::*member) {
    if (m.*member != defaults.*member)
      checker.complain({key, "kind"}, "an image_classifier has no recurrent layers; leave it out");
  };
  refuse_other("cell", &Settings::cell);
  refuse_other("hidden_size", &Settings::hidden_size);
  refuse_other("num_layers", &Settings::num_layers);
  refuse_other("bidirectional", &Settings::bidirectional);
  refuse_other("dropout", &Settings::dropout);
  refuse_other("reset_gate", &Settings::reset_gate);
  refuse_other("activation", &Settings::activation);
  refuse_other("candidate", &Settings::candidate);
  refuse_other("heads", &Settings::heads);
  refuse_other("pooling", &Settings::pooling);
  refuse_other("output_dropout", &Settings::output_dropout);
}

void check_no_convolutions(const Settings& m, Checker& checker) {
  if (m.num_convolutions != Settings().num_convolutions)
    checker.complain({"num_convolutions", "kind"}, "only an image_classifier has convolutions");
}

void check_no_embedding(const Settings& m, Checker& checker) {
  if (m.embedding_size) checker.complain({"embedding_size", "kind"}, "only a language model has an embedding");
  if (m.tied) checker.complain({"tied", "kind"}, "only a language model has an embedding to tie");
}

void check_dense(const Settings& m, Checker& checker) {
  constexpr size_t kMostLayers = 1024;
  if (m.dense.size() > kMostLayers)
    checker.complain({"dense"}, fmt::format("got {} layers, expected at most {}", m.dense.size(), kMostLayers));
  if (m.dense_dropout > 0.0 && m.dense.empty()) {
    checker.complain({"dense_dropout", "dense"}, "there are no dense layers: remove dense_dropout");
  }
}

void check_settings(const Settings& m, Checker& checker) {
  const bool is_image_model = m.kind == ModelKind::kImageClassifier;
  is_image_model ? check_image_model(m, checker) : check_recurrent(m, checker);
  if (!is_image_model) check_no_convolutions(m, checker);
  if (m.kind == ModelKind::kLanguageModel) return check_language_model(m, checker);
  check_no_embedding(m, checker);
  check_dense(m, checker);
}

config::Schema<Settings> make_schema() {
  config::Schema<Settings> s("The network");
  list_recurrent(s);
  list_head(s);
  s.check(check_settings);
  return s;
}

}  // namespace

const config::Schema<ModelSettings>& ModelSettings::schema() {
  static const config::Schema<ModelSettings> schema = make_schema();
  return schema;
}

}  // namespace rnnlab
