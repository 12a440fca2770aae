// SPDX-License-Identifier: Apache-2.0
// Tests a comparison with a run of another program: which differences are refused and which are only noted
// (comparability.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/expect_error.h"
#include "base/system/json_fields.h"
#include "base/system/temporary_folder.h"
#include "base/text.h"
#include "golden.h"
#include "results/comparison.h"
#include "results/comparison_output.h"
#include "results/sample_runs.h"

namespace rnnlab::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kProgram = "PyTorch 2.11.0";

// Returns a run as another program writes it, without facts about rnnlab's build.
SampleRun peer_run(const std::vector<double>& train_seconds) {
  SampleRun run = sample_run("cpu", "torch.nn", 1, train_seconds);
  run.environment.software.program = kProgram;
  run.environment.build = {.type = "",
                           .compiler = "",
                           .optimized = true,
                           .assertions = false,
                           .sanitizer = "",
                           .git_revision = "",
                           .git_dirty = false};
  run.summary.identity.build_type = "";
  run.summary.path = "torch.nn, step by step";
  return run;
}

class OtherProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    peer_.environment.start_time = "2026-11-21T03:09:51Z";  // ten minutes later
    ours_.environment.host.machine_id = peer_.environment.host.machine_id = "m1";
    ours_.environment.instruction_sets = {.aten = "AVX512", .onednn = "avx512_core", .mkl = "AVX-512"};
    peer_.environment.instruction_sets.aten = "AVX512";
  }
  Comparison compared() {
    write();
    return compare(runs_, {});
  }
  void expect_refused(const std::string& reason) {
    write();
    expect_error(
        ExitCode::kUsage,
        "these runs did not do the same work under the same conditions:\n  " + reason +
            "\nName fewer runs, run all of them again under equal conditions, or use --force to compare anyway",
        [&] { compare(runs_, {}); });
  }
  std::string fair() {
    write();
    return held_equal_text(held_equal(runs_));
  }

  SampleRun ours_ = sample_run("cpu", "blocked", 1, {9, 1.0, 1.1, 1.2});
  SampleRun peer_ = peer_run({9, 2.0, 2.1, 2.2});

 private:
  // The conditions of a summary are those of its environment.
  void write() {
    for (const auto& [name, run] : {std::pair("a", &ours_), std::pair("b", &peer_)}) {
      run->summary.identity.conditions = conditions_of(run->environment);
      run->write(folder_.path() / name);
      runs_.push_back(load_run(folder_.path() / name));
    }
  }

  TemporaryFolder folder_;
  std::vector<RunRecord> runs_;
};

TEST_F(OtherProgram, IsARowOfItsOwnWithItsName) {
  const Comparison comparison = compared();
  EXPECT_EQ(comparison.baseline, "cpu blocked");
  ASSERT_EQ(comparison.groups.size(), 2u);
  EXPECT_EQ(comparison.groups[1].label, "cpu PyTorch 2.11.0");
  EXPECT_NEAR(*comparison.groups[1].ratio, 2.1 / 1.1, 1e-12);
  EXPECT_THAT(texts_of(comparison.warnings), IsEmpty());
}

TEST_F(OtherProgram, IsKeptOutOfEveryFileOfRnnlabItself) {
  EXPECT_THAT(json_text(to_json(ours_.environment)), Not(HasSubstr("\"program\"")));
  EXPECT_THAT(json_text(to_json(peer_.environment)), HasSubstr("\"program\": \"PyTorch 2.11.0\""));
}

TEST_F(OtherProgram, NotesWhatItDoesNotRecord) {
  peer_.summary.identity.initial_weights_sha256 = peer_.summary.identity.order_sha256 = "";
  expect_golden(compared().notes);
}

TEST_F(OtherProgram, NotesOtherWeightsAnotherOrderAndOtherLibraries) {
  peer_.summary.identity.initial_weights_sha256 = "v1";
  peer_.summary.identity.order_sha256 = "p1";
  peer_.environment.software.libtorch = "2.10.0";
  peer_.environment.instruction_sets.aten = "AVX2";
  EXPECT_THAT(compared().notes,
              AllOf(Contains(HasSubstr("initial weights of seed 1: w1 in ")),
                    Contains(HasSubstr("order of the samples of seed 1: o1 in ")),
                    Contains("LibTorch: 2.11.0 in cpu blocked, 2.10.0 in cpu PyTorch 2.11.0"),
                    Contains("instruction set of ATen: AVX512 in cpu blocked, AVX2 in cpu PyTorch 2.11.0")));
}

