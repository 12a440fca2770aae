// SPDX-License-Identifier: Apache-2.0
#include "runs/fastest_layer.h"

#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <string>

#include "base/expect_error.h"
#include "golden.h"
#include "layers/device/gpu_support.h"
#include "layers/refusals.h"
#include "runs/run_context.h"
#include "runs/tiny_experiment.h"

namespace rnnlab::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Candidates, AreThoseThatRunThereTheUsuallyFastestFirst) {
  const auto on_cpu = candidates({.cell = Cell::kLstm}, Precision::kTf32, Processor::kCpu);
  EXPECT_THAT(on_cpu,
              ElementsAre(LayerKind::kBlocked, LayerKind::kFused, LayerKind::kHoisted, LayerKind::kPretransposed,
                          LayerKind::kFusedPointwise, LayerKind::kGrouped, LayerKind::kNaive));
  EXPECT_THAT(candidates({.cell = Cell::kLstm}, Precision::kTf32, Processor::kGpu), Contains(LayerKind::kWavefront));
}

TEST(Candidates, LeaveOutPersistentIfItHasFewerDigitsOrLessRange) {
  const RecurrentOptions lstm = {.cell = Cell::kLstm, .hidden_size = 512};
  EXPECT_THAT(candidates(lstm, Precision::kTf32, Processor::kGpu), Contains(LayerKind::kPersistent));
  EXPECT_THAT(candidates(lstm, Precision::kBf16, Processor::kGpu), Contains(LayerKind::kPersistent));
  EXPECT_THAT(candidates(lstm, Precision::kFp32, Processor::kGpu), Not(Contains(LayerKind::kPersistent)));
  const RecurrentOptions slstm = {.cell = Cell::kSlstm, .hidden_size = 128};
  EXPECT_THAT(candidates(slstm, Precision::kTf32, Processor::kGpu), Contains(LayerKind::kPersistent));
  const RecurrentOptions relu = {.cell = Cell::kRnnRelu, .hidden_size = 512};
  EXPECT_THAT(candidates(relu, Precision::kTf32, Processor::kGpu), Not(Contains(LayerKind::kPersistent)));
  EXPECT_THAT(candidates(relu, Precision::kBf16, Processor::kGpu), Contains(LayerKind::kPersistent));
}

TEST(Candidates, IncludePersistentOnAGpuWithoutClusters) {
  const RecurrentOptions lstm = {.cell = Cell::kLstm, .hidden_size = 1024};
  const Gpu a100 = {.name = "NVIDIA A100", .capability = {8, 0}, .has_own_kernels = true};
  EXPECT_THAT(candidates(lstm, Precision::kTf32, Processor::kGpu), Contains(LayerKind::kPersistent));
  EXPECT_EQ(refusal_of(LayerKind::kPersistent, a100), std::nullopt);
  EXPECT_EQ(refusal_of(LayerKind::kPersistent,
                       LayerWork{.options = RecurrentOptions(lstm), .precision = Precision::kTf32, .gpu = a100}),
            std::nullopt);
}

TEST(Candidates, AreOneWhereOnlyOneCan) {
  const Cell without_input = own_cell({.gates = {"a"}, .states = {"h"}, .equations = "h = tanh(h.a)"}).value();
  for (const Processor processor : {Processor::kCpu, Processor::kGpu})
    EXPECT_THAT(candidates({.cell = without_input}, Precision::kTf32, processor), ElementsAre(LayerKind::kNaive));
}

TEST(Candidates, AreLayersThatHaveTheCell) {
  for (const Cell cell : {Cell::kMinGru, Cell::kMinLstm})
    for (const Processor processor : {Processor::kCpu, Processor::kGpu})
      EXPECT_THAT(candidates({.cell = cell}, Precision::kTf32, processor),
                  AllOf(Contains(LayerKind::kHoisted), Not(Contains(LayerKind::kBlocked))));
  const RecurrentOptions before = {.cell = Cell::kGru, .reset_gate = ResetGate::kBefore};
  EXPECT_EQ(candidates(before, Precision::kTf32, Processor::kCpu).front(), LayerKind::kHoisted);
  const RecurrentOptions large_heads = {.cell = Cell::kSlstm, .hidden_size = 512, .heads = 2};
  EXPECT_EQ(candidates(large_heads, Precision::kTf32, Processor::kCpu).front(), LayerKind::kHoisted);
  EXPECT_EQ(candidates({.cell = Cell::kMinGru}, Precision::kTf32, Processor::kCpu).front(), LayerKind::kScan);
}

