#include "bench/bench_case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rnnlab {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> texts(const BenchSettings& settings) {
  std::vector<std::string> all;
  for (const BenchCase& combination : expand(settings)) all.push_back(to_string(combination));
  return all;
}

BenchCase paper() { return expand(BenchSettings{}).at(0); }

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
  settings.cell = {Cell::kGru};
  settings.cudnn_algorithm = {CudnnAlgorithm::kAuto, CudnnAlgorithm::kPersistStatic};
  settings.input_size = 28;
  settings.bidirectional = true;
  EXPECT_THAT(texts(settings),
              ElementsAre("cuda:1 eager tf32 gru I 28 H 512 B 64 T 100 L 4 bidirectional",
                          "cuda:1 eager tf32 gru persist_static I 28 H 512 B 64 T 100 L 4 bidirectional",
                          "cuda:1 eager bf16 gru I 28 H 512 B 64 T 100 L 4 bidirectional",
                          "cuda:1 eager bf16 gru persist_static I 28 H 512 B 64 T 100 L 4 bidirectional",
                          "cuda:1 graph tf32 gru I 28 H 512 B 64 T 100 L 4 bidirectional",
                          "cuda:1 graph tf32 gru persist_static I 28 H 512 B 64 T 100 L 4 bidirectional",
                          "cuda:1 graph bf16 gru I 28 H 512 B 64 T 100 L 4 bidirectional",
                          "cuda:1 graph bf16 gru persist_static I 28 H 512 B 64 T 100 L 4 bidirectional"));
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
