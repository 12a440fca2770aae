// SPDX-License-Identifier: Apache-2.0
// Tests how a comparison detects wrong records after a bug, a mistake or a manipulation: it refuses or warns. Every
// test plants one wrong record in one of two runs that are otherwise comparable.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/expect_error.h"
#include "base/system/counters.h"
#include "base/system/temporary_folder.h"
#include "golden.h"
#include "results/comparison.h"
#include "results/conditions.h"
#include "results/sample_runs.h"

namespace rnnlab::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

const std::vector<double> kNaiveSeconds = {9, 2.0, 2.1, 2.2, 2.3, 2.4, 2.5};
const std::vector<double> kFusedSeconds = {9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5};

// The first function changes a run before it is written, the second changes the record that was read.
using PlantInRun = std::function<void(SampleRun&)>;
using PlantInRecord = std::function<void(RunRecord&)>;

void set_losses(RunRecord& run, double loss) {
  for (EpochRow& row : run.rows) row.train_loss = loss;
  run.summary.final_metrics["train_loss"] = loss;
}

class Truth : public ::testing::Test {
 protected:
  void plant(const PlantInRun& change, const PlantInRecord& forge) {
    sample_run("cuda:0", "naive", 1, kNaiveSeconds).write(folder_.path() / "a");
    SampleRun other = sample_run("cuda:0", "fused", 1, kFusedSeconds);
    change(other);
    other.write(folder_.path() / "b");
    runs_ = {load_run(folder_.path() / "a"), load_run(folder_.path() / "b")};
    forge(runs_[1]);
  }
  void plant_in_identity(const std::function<void(Identity&)>& change) {
    plant([&](SampleRun& run) { change(run.summary.identity); }, [](RunRecord&) {});
  }
  void plant_in_record(const PlantInRecord& forge) {
    plant([](SampleRun&) {}, forge);
  }

  void expect_no_ratio(const std::string& reason) {
    const Comparison comparison = compare(runs_, {});
    EXPECT_THAT(comparison.other_work, ElementsAre(reason));
    EXPECT_FALSE(comparison.groups[1].ratio || comparison.groups[1].verdict);
  }
  void expect_refused(const std::string& reason) {
    expect_error(
        ExitCode::kUsage,
        "these runs did not do the same work under the same conditions:\n  " + reason +
            "\nName fewer runs, run all of them again under equal conditions, or use --force to compare anyway",
        [&] { compare(runs_, {}); });
  }
  void expect_shouted(const std::string& warning) {
    EXPECT_THAT(texts_of(compare(runs_, {}).warnings), ElementsAre("cuda:0 fused: " + warning));
  }
  std::string folders_of(const std::string& first, const std::string& second) {
    return fmt::format("{} in {}, {} in {}", first, folder_.name("a"), second, folder_.name("b"));
  }

  TemporaryFolder folder_;
  std::vector<RunRecord> runs_;
};

TEST_F(Truth, IsNotShoutedAt) {
  plant_in_record([](RunRecord&) {});
  EXPECT_THAT(texts_of(compare(runs_, {}).warnings), IsEmpty());
}

// ---- unequal TF32 ----

TEST_F(Truth, UnequalTf32IsRefused) {
  plant_in_identity([](Identity& identity) { identity.precision = "tf32"; });
  expect_refused("precision: fp32 in cuda:0 naive, tf32 in cuda:0 fused");
}

TEST_F(Truth, Tf32InOneLibraryOnlyIsShoutedOnBothSides) {
  plant_in_record([&](RunRecord&) {
    for (RunRecord& run : runs_) run.summary.identity.precision = "fp32 with tf32 in cuDNN only";
  });
  expect_golden(texts_of(compare(runs_, {}).warnings));
}

// ---- batch ----

TEST_F(Truth, AnotherBatchSizeIsRefused) {
  plant_in_identity([](Identity& identity) { identity.batch_size = 256; });
  expect_refused("batch size: 128 in cuda:0 naive, 256 in cuda:0 fused");
}

TEST_F(Truth, ABatchSizeThatTheConfigDeniesIsShouted) {
  plant_in_record([](RunRecord& run) { run.config["training.batch_size"] = "256"; });
  const auto warnings = texts_of(compare(runs_, {}).warnings);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_TRUE(warnings[0].ends_with(": WRONG IDENTITY (batch_size): the summary says '128', config.yaml '256'"))
      << warnings[0];
}

