// SPDX-License-Identifier: Apache-2.0
#include "runs/bench/bench_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/system/temporary_folder.h"
#include "golden.h"
#include "runs/bench/bench_report.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct ReadSettings {
  BenchSettings settings;
  std::vector<std::string> findings, notes;
};

ReadSettings read_settings(const std::string& yaml, const std::vector<std::string>& arguments = {},
                           const std::string& source = "bench.yaml") {
  config::Findings findings;
  auto document = config::Document::from_text(yaml, source, findings);
  for (const std::string& argument : arguments) document.apply_override(argument, findings);
  BenchSettings settings = read_bench_settings(document, findings);
  return {settings, findings.lines(), findings.empty() ? findings.throw_if_any() : std::vector<std::string>()};
}

TEST(BenchSettings, TheDefaultIsTheCaseOfThePaper) {
  const auto read = read_settings("{}");
  EXPECT_THAT(read.findings, IsEmpty());
  EXPECT_THAT(read.settings.hidden_size, ElementsAre(512));
  EXPECT_THAT(read.settings.batch_size, ElementsAre(64));
  EXPECT_THAT(read.settings.num_steps, ElementsAre(100));
  EXPECT_THAT(read.settings.num_layers, ElementsAre(4));
}

TEST(BenchSettings, AKeyTakesOneValueOrAList) {
  const auto read = read_settings("hidden_size: 128\nbatch_size: [32, 64]\nlayer: fused\n");
  EXPECT_THAT(read.findings, IsEmpty());
  EXPECT_THAT(read.settings.hidden_size, ElementsAre(128));
  EXPECT_THAT(read.settings.batch_size, ElementsAre(32, 64));
  EXPECT_THAT(read.settings.layer, ElementsAre(LayerKind::kFused));
}

TEST(BenchSettings, AreReadBackFromTheirArguments) {
  const auto read = read_settings(
      "layer: [naive, cudnn]\ndevice: [cpu, 'cuda:1']\nprecision: [fp32, bf16]\n"
      "hidden_size: [4, 8]\ninput_size: 3\nbidirectional: true\nsample_seconds: 1e-6\n");
  ASSERT_THAT(read.findings, IsEmpty());
  const auto again = read_settings("{}", arguments_of(read.settings));
  EXPECT_THAT(again.findings, IsEmpty());
  EXPECT_EQ(config::print(again.settings, BenchSettings::schema()),
            config::print(read.settings, BenchSettings::schema()));
}

TEST(BenchSettings, AnArgumentIsCutAtItsCommas) {
  const auto read = read_settings("hidden_size: 128\n", {"hidden_size=256, 512", "layer=naive,fused", "cell=[gru]"});
  EXPECT_THAT(read.findings, IsEmpty());
  EXPECT_THAT(read.settings.hidden_size, ElementsAre(256, 512));
  EXPECT_THAT(read.settings.layer, ElementsAre(LayerKind::kNaive, LayerKind::kFused));
  EXPECT_THAT(read.settings.cell, ElementsAre("gru"));
}

TEST(BenchSettings, EveryMistakeIsNamedWithItsPlace) {
  const auto read = read_settings("hiden_size: 128\nbatch_size: [32, many]\n", {"num_steps=1,0", "repeats=3,4"});
  expect_golden(read.findings);
}

TEST(BenchSettings, ACellIsANameOrAFile) {
  const testing::TemporaryFolder folder;
  const std::string file = (folder.path() / "leaky.yaml").string();
  testing::write_text(file, "gates: [n]\nstates: [h]\nequations: h = 0.5 * h + tanh(n)\n");
  const auto read = read_settings("cell: [lstm, leaky.yaml]\n", {}, (folder.path() / "bench.yaml").string());
  EXPECT_THAT(read.findings, IsEmpty());
  EXPECT_THAT(read.settings.cell, ElementsAre("lstm", file)) << "beside the file that names it";
  EXPECT_THAT(bench_cell(file).name, ::testing::MatchesRegex("leaky [0-9a-f]{8}"));
  EXPECT_THAT(read_settings("{}", arguments_of(read.settings)).settings.cell, ElementsAre("lstm", file));
  testing::write_text(folder.path() / "rnn.yaml", "gates: [n]\nstates: [h]\nequations: h = tanh(n)\n");
  EXPECT_EQ(bench_cell((folder.path() / "rnn.yaml").string()).name, "rnn_tanh") << "it has its equations";
}