TEST_F(OtherProgram, IsRefusedOnAnotherMachine) {
  peer_.environment.host.machine_id = "m2";
  expect_refused("machine: m1 in cpu blocked, m2 in cpu PyTorch 2.11.0");
}

TEST_F(OtherProgram, IsRefusedWithOtherSamplesAnEpoch) {
  peer_.num_samples = 60000;
  expect_refused("samples an epoch: 120000 in cpu blocked, 60000 in cpu PyTorch 2.11.0");
}

TEST_F(OtherProgram, IsRefusedWhereItsWarmUpCounts) {
  peer_.first_is_warmup = false;
  expect_refused("first epoch: left out as warm-up in cpu blocked, counted in cpu PyTorch 2.11.0");
}

struct Refusal {
  const char* name;
  void (*change)(SampleRun&);
  std::string reason;
};

class RefusedProgram : public OtherProgram, public ::testing::WithParamInterface<Refusal> {};

TEST_P(RefusedProgram, IsRefused) {
  GetParam().change(peer_);
  expect_refused(GetParam().reason + " in cpu PyTorch 2.11.0");
}

INSTANTIATE_TEST_SUITE_P(
    Unequal, RefusedProgram,
    ::testing::Values(
        Refusal{"BatchSize", [](SampleRun& run) { run.summary.identity.batch_size = 64; },
                "batch size: 128 in cpu blocked, 64"},
        Refusal{"Model", [](SampleRun& run) { run.summary.identity.model_hash = "m"; },
                "model: " + sample_model_hash() + " in cpu blocked, m"},
        Refusal{"Precision", [](SampleRun& run) { run.summary.identity.precision = "bf16"; },
                "precision: fp32 in cpu blocked, bf16"},
        Refusal{"Threads", [](SampleRun& run) { run.environment.num_threads = run.summary.identity.num_threads = 1; },
                "number of threads (training.num_threads): 2 in cpu blocked, 1"},
        Refusal{"Cpu", [](SampleRun& run) { run.environment.cpu.model = run.summary.identity.cpu_model = "Other CPU"; },
                "hardware (CPU): Some CPU in cpu blocked, Other CPU"},
        Refusal{
            "Gpu",
            [](SampleRun& run) { run.environment.nvidia.gpus[0].name = run.summary.identity.gpu_model = "Other GPU"; },
            "hardware (GPU): Some GPU in cpu blocked, Other GPU"},
        Refusal{"UsableCpus", [](SampleRun& run) { run.environment.cpu.usable_cpus = 4; },
                "usable CPUs: 2 in cpu blocked, 4"}),
    [](const auto& each) { return std::string(each.param.name); });

TEST_F(OtherProgram, IsNamedAmongTheConditionsThatWereNotHeldEqual) {
  peer_.summary.identity.order_sha256 = "";
  EXPECT_THAT(fair(), AllOf(HasSubstr("Not held equal:\n  program  rnnlab; PyTorch 2.11.0\n"),
                            HasSubstr("Not recorded by every run: order of the samples, build")));
}

TEST_F(OtherProgram, IsHeldToOurLossesWhereItsWorkIsTheSame) {
  EXPECT_EQ(compared().groups[1].loss_agreement->largest_difference, 0);
}

// Dropout draws different masks in another program.
TEST_F(OtherProgram, MayHaveOtherLossesWithDropout) {
  peer_.train_loss = 0.7;
  for (SampleRun* run : {&ours_, &peer_})
    run->config = "model: {hidden_size: 128, dropout: 0.2}\ntraining: {batch_size: 128}\n";
  EXPECT_THAT(texts_of(compared().warnings), IsEmpty());
}

TEST_F(OtherProgram, IsWarnedOfWhereItsLossesPart) {
  peer_.train_loss = 0.7;
  EXPECT_THAT(texts_of(compared().warnings), Contains(HasSubstr("losses differ: ")));
}

}  // namespace
}  // namespace rnnlab::testing