TEST_F(Truth, EpochsOfFewerSamplesAreRefused) {
  plant_in_record([](RunRecord& run) {
    for (EpochRow& row : run.rows) row.samples_per_second /= 2;
  });
  expect_refused("samples an epoch: 120000 in cuda:0 naive, 60000 in cuda:0 fused");
}

TEST_F(Truth, AnEpochThatSkipsSamplesIsShouted) {
  plant_in_record([](RunRecord& run) { run.rows[3].samples_per_second /= 2; });
  expect_shouted("UNEQUAL EPOCHS: epoch 2 took 120000 samples, epoch 4 60000, and both count");
}

// ---- data, or their order ----

TEST_F(Truth, OtherDataAreRefused) {
  plant_in_identity([](Identity& identity) { identity.data_fingerprint = "d2"; });
  expect_refused("data: " + folders_of("d1", "d2"));
}

TEST_F(Truth, AnotherOrderOfTheDataIsRefused) {
  plant_in_identity([](Identity& identity) { identity.order_sha256 = "o2"; });
  expect_refused("order of the samples of seed 1: " + folders_of("o1", "o2"));
}

// ---- initial weights ----

TEST_F(Truth, OtherInitialWeightsAreRefused) {
  plant_in_identity([](Identity& identity) { identity.initial_weights_sha256 = "w2"; });
  expect_refused("initial weights of seed 1: " + folders_of("w1", "w2"));
}

TEST_F(Truth, OtherInitialWeightsByAnotherSeedAreShouted) {
  plant([](SampleRun& run) { run = sample_run("cuda:0", "fused", 2, kFusedSeconds); }, [](RunRecord&) {});
  expect_golden(texts_of(compare(runs_, {}).warnings));
}

// ---- debug build ----

TEST_F(Truth, ADebugBuildOnOneSideIsRefused) {
  plant_in_identity([](Identity& identity) { identity.build_type = "Debug, not optimised"; });
  expect_refused("build: Release in cuda:0 naive, Debug, not optimised in cuda:0 fused");
}

TEST_F(Truth, ADebugBuildThatCallsItselfReleaseIsShouted) {
  plant_in_record([](RunRecord& run) { run.environment.build.optimized = false; });
  const auto warnings = texts_of(compare(runs_, {}).warnings);
  ASSERT_EQ(warnings.size(), 2u);
  expect_golden(warnings[1]);
}

// ---- another environment ----

class OtherConditions : public Truth {
 protected:
  void plant_in_environment(const std::function<void(Environment&)>& change) {
    plant([&](SampleRun& run) { change(run.environment); }, [](RunRecord&) {});
  }
  std::vector<std::string> notes() { return compare(runs_, {}).notes; }
};

TEST_F(OtherConditions, FewerUsableCpusAreRefused) {
  plant_in_environment([](Environment& environment) { environment.cpu.usable_cpus = 1; });
  expect_refused("usable CPUs: 2 in cuda:0 naive, 1 in cuda:0 fused");
}

TEST_F(OtherConditions, WhatOneSideDidNotRecordIsReported) {
  plant_in_environment([](Environment& environment) {
    environment.cpu.quota = "0.4 CPUs";
    environment.instruction_sets.mkl = "SSE4.2";
  });
  expect_golden(notes());
}

TEST_F(OtherConditions, AnotherMachineAloneIsWarnedOf) {
  plant_in_record([&](RunRecord&) {
    for (RunRecord& run : runs_) run.environment.host.machine_id = run.folder.filename().string();
    for (RunRecord& run : runs_) run.summary.identity.conditions = conditions_of(run.environment);
  });
  expect_golden(texts_of(compare(runs_, {}).warnings));
}

TEST_F(OtherConditions, HoursBetweenTheSidesAreNoted) {
  plant_in_environment([](Environment& environment) { environment.start_time = "2026-11-22T05:59:51Z"; });
  expect_golden(notes());
}

TEST_F(OtherConditions, ChangedSourcesAreNoted) {
  plant_in_environment([](Environment& environment) { environment.build.git_dirty = true; });
  expect_golden(notes());
}