TEST(FastestOf, TakesTheShortestTimeAndSaysWhy) {
  const auto measure = [](LayerKind kind) { return kind == LayerKind::kFused ? 9e-4 : 2e-3; };
  const FastestLayer fastest = fastest_of({LayerKind::kHoisted, LayerKind::kFused, LayerKind::kWavefront}, measure);
  EXPECT_EQ(fastest.kind, LayerKind::kFused);
  expect_golden(fastest.notes);
}

TEST(FastestOf, MeasuresInTurnAndVerySlowKindsOnce) {
  std::vector<LayerKind> order;
  const auto measure = [&](LayerKind kind) {
    order.push_back(kind);
    return kind == LayerKind::kHoisted ? 11e-3 : 1e-3;
  };
  fastest_of({LayerKind::kFused, LayerKind::kHoisted, LayerKind::kCudnn}, measure);
  EXPECT_THAT(order, ElementsAre(LayerKind::kFused, LayerKind::kHoisted, LayerKind::kCudnn, LayerKind::kFused,
                                 LayerKind::kCudnn, LayerKind::kFused, LayerKind::kCudnn));
}

TEST(FastestOf, TakesTheFirstOfKindsWithinTheNoise) {
  int calls = 0;
  const auto noisy = [&](LayerKind kind) {
    const double slowed = calls++ < 4 ? 1.1 : 1.0;  // the machine was busy for two of three rounds
    return (kind == LayerKind::kBlocked ? 1.04e-3 : 1.00e-3) * slowed;
  };
  EXPECT_EQ(fastest_of({LayerKind::kBlocked, LayerKind::kFused}, noisy).kind, LayerKind::kBlocked);
  const auto quiet = [](LayerKind kind) { return kind == LayerKind::kBlocked ? 1.04e-3 : 1.00e-3; };
  EXPECT_EQ(fastest_of({LayerKind::kBlocked, LayerKind::kFused}, quiet).kind, LayerKind::kFused);
}

TEST(FastestOf, IsRightOnABusyMachine) {
  int calls = 0;
  const auto measure = [&](LayerKind kind) {
    const bool is_busy = calls++ == 0;  // in the first pass of the faster one
    return (kind == LayerKind::kBlocked ? 1.0e-3 : 1.3e-3) * (is_busy ? 1.4 : 1);
  };
  EXPECT_EQ(fastest_of({LayerKind::kBlocked, LayerKind::kFused}, measure).kind, LayerKind::kBlocked);
}

TEST(FastestOf, ContinuesWhileTheMachineIsBusy) {
  int round = 0;
  const auto measure = [&](LayerKind kind) {
    if (kind == LayerKind::kFused) return round > 3 ? 1.0e-3 : 3.0e-3 + 1e-3 * round;
    ++round;
    return round > 3 ? 0.7e-3 : 4.0e-3 + 1e-3 * round;
  };
  EXPECT_EQ(fastest_of({LayerKind::kBlocked, LayerKind::kFused}, measure).kind, LayerKind::kBlocked);
  EXPECT_GT(round, 3);
}

TEST(FastestOf, MeasuresALayerAgainThatWasSlowOnce) {
  int calls = 0;
  const auto measure = [&](LayerKind kind) {
    if (kind == LayerKind::kFused) return 1.0e-3;
    return calls++ == 0 ? 4.0e-3 : 0.7e-3;
  };
  EXPECT_EQ(fastest_of({LayerKind::kBlocked, LayerKind::kFused}, measure).kind, LayerKind::kBlocked);
}

// The report of each kind of failure.
struct Way {
  const char* name;
  std::function<void()> fail;
  std::string told;
};

