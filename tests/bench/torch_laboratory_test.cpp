#include "bench/torch_laboratory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>

#include "bench/run_bench.h"
#include "results/expect_error.h"

namespace rnnlab {
namespace {

using testing::expect_error;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

BenchSettings tiny_settings() {
  BenchSettings settings;
  settings.device = {"cpu"};
  settings.hidden_size = {4};
  settings.batch_size = {2};
  settings.num_steps = {3};
  settings.num_layers = {1};
  settings.repeats = 2;
  settings.warmup = 0;
  settings.sample_seconds = 1e-6;
  return settings;
}

TEST(TorchLaboratory, TheCpuHasNoGraphsAndNoTf32) {
  BenchSettings settings = tiny_settings();
  settings.mode = {BenchMode::kGraph};
  TorchLaboratory laboratory(settings);
  expect_error(ExitCode::kUsage, "mode: graph needs CUDA; device: cpu has no graphs; use mode=eager",
               [&] { laboratory.begin(expand(settings).at(0)); });
  settings.mode = {BenchMode::kEager};
  settings.precision = {Precision::kTf32};
  expect_error(ExitCode::kUsage, "precision: tf32 is fp32 on device: cpu; use precision: fp32",
               [&] { laboratory.begin(expand(settings).at(0)); });
}

TEST(TorchLaboratory, ADeviceThatIsNotThereIsADeviceError) {
  BenchSettings settings = tiny_settings();
  settings.device = {"cuda:99"};
  TorchLaboratory laboratory(settings);
  try {
    laboratory.begin(expand(settings).at(0));
    ADD_FAILURE() << "no error";
  } catch (const UserError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kDevice);
    EXPECT_THAT(error.what(), HasSubstr("device: got cuda:99, but "));
  }
}

TEST(TorchLaboratory, CountsTheSecondsThatItComputes) {
  const BenchSettings settings = tiny_settings();
  TorchLaboratory laboratory(settings);
  laboratory.begin(expand(settings).at(0));
  laboratory.begin_sampling();
  const SamplingRecord record = laboratory.end_sampling();
  EXPECT_GT(record.wall_seconds, 0);
  EXPECT_GT(record.cpu_seconds, 0);
}

TEST(TorchLaboratory, InspectsWhatALayerRan) {
  const BenchSettings settings = tiny_settings();
  TorchLaboratory laboratory(settings);
  laboratory.begin(expand(settings).at(0));
  const Inspection seen = laboratory.inspect(LayerKind::kNaive);
  EXPECT_EQ(seen.path, "native loop, 8 GEMMs a step");
  EXPECT_THAT(seen.kernels, Not(IsEmpty()));
  EXPECT_GT(seen.peak_memory_bytes, 0);
}

class WholeBench : public ::testing::TestWithParam<std::pair<const char*, BenchMode>> {
 protected:
  void SetUp() override {
    if (GetParam().first != std::string("cpu") && !torch::cuda::is_available()) GTEST_SKIP() << "no CUDA";
  }
};

TEST_P(WholeBench, MeasuresEveryLayerThatDoesNotRefuse) {
  BenchSettings settings = tiny_settings();
  settings.device = {GetParam().first};
  settings.mode = {GetParam().second};
  settings.precision = {Precision::kFp32, Precision::kBf16};
  settings.layer = layer_kinds();
  TorchLaboratory laboratory(settings);
  const BenchOutcome outcome =
      run_bench(settings, laboratory, {.should_stop = [] { return false; }, .on_progress = [](const std::string&) {}});
  EXPECT_THAT(outcome.report.rows, SizeIs(2 * layer_kinds().size()));
  const Processor processor = GetParam().first == std::string("cpu") ? Processor::kCpu : Processor::kGpu;
  for (const BenchRow& row : outcome.report.rows) {
    const auto kind = config::from_name<LayerKind>(row.key.layer).value();
    auto reason = refusal(kind, processor);
    if (!reason) reason = refusal(kind, RecurrentOptions{.input_size = 4, .hidden_size = 4});
    EXPECT_EQ(row.reason, reason.value_or("")) << row.key.layer << " " << row.key.precision;
    EXPECT_EQ(row.measurement.has_value(), !reason);
    EXPECT_EQ(row.path.empty(), reason.has_value());
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, WholeBench,
                         ::testing::Values(std::pair{"cpu", BenchMode::kEager}, std::pair{"cuda", BenchMode::kEager},
                                           std::pair{"cuda", BenchMode::kGraph}),
                         [](const auto& test) {
                           return std::string(test.param.first) + "_" + std::string(config::name_of(test.param.second));
                         });

}  // namespace
}  // namespace rnnlab