TEST_F(OtherConditions, ThatTheEnvironmentDeniesAreNamed) {
  plant_in_record([](RunRecord& run) { run.summary.identity.conditions.kernel = "another"; });
  expect_shouted("wrong identity (conditions): the summary differs from environment.json");
}

// ---- busy GPU ----

TEST_F(Truth, ABusyGpuIsShouted) {
  plant_in_record([](RunRecord& run) { run.environment.nvidia.gpus[0].utilization_percent = 80; });
  expect_shouted("GPU 0 (Some GPU) IS BUSY: 80 % in use at the start by a process that is not visible from here");
}

TEST_F(Truth, AProcessThatComesLaterIsShouted) {
  GpuSurvey start, end;
  start.gpus.resize(1);
  end.gpus.resize(1);
  end.gpus[0].name = "Some GPU";
  end.gpus[0].compute_pids = {42};
  plant_in_record([&](RunRecord& run) { run.summary.warnings = new_gpu_processes(start, end); });
  expect_shouted("GPU 0 (Some GPU) WAS SHARED: 1 other process started during the run, so its times are not reliable");
}

// ---- warm-up counted ----

TEST_F(Truth, WarmUpThatCountsOnOneSideIsRefused) {
  plant([](SampleRun& run) { run.first_is_warmup = false; }, [](RunRecord&) {});
  expect_refused("first epoch: left out as warm-up in cuda:0 naive, counted in cuda:0 fused");
}

TEST_F(Truth, WarmUpThatCountsOnBothSidesIsShouted) {
  for (const auto& [name, layer] : {std::pair("a", "naive"), std::pair("b", "fused")}) {
    SampleRun run = sample_run("cuda:0", layer, 1, kFusedSeconds);
    run.first_is_warmup = false;
    run.write(folder_.path() / name);
    runs_.push_back(load_run(folder_.path() / name));
  }
  expect_golden(texts_of(compare(runs_, {}).warnings));
}

TEST_F(Truth, WarmUpInTheSummarysMedianIsShouted) {
  plant_in_record([](RunRecord& run) {
    for (EpochRow& row : run.rows) row.warmup = false;
    run.summary.epoch_time = epoch_time(run.rows);
    run.rows[0].warmup = true;
  });
  expect_shouted("WRONG MEDIAN: the summary says 1.3 s over 7 epochs, epochs.csv 1.25 s over 6 epochs");
}

TEST_F(Truth, WarmUpThatIsNotMarkedIsShouted) {
  plant_in_record([&](RunRecord&) {
    for (RunRecord& run : runs_) run.config["training.warmup_epochs"] = "2";
  });
  expect_golden(texts_of(compare(runs_, {}).warnings));
}

TEST_F(Truth, AWarmUpEpochThatWasCutOutIsShouted) {
  plant_in_record([](RunRecord& run) { run.rows.erase(run.rows.begin()); });
  const auto warnings = texts_of(compare(runs_, {}).warnings);
  ASSERT_FALSE(warnings.empty());
  expect_golden(warnings.back());
}

// ---- an unsynchronised timer ----

TEST_F(Truth, ATimerThatDoesNotWaitForTheGpuIsShouted) {
  plant_in_record([](RunRecord& run) {
    for (EpochRow& row : run.rows) row.device_seconds = 3 * row.train_seconds;
  });
  expect_shouted("UNSYNCHRONISED TIMER: epochs of 1.25 s (median) took 3.75 s by the GPU's own clock");
}

TEST_F(Truth, ATimerThatCountsWorkOfBeforeIsShouted) {
  plant_in_record([](RunRecord& run) {
    for (EpochRow& row : run.rows) row.device_seconds = 0.9 * row.train_seconds;
  });
  expect_shouted("UNSYNCHRONISED TIMER: epochs of 1.25 s (median) took 1.125 s by the GPU's own clock");
}

TEST_F(Truth, ATimerWithoutWitnessIsShouted) {
  plant_in_record([](RunRecord& run) { run.rows[2].device_seconds = std::nullopt; });
  expect_shouted(
      "UNPROVEN TIMER: epochs.csv has no device_seconds for epochs that count, so nothing shows that the clock waited "
      "for the GPU");
}

TEST_F(Truth, TimeThatNoEpochAccountsForIsShouted) {
  plant_in_record([](RunRecord& run) { run.summary.fit_seconds = 40; });
  expect_shouted("TIME IS MISSING: the whole fit took 40 s, its epochs and validations 17.38 s");
}

