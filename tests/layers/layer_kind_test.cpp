// SPDX-License-Identifier: Apache-2.0
// Tests what the records of the layers support, and why they do not support the rest.
#include "layers/layer_kind.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/expect_error.h"
#include "base/text.h"
#include "layers/kernel_cache/nvrtc.h"
#include "layers/recurrent_layer.h"
#include "layers/refusals.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;

// Returns "lstm, gru".
std::string names_of_cells_of(LayerKind kind) {
  std::vector<std::string> names;
  for (const Cell cell : all_cells())
    if (!why_unsupported(kind, {.options = RecurrentOptions{.cell = cell, .hidden_size = 64}}))
      names.emplace_back(config::name_of(cell));
  return join(names, ", ");
}

// Returns the values of options, each by itself, that the layer computes for at least one cell and, marked by "not",
// for another cell does not: "num_layers: 2, not reset_gate: before".
std::string options_of(LayerKind kind) {
  std::vector<std::string> texts;
  for (const Cell cell : all_cells()) {
    if (why_unsupported(kind, {.options = RecurrentOptions{.cell = cell, .hidden_size = 64}})) continue;
    for (const RecurrentOptions& options : unusual_options(cell)) {
      const UsedOption used = used_options(options).front();
      const bool is_refused = why_unsupported(kind, {.options = options}).has_value();
      add_once(texts, fmt::format("{}{}: {}", is_refused ? "not " : "", used.key, used.value));
    }
  }
  return join(texts, ", ");
}

std::string kinds_without(PassFeature feature) {
  std::vector<std::string> without;
  for (const LayerKind kind : layer_kinds())
    if (!has_feature(kind, feature)) without.emplace_back(config::name_of(kind));
  return join(without, ", ");
}

// A library's call cannot set states to zero on its way, nor can a product that two layers share.
TEST(LayerKinds, SayWhichFeaturesTheirPassesHave) {
  EXPECT_EQ(kinds_without(PassFeature::kStarts), "diagonal, fused, cudnn");
  EXPECT_EQ(kinds_without(PassFeature::kAllStates), "fused, cudnn");
}

TEST(LayerKinds, MayHaveAFeatureForSomeCellsOnly) {
  const auto refuses = [](LayerKind kind, Cell cell, PassFeature feature) {
    const RecurrentOptions options = {.cell = cell, .hidden_size = 64};
    return why_unsupported(kind, {.options = options, .features = {feature}}).has_value();
  };
  EXPECT_TRUE(refuses(LayerKind::kPersistent, Cell::kSlstm, PassFeature::kStarts));
  EXPECT_TRUE(refuses(LayerKind::kPersistent, Cell::kSlstm, PassFeature::kAllStates));
  EXPECT_FALSE(refuses(LayerKind::kScan, Cell::kMinGru, PassFeature::kAllStates));
  const Cell of_two =
      own_cell({.gates = {"n"}, .states = {"h", "c"}, .equations = "c = 0.5 * c + x.n\nh = tanh(c)"}).value();
  EXPECT_FALSE(refuses(LayerKind::kScan, of_two, PassFeature::kStarts));
  EXPECT_TRUE(refuses(LayerKind::kScan, of_two, PassFeature::kAllStates));
}

struct Support {
  std::string_view layer, cells, options;
};

constexpr std::string_view kAllCells = "lstm, gru, rnn_tanh, rnn_relu, min_gru, min_lstm, lstm_peephole, slstm";
constexpr std::string_view kLibraryCells = "lstm, gru, rnn_tanh, rnn_relu";
constexpr std::string_view kRecurrentCells = "lstm, gru, rnn_tanh, rnn_relu, lstm_peephole, slstm";
constexpr std::string_view kOfLibraries =
    "num_layers: 2, bidirectional: true, dropout: 0.5, not activation: relu, not reset_gate: before";
constexpr std::string_view kOfAll =
    "num_layers: 2, bidirectional: true, dropout: 0.5, activation: relu, reset_gate: before, candidate: linear, heads: "
    "2";