TEST(BenchSettings, ACellHasOneRow) {
  const testing::TemporaryFolder folder;
  testing::write_text(folder.path() / "rnn.yaml", "gates: [n]\nstates: [h]\nequations: h = tanh(n)\n");
  const std::string bench = (folder.path() / "bench.yaml").string();
  expect_golden(read_settings("cell: [rnn_tanh, rnn.yaml]\n", {}, bench).findings);
  expect_golden(read_settings("cell: [lstn, mgu]\n", {}, bench).findings);
}

std::vector<std::string> layers_of(const BenchSettings& settings) {
  std::vector<std::string> layers;
  for (const LayerChoice& one : timed_layers(settings)) layers.push_back(row_key(one, "cpu", {}).layer_text());
  return layers;
}

TEST(BenchSettings, PersistentIsTimedOnceForEachForm) {
  const auto read = read_settings("{}", {"layer=naive,persistent,cudnn", "persistent_form=clusters,teams,any"});
  EXPECT_THAT(read.findings, IsEmpty());
  EXPECT_THAT(layers_of(read.settings),
              ElementsAre("naive", "persistent clusters", "persistent teams", "persistent", "cudnn"));
  const auto again = read_settings("{}", arguments_of(read.settings));
  EXPECT_EQ(layers_of(again.settings), layers_of(read.settings));
}

TEST(BenchSettings, LayersOfEarlierVersionsAreFormsOfPersistent) {
  const auto read = read_settings("layer: [persistent_clusters, cudnn, persistent_block, persistent]\n");
  EXPECT_THAT(read.findings, IsEmpty());
  EXPECT_THAT(layers_of(read.settings), ElementsAre("persistent clusters", "persistent block", "persistent", "cudnn"));
  expect_golden(read.notes);
  EXPECT_THAT(layers_of(read_settings("{}", {"layer=persistent_teams"}).settings), ElementsAre("persistent teams"));
  EXPECT_THAT(read_settings("layer: [naive, persistent]\n").notes, IsEmpty());
}

TEST(BenchSettings, RefuseValuesThatCannotBe) {
  for (const char* yaml : {"layer: lstm\n", "processes: 0\n", "layer: [naive, fused, naive]\n", "device: [auto, cpu]\n",
                           "layer: [naive, auto]\n", "sweep: {hidden_size: [1, 2]}\n",
                           "layer: persistent_teams\npersistent_form: any\n"}) {
    const auto findings = read_settings(yaml).findings;
    EXPECT_THAT(findings, SizeIs(1));
    expect_golden(findings);
  }
}

TEST(BenchSettings, WhatIsPrintedReadsBack) {
  const auto read = read_settings("{}", {"hidden_size=256,512", "mode=graph", "input_size=28"});
  const auto again = read_settings(config::print(read.settings, BenchSettings::schema()));
  EXPECT_THAT(again.findings, IsEmpty());
  EXPECT_THAT(again.settings.hidden_size, ElementsAre(256, 512));
  EXPECT_THAT(again.settings.mode, ElementsAre(BenchMode::kGraph));
  EXPECT_EQ(again.settings.input_size, 28);
}

class ShippedBench : public ::testing::TestWithParam<const char*> {};