class FastestOfThoseThatFail : public ::testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(
    Ways, FastestOfThoseThatFail,
    ::testing::Values(
        Way{"unable", [] { throw_error(ExitCode::kUsage, "layer: persistent needs compute capability 9.0"); },
            "needs compute capability 9.0"},
        Way{"no_code", [] { throw_error(ExitCode::kDevice, "a recurrent step's kernel did not start: no image"); },
            "a recurrent step's kernel did not start: no image"},
        Way{"no_memory",
            [] { TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory. Tried to allocate 3 GiB"); },
            "CUDA out of memory. Tried to allocate 3 GiB"},
        Way{"no_host_memory", [] { throw std::bad_alloc(); }, "out of memory"},
        Way{"library", [] { TORCH_CHECK(false, "cuDNN error: CUDNN_STATUS_NOT_SUPPORTED"); },
            "cuDNN error: CUDNN_STATUS_NOT_SUPPORTED"}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST_P(FastestOfThoseThatFail, IsTheBestOfTheRestWithANoteOnThem) {
  const auto measure = [](LayerKind kind) -> double {
    if (kind == LayerKind::kPersistent) GetParam().fail();
    return kind == LayerKind::kFused ? 2e-3 : 3e-3;
  };
  const FastestLayer fastest = fastest_of({LayerKind::kPersistent, LayerKind::kFused, LayerKind::kHoisted}, measure);
  expect_golden(fastest.notes);
}

TEST(FastestOf, TriesEarlierStepsIfAllOtherKindsFail) {
  const auto measure = [](LayerKind kind) -> double {
    if (kind != LayerKind::kNaive) throw_error(ExitCode::kDevice, "no code");
    return 2e-3;
  };
  const FastestLayer fastest = fastest_of({LayerKind::kHoisted, LayerKind::kGrouped, LayerKind::kNaive}, measure);
  EXPECT_EQ(fastest.kind, LayerKind::kNaive);
  ASSERT_EQ(fastest.notes.size(), 2U);
  expect_golden(fastest.notes[1]);
}

TEST(FastestOf, ThrowsTheLastErrorIfAllFail) {
  const auto fail = [](LayerKind kind) -> double { throw_error(ExitCode::kDevice, "{}", config::name_of(kind)); };
  expect_error(ExitCode::kDevice, "fused", [&] { fastest_of({LayerKind::kHoisted, LayerKind::kFused}, fail); });
}

TEST(FastestOf, RethrowsErrorsThatAreNotAboutTheLayer) {
  const auto on_data = [](LayerKind) -> double { throw_error(ExitCode::kData, "the data are gone"); };
  expect_error(ExitCode::kData, "the data are gone", [&] {
    fastest_of({LayerKind::kHoisted, LayerKind::kFused}, on_data);
  });
  const auto defect = [](LayerKind) -> double { throw InvariantError("broken"); };
  EXPECT_THROW(fastest_of({LayerKind::kHoisted, LayerKind::kFused}, defect), InvariantError);
}

TEST(FastestOf, MeasuresNothingForOneKind) {
  const auto fail = [](LayerKind) -> double { throw std::logic_error("measured"); };
  expect_golden(fastest_of({LayerKind::kNaive}, fail).notes);
}

TEST(AutoLayers, AreTheSameForWorkThatDiffersInSeedsOrBounds) {
  AutoLayers layers;
  const Experiment first = tiny_experiment({"layer=auto", "device=cpu"});
  EXPECT_EQ(layers.find_choice(first), std::nullopt);
  layers.remember(first, LayerKind::kBlocked);
  EXPECT_EQ(layers.find_choice(tiny_experiment({"layer=auto", "device=cpu", "seed=2", "training.learning_rate=0.5",
                                                "training.epochs=7", "name=other"})),
            LayerKind::kBlocked);
  for (const char* other : {"model.hidden_size=9", "training.batch_size=3", "precision=bf16",
                            "training.class_weights=balanced", "training.batch_by_length=true"})
    EXPECT_EQ(layers.find_choice(tiny_experiment({"layer=auto", "device=cpu", other})), std::nullopt) << other;
}

TEST(RunContext, ResolvesAutoByMeasurement) {
  AutoLayers layers;
  const RunContext run(tiny_experiment({"layer=auto", "device=cpu"}), {}, WeightsFrom::kExperiment, &layers);
  ASSERT_TRUE(run.experiment.auto_layer);
  EXPECT_EQ(run.experiment.layer, LayerKind::kAuto);
  ASSERT_FALSE(run.notes.empty());
  EXPECT_THAT(run.notes[0],
              StartsWith(fmt::format("layer: auto chose {}", config::name_of(*run.experiment.auto_layer))));
  EXPECT_EQ(layers.find_choice(run.experiment), run.experiment.auto_layer);
}

TEST(RunContext, MeasuresWithTheWeightsOfClasses) {
  const Experiment experiment = tiny_experiment({"layer=auto", "device=cpu", "training.class_weights=balanced"});
  EXPECT_TRUE(RunContext(experiment, {}).experiment.auto_layer);
}

TEST(RunContext, ReusesTheChoiceForTheSameWork) {
  AutoLayers layers;
  layers.remember(tiny_experiment({"layer=auto", "device=cpu"}), LayerKind::kGrouped);
  const RunContext run(tiny_experiment({"layer=auto", "device=cpu", "seed=2"}), {}, WeightsFrom::kExperiment, &layers);
  EXPECT_EQ(run.experiment.auto_layer, LayerKind::kGrouped);
  expect_golden(run.notes);
}

TEST(RunContext, MeasuresNothingIfTheSettingsHaveTheChoice) {
  const RunContext run(tiny_experiment({"layer=auto", "auto_layer=naive", "device=cpu"}), {});
  EXPECT_THAT(run.notes, ::testing::IsEmpty());
  EXPECT_THAT(run.path.path, StartsWith("native loop"));
}

TEST(RunContext, RefusesALayerThatDoesNotRunOnTheDevice) {
  Experiment experiment = tiny_experiment({"device=cpu"});
  experiment.layer = LayerKind::kWavefront;  // as with device: auto, because the file does not determine the device
  expect_error(ExitCode::kUsage, [&] { const RunContext run(experiment, {}); });
}

}  // namespace
}  // namespace rnnlab::testing

namespace rnnlab {
namespace {

using ::testing::Gt;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class WithoutVariable {
 public:
  explicit WithoutVariable(const char* name) : name_(name), value_(std::getenv(name)) { ::unsetenv(name); }
  ~WithoutVariable() { ::setenv(name_, value_.c_str(), 1); }
  WithoutVariable(const WithoutVariable&) = delete;
  WithoutVariable& operator=(const WithoutVariable&) = delete;

 private:
  const char* name_;
  std::string value_;
};

TEST(ThreadChoice, IsNotMadeIfTheMostThreadsAreTheFastest) {
  EXPECT_FALSE(choose_num_threads({{16, 155'000.0}, {8, 80'000.0}, {4, 40'000.0}, {2, 20'000.0}, {1, 10'000.0}}));
}

TEST(ThreadChoice, IsNotMadeIfFewerThreadsAreNotTwiceAsFast) {
  EXPECT_FALSE(choose_num_threads({{2, 10'000.0}, {1, 15'000.0}}));
}

TEST(ThreadChoice, IsTheFastestNumberOnABusyMachine) {
  const auto choice = choose_num_threads({{4, 1'000.0}, {2, 12'000.0}, {1, 10'000.0}});
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->num_threads, 2);
  expect_golden(choice->reason);
}

TEST(ThreadChoice, IsNotMadeWithoutAMeasurement) { EXPECT_FALSE(choose_num_threads({})); }

TEST(ThreadChoice, MeasuresTheMostThreadsAndTheirHalves) {
  const WithoutVariable user_chose_none("OMP_NUM_THREADS");
  EXPECT_THAT(measure_speeds(3), UnorderedElementsAre(Pair(3, Gt(0)), Pair(1, Gt(0))));
}

TEST(ThreadChoice, MeasuresNothingForOneThread) {
  const WithoutVariable user_chose_none("OMP_NUM_THREADS");
  EXPECT_TRUE(measure_speeds(1).empty());
}

TEST(ThreadChoice, MeasuresNothingIfTheUserHasChosen) {
  ASSERT_NE(std::getenv("OMP_NUM_THREADS"), nullptr) << "as tests/test_process.cpp sets it";
  EXPECT_TRUE(measure_speeds(4).empty());
}

}  // namespace
}  // namespace rnnlab