constexpr Support kSupport[] = {
    {"naive", kAllCells, kOfAll},
    {"grouped", kAllCells, kOfAll},
    {"streamed", kAllCells, kOfAll},
    {"fused_pointwise", kAllCells, kOfAll},
    {"pretransposed", kAllCells, kOfAll},
    {"hoisted", kAllCells, kOfAll},
    {"blocked", kRecurrentCells,
     "num_layers: 2, bidirectional: true, dropout: 0.5, activation: relu, not reset_gate: before, not heads: 2"},
    {"wavefront", kAllCells,
     "num_layers: 2, not bidirectional: true, dropout: 0.5, activation: relu, reset_gate: before, candidate: linear, "
     "heads: 2"},
    {"diagonal", "lstm, rnn_tanh, rnn_relu, lstm_peephole, slstm",
     "num_layers: 2, not bidirectional: true, dropout: 0.5, activation: relu, not heads: 2"},
    {"persistent", kRecurrentCells,
     "num_layers: 2, bidirectional: true, dropout: 0.5, activation: relu, not reset_gate: before, heads: 2"},
    {"scan", "min_gru, min_lstm", "num_layers: 2, bidirectional: true, dropout: 0.5, candidate: linear"},
    {"fused", kLibraryCells, kOfLibraries},
    {"cudnn", kLibraryCells, kOfLibraries},
    {"auto", kAllCells, kOfAll},
};

TEST(WhyUnsupported, KnowsWhatEachLayerSupports) {
  EXPECT_EQ(std::size(kSupport), config::EnumNames<LayerKind>::kNames.size());
  for (const Support& expected : kSupport) {
    const LayerKind kind = config::from_name<LayerKind>(expected.layer).value();
    EXPECT_EQ(names_of_cells_of(kind), expected.cells) << expected.layer;
    EXPECT_EQ(options_of(kind), expected.options) << expected.layer;
  }
}

constexpr int kUnknown = 99;

TEST(WhyUnsupported, RefusesAnOptionThatNoRecordLists) {
  const UsedOption zoneout = {.option = static_cast<RecurrentOption>(kUnknown), .key = "zoneout", .value = "0.1"};
  for (const LayerKind kind : layer_kinds()) EXPECT_FALSE(has_option(info_of(kind), zoneout)) << config::name_of(kind);
}

TEST(WhyUnsupported, RefusesACellThatNoRecordLists) {
  for (const LayerKind kind : layer_kinds())
    EXPECT_FALSE(has_cell(kind, static_cast<Cell>(kUnknown))) << config::name_of(kind);
}

// Layers that run programs have the values of a cell's options by switches over all of them, so that a new one does not
// compile.
TEST(WhyUnsupported, RefusesAValueThatNoRecordLists) {
  for (const LayerKind kind : layer_kinds()) {
    for (const Cell cell : info_of(kind).cells) {
      RecurrentOptions options = {.cell = cell, .hidden_size = 64};
      options.activation = static_cast<Activation>(kUnknown);
      EXPECT_TRUE(refusal_of(kind, options)) << config::name_of(kind);
      options = {.cell = cell, .hidden_size = 64, .reset_gate = static_cast<ResetGate>(kUnknown)};
      EXPECT_TRUE(refusal_of(kind, options)) << config::name_of(kind);
      options = {.cell = cell, .hidden_size = 64, .candidate = static_cast<Candidate>(kUnknown)};
      EXPECT_TRUE(refusal_of(kind, options)) << config::name_of(kind);
    }
  }
}

TEST(WhyUnsupported, RefusesAPrecisionAndAProcessorThatNoRecordLists) {
  for (const LayerKind kind : layer_kinds()) {
    EXPECT_TRUE(why_unsupported(kind, {.precision = static_cast<Precision>(kUnknown)})) << config::name_of(kind);
    EXPECT_TRUE(why_unsupported(kind, {.processor = static_cast<Processor>(kUnknown)})) << config::name_of(kind);
  }
}

TEST(WhyUnsupported, NamesTheKeysInConflict) {
  const auto keys = [](LayerKind kind, const LayerWork& work) { return why_unsupported(kind, work).value().keys; };
  const RecurrentOptions large = {.hidden_size = 1536};
  EXPECT_THAT(keys(LayerKind::kFused, {.options = RecurrentOptions{.activation = Activation::kRelu}}),
              ElementsAre("layer", "model.activation", "model.cell"));
  EXPECT_THAT(keys(LayerKind::kFused, {.options = RecurrentOptions{.cell = Cell::kMinGru}}),
              ElementsAre("layer", "model.cell"));
  EXPECT_THAT(keys(LayerKind::kBlocked, {.processor = Processor::kGpu}), ElementsAre("layer", "device"));
  const RecurrentOptions larger = {.hidden_size = 1544};
  EXPECT_THAT(keys(LayerKind::kPersistent, {.options = larger}), ElementsAre("layer", "model.hidden_size"));
  EXPECT_THAT(keys(LayerKind::kPersistent, {.options = large, .precision = Precision::kFp32}),
              ElementsAre("layer", "precision", "model.hidden_size"));
  EXPECT_THAT(keys(LayerKind::kNaive, {.options = RecurrentOptions{.heads = 2}}), ElementsAre("heads", "cell"));
  const Cell without_input = own_cell({.gates = {"a"}, .states = {"h"}, .equations = "h = tanh(h.a)"}).value();
  EXPECT_THAT(keys(LayerKind::kNaive, {.options = RecurrentOptions{.cell = without_input, .num_layers = 2}}),
              ElementsAre("num_layers", "cell"));
}