TEST_P(ShippedBench, HasNoMistake) {
  config::Findings findings;
  const std::string file = std::string(RNNLAB_SOURCE_DIR) + "/experiments/" + GetParam();
  read_bench_settings(config::Document::from_file(file, findings), findings);
  EXPECT_THAT(findings.lines(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(All, ShippedBench,
                         ::testing::Values("bench_ladder.yaml", "bench_persistent.yaml", "bench_slstm.yaml",
                                           "bench_sweep.yaml"));

TEST(BenchSettings, BoundsEveryNumberButTheSeed) {
  for (const config::Entry& entry : BenchSettings::schema().spec().entries) {
    const config::FieldSpec& field = *entry.field();
    const bool is_number = field.kind == config::ScalarKind::kInteger || field.kind == config::ScalarKind::kNumber;
    if (is_number && entry.key != "seed") {
      EXPECT_TRUE(field.upper) << entry.key;
    }
  }
}

std::vector<std::string> texts(const BenchSettings& settings) {
  std::vector<std::string> all;
  for (const BenchCase& combination : expand_grid(settings))
    all.push_back(shared_text({row_key(LayerKind::kNaive, combination.device, combination)}));
  return all;
}

BenchCase paper() { return expand_grid(BenchSettings{}).at(0); }

TEST(BenchCase, TheGridHasEveryCombinationLayersFastest) {
  BenchSettings settings;
  settings.device = {"cpu", "cuda"};
  settings.hidden_size = {128, 256};
  settings.num_layers = {1, 2};
  settings.batch_size = {8};
  settings.num_steps = {5};
  EXPECT_THAT(texts(settings),
              ElementsAre("cpu eager fp32 lstm H 128 B 8 T 5 L 1", "cpu eager fp32 lstm H 128 B 8 T 5 L 2",
                          "cpu eager fp32 lstm H 256 B 8 T 5 L 1", "cpu eager fp32 lstm H 256 B 8 T 5 L 2",
                          "cuda eager fp32 lstm H 128 B 8 T 5 L 1", "cuda eager fp32 lstm H 128 B 8 T 5 L 2",
                          "cuda eager fp32 lstm H 256 B 8 T 5 L 1", "cuda eager fp32 lstm H 256 B 8 T 5 L 2"));
}

TEST(BenchCase, EveryKeyOfTheGridArrives) {
  BenchSettings settings;
  settings.device = {"cuda:1"};
  settings.mode = {BenchMode::kEager, BenchMode::kGraph};
  settings.precision = {Precision::kTf32, Precision::kBf16};
  settings.cell = {"gru"};
  settings.cudnn_algorithm = {CudnnAlgorithm::kAuto, CudnnAlgorithm::kPersistStatic};
  settings.input_size = 28;
  settings.bidirectional = true;
  expect_golden(texts(settings));
}

TEST(BenchCase, NamesTheHeads) {
  BenchSettings settings;
  settings.device = {"cpu"};
  settings.cell = {"slstm"};
  settings.heads = 4;
  expect_golden(texts(settings));
}

TEST(BenchCase, ThePaperCaseTakes107GigaflopForward) {
  EXPECT_DOUBLE_EQ(forward_flops(paper()), 107374182400.0);
  EXPECT_EQ(num_layer_steps(paper()), 400);
}

// T 2, B 3, I 5, H 4, GRU, both directions: 3 gates; the second layer reads 8 inputs.
BenchCase small() {
  return {.options = {.cell = Cell::kGru, .input_size = 5, .hidden_size = 4, .num_layers = 2, .bidirectional = true},
          .batch_size = 3,
          .num_steps = 2};
}

TEST(BenchCase, FlopsCountBothDirectionsAndTheWiderInputsAbove) {
  // 2 operations, 6 cells, 2 directions, 12 gate rows, (5 + 4) + (8 + 4) columns.
  EXPECT_DOUBLE_EQ(forward_flops(small()), 2.0 * 6 * 2 * 12 * (9 + 12));
  EXPECT_EQ(num_layer_steps(small()), 8);
}

TEST(BenchCase, LeastBytesCountEachArrayOnce) {
  constexpr double kWeights = 2 * 12 * (5 + 4 + 2) + 2 * 12 * (8 + 4 + 2);
  constexpr double kInputs = 6 * (5 + 8);
  constexpr double kOutputs = 6 * 8 * 2;
  constexpr double kGates = 6 * 12 * 2 * 2;
  const LeastBytes bytes = least_bytes(small());
  EXPECT_DOUBLE_EQ(bytes.forward, 4 * (kWeights + kInputs + kOutputs + kGates));
  EXPECT_DOUBLE_EQ(bytes.backward_data, 4 * (kWeights + 2 * kGates + kOutputs + kInputs));
  EXPECT_DOUBLE_EQ(bytes.backward_weights, 4 * (kGates + kInputs + kOutputs + kWeights));
}

TEST(BenchCase, HalfPrecisionHalvesTheBytes) {
  BenchCase combination = small();
  const double whole = least_bytes(combination).forward;
  combination.precision = Precision::kBf16;
  EXPECT_DOUBLE_EQ(least_bytes(combination).forward, whole / 2);
}

}  // namespace

}  // namespace rnnlab