TEST_F(Truth, EpochsLongerThanTheWholeAreShouted) {
  plant_in_record([](RunRecord& run) { run.summary.fit_seconds = 10; });
  expect_shouted("IMPOSSIBLE SUM: the epochs add up to 17.38 s, the whole fit to 10 s");
}

TEST_F(Truth, WaitingLongerThanTheEpochIsShouted) {
  plant_in_record([](RunRecord& run) { run.rows[1].data_seconds = 2; });
  expect_shouted("IMPOSSIBLE WAIT: epoch 2 waited 2 s for data, of 1 s");
}

// ---- different activation or dropout ----

TEST_F(Truth, AnotherActivationHasNoRatio) {
  plant([](SampleRun& run) { run.summary.identity.model_hash = "m2"; },
        [](RunRecord& run) { run.config["model.activation"] = "relu"; });
  expect_no_ratio(
      "model: model.activation=absent in cuda:0 naive, model.activation=relu in cuda:0 fused "
      "activation=relu");
}

TEST_F(Truth, OtherDropoutHasNoRatio) {
  plant([](SampleRun& run) { run.summary.identity.model_hash = "m2"; },
        [](RunRecord& run) { run.config["model.dropout"] = "0.5"; });
  expect_no_ratio("model: model.dropout=absent in cuda:0 naive, model.dropout=0.5 in cuda:0 fused dropout=0.5");
}

// The layer computes a different function than its settings describe.
TEST_F(Truth, AnotherFunctionByTheSameNameIsShouted) {
  plant_in_record([](RunRecord& run) { set_losses(run, 0.8); });
  expect_golden(texts_of(compare(runs_, {}).warnings));
}

TEST_F(Truth, LossesOfFourPercentMoreAreReported) {
  plant_in_record([](RunRecord& run) { set_losses(run, 0.52); });
  expect_golden(texts_of(compare(runs_, {}).warnings));
}

TEST_F(Truth, LossesThatDoubleFromTheSecondEpochOnAreReported) {
  plant_in_record([](RunRecord& run) {
    set_losses(run, 1.0);
    run.rows[0].train_loss = 0.5;
  });
  expect_golden(texts_of(compare(runs_, {}).warnings));
}

// All layers of a device draw the same masks.
TEST_F(Truth, OtherDropoutByTheSameNameIsShouted) {
  plant_in_record([&](RunRecord& run) {
    set_losses(run, 0.8);
    for (RunRecord& each : runs_) each.config["model.output_dropout"] = "0.1";
  });
  EXPECT_THAT(texts_of(compare(runs_, {}).warnings), Contains(StartsWith("losses differ")));
}

TEST_F(Truth, MasksOfAnotherProcessorMayMakeLossesPart) {
  plant_in_record([&](RunRecord& run) {
    set_losses(run, 0.8);
    run.summary.device = "cpu";
    for (RunRecord& each : runs_) each.config["model.output_dropout"] = "0.1";
  });
  EXPECT_THAT(texts_of(compare(runs_, {}).warnings), IsEmpty());
}

TEST_F(Truth, MasksOfAnotherKindOfConvolutionMayMakeLossesPart) {
  plant_in_record([&](RunRecord& run) {
    set_losses(run, 0.8);
    run.config["convolution"] = "plain";
    for (RunRecord& each : runs_) each.config["model.dense_dropout"] = "0.5";
  });
  EXPECT_THAT(texts_of(compare(runs_, {}).warnings), Not(Contains(StartsWith("losses differ"))));
}

// ---- invented results ----

TEST_F(Truth, AFinalMetricThatNoEpochReachedIsShouted) {
  plant_in_record([](RunRecord& run) { run.summary.final_metrics["valid_accuracy"] = 0.99; });
  expect_shouted("WRONG SUMMARY (valid_accuracy): it says 0.99, epochs.csv 0.875");
}

TEST_F(Truth, AnotherMachineThanTheEnvironmentsIsShouted) {
  plant_in_record([](RunRecord& run) {
    run.environment.cpu.model = "Other CPU";
    run.environment.num_threads = 1;
  });
  expect_golden(texts_of(compare(runs_, {}).warnings));
}

}  // namespace
}  // namespace rnnlab::testing
