#include "experiment/fastest_layer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiment/prepared_run.h"
#include "experiment/tiny_experiment.h"

namespace rnnlab::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Candidates, AreThoseThatRunThereAndMayBeTheFastest) {
  const auto on_cpu = candidates({.cell = Cell::kLstm}, Precision::kTf32, Processor::kCpu);
  EXPECT_THAT(on_cpu, Contains(LayerKind::kHoisted));
  EXPECT_THAT(on_cpu, Contains(LayerKind::kFused));
  EXPECT_THAT(on_cpu, Not(Contains(LayerKind::kWavefront))) << "it needs streams";
  EXPECT_THAT(on_cpu, Not(Contains(LayerKind::kNaive)));
  EXPECT_THAT(candidates({.cell = Cell::kLstm}, Precision::kTf32, Processor::kGpu), Contains(LayerKind::kWavefront));
}

TEST(Candidates, LeavePersistentToWhoAsksForItWhereItHasFewerDigitsOrLessRange) {
  const RecurrentOptions lstm = {.cell = Cell::kLstm, .hidden_size = 512};
  EXPECT_THAT(candidates(lstm, Precision::kTf32, Processor::kGpu), Contains(LayerKind::kPersistent));
  EXPECT_THAT(candidates(lstm, Precision::kBf16, Processor::kGpu), Contains(LayerKind::kPersistent));
  EXPECT_THAT(candidates(lstm, Precision::kFp32, Processor::kGpu), Not(Contains(LayerKind::kPersistent)));
  const RecurrentOptions relu = {.cell = Cell::kRnnRelu, .hidden_size = 512};
  EXPECT_THAT(candidates(relu, Precision::kTf32, Processor::kGpu), Not(Contains(LayerKind::kPersistent)));
  EXPECT_THAT(candidates(relu, Precision::kBf16, Processor::kGpu), Contains(LayerKind::kPersistent));
}

TEST(Candidates, IncludeTheSlowOnesWhereOnlyTheyCan) {
  EXPECT_THAT(candidates({.cell = Cell::kGru, .reset_gate = ResetGate::kBefore}, Precision::kTf32, Processor::kCpu),
              ElementsAre(LayerKind::kNaive));
}

TEST(FastestOf, TakesTheShortestTimeAndSaysWhy) {
  const auto measure = [](LayerKind kind) { return kind == LayerKind::kFused ? 9e-4 : 2e-3; };
  const FastestLayer fastest = fastest_of({LayerKind::kHoisted, LayerKind::kFused, LayerKind::kWavefront}, measure);
  EXPECT_EQ(fastest.kind, LayerKind::kFused);
  EXPECT_EQ(fastest.note, "layer: auto took fused, by the time of a pass: hoisted 2 ms, fused 900 us, wavefront 2 ms");
}

TEST(FastestOf, PassesOverWhatCannotAfterAll) {
  const auto measure = [](LayerKind kind) -> double {
    if (kind == LayerKind::kPersistent) throw_error(ExitCode::kUsage, "layer: persistent needs a Hopper GPU");
    return 2e-3;
  };
  EXPECT_EQ(fastest_of({LayerKind::kPersistent, LayerKind::kFused}, measure).note,
            "layer: auto took fused, by the time of a pass: fused 2 ms");
  EXPECT_THROW(fastest_of({LayerKind::kPersistent, LayerKind::kPersistent}, measure), UserError);
  const auto fail = [](LayerKind) -> double { throw_error(ExitCode::kDevice, "out of memory"); };
  EXPECT_THROW(fastest_of({LayerKind::kHoisted, LayerKind::kFused}, fail), UserError);
}

TEST(FastestOf, MeasuresNothingWhereThereIsNoChoice) {
  const auto fail = [](LayerKind) -> double { throw std::logic_error("measured"); };
  EXPECT_EQ(fastest_of({LayerKind::kNaive}, fail).note, "layer: auto took naive, the only one that can");
}

TEST(PreparedRun, SettlesAutoByMeasuringTheWork) {
  const PreparedRun run(tiny_experiment({"layer=auto", "device=cpu"}), {});
  EXPECT_NE(run.experiment.layer, LayerKind::kAuto);
  EXPECT_THAT(run.notes, ElementsAre(StartsWith("layer: auto took ")));
  EXPECT_THAT(run.notes[0], HasSubstr(config::name_of(run.experiment.layer)));
}

TEST(PreparedRun, RefusesALayerThatDoesNotRunOnTheDevice) {
  Experiment experiment = tiny_experiment({"device=cpu"});
  experiment.layer = LayerKind::kWavefront;  // as with device: auto, where the file cannot know
  try {
    const PreparedRun run(experiment, {});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kUsage);
    EXPECT_THAT(error.what(), StartsWith("layer: wavefront needs CUDA streams"));
  }
}

}  // namespace
}  // namespace rnnlab::testing