TEST(WhyUnsupported, NamesTheOptionAndTheLayersThatCan) {
  const std::pair<LayerKind, LayerWork> unsupported[] = {
      {LayerKind::kFused, {.options = RecurrentOptions{.activation = Activation::kRelu}}},
      {LayerKind::kFused, {.options = RecurrentOptions{.activation = Activation::kRelu}, .processor = Processor::kCpu}},
      {LayerKind::kFused, {.options = RecurrentOptions{.cell = Cell::kGru, .reset_gate = ResetGate::kBefore}}},
      {LayerKind::kBlocked, {.options = RecurrentOptions{.cell = Cell::kGru, .reset_gate = ResetGate::kBefore}}},
      {LayerKind::kBlocked, {.options = RecurrentOptions{.cell = Cell::kMinGru}}},
      {LayerKind::kDiagonal, {.options = RecurrentOptions{.cell = Cell::kGru}}},
      {LayerKind::kWavefront, {.options = RecurrentOptions{.num_layers = 2, .bidirectional = true}}},
      {LayerKind::kWavefront, {.processor = Processor::kCpu}},
      {LayerKind::kNaive, {.options = RecurrentOptions{.cell = Cell::kSlstm, .hidden_size = 4, .heads = 3}}},
      {LayerKind::kNaive, {.options = RecurrentOptions{.cell = Cell::kLstm, .reset_gate = ResetGate::kBefore}}},
      {LayerKind::kNaive, {.options = RecurrentOptions{.cell = Cell::kRnnTanh, .activation = Activation::kRelu}}}};
  for (const auto& [kind, work] : unsupported) expect_golden(refusal_of(kind, work));
  EXPECT_EQ(refusal_of(LayerKind::kNaive, {.cell = Cell::kGru, .reset_gate = ResetGate::kBefore}), std::nullopt);
  EXPECT_EQ(refusal_of(LayerKind::kNaive, {.cell = Cell::kSlstm}), std::nullopt);
  EXPECT_EQ(refusal_of(LayerKind::kFused, {.cell = Cell::kRnnRelu}), std::nullopt);
  EXPECT_EQ(refusal_of(LayerKind::kWavefront, Processor::kGpu), std::nullopt);
  EXPECT_EQ(refusal_of(LayerKind::kHoisted, Processor::kCpu), std::nullopt);
}

TEST(WhyUnsupported, NamesACellThatTheLayerDoesNotHave) {
  for (const LayerKind kind : layer_kinds())
    if (!has_cell(kind, Cell::kLstmPeephole))
      expect_golden(refusal_of(kind, {.cell = Cell::kLstmPeephole, .hidden_size = 64}));
}

// A scan's kernels for a GPU that the build has no code for are compiled when they are first used.
TEST(WhyUnsupported, ScansOnGpusThatTheBuildHasNoCodeFor) {
  if (const auto reason = nvrtc_unavailable_reason()) GTEST_SKIP() << *reason;
  const Gpu gpu = {.name = "NVIDIA RTX 9090", .capability = {9, 9}, .has_own_kernels = false};
  const Cell indrnn = own_cell({.gates = {"n"},
                                .states = {"h"},
                                .equations = "h = relu(x.n + u * h)",
                                .vectors = {{"u", {}}},
                                .biases = Biases::kOne})
                          .value();
  for (const Cell cell : {Cell::kMinGru, indrnn})
    EXPECT_EQ(refusal_of(LayerKind::kScan, LayerWork{.options = RecurrentOptions{.cell = cell}, .gpu = gpu}),
              std::nullopt);
}

TEST(WhyUnsupported, IsWhatMakeLayerThrows) {
  const RecurrentOptions options = {.activation = Activation::kRelu};
  EXPECT_EQ(testing::message_of_error(ExitCode::kUsage, [&] { make_layer(LayerKind::kFused, options); }),
            refusal_of(LayerKind::kFused, options));
}

}  // namespace
}  // namespace rnnlab
