// SPDX-License-Identifier: Apache-2.0
#include "results/comparability.h"

#include <gmock/gmock.h>

#include <span>

#include "base/system/json_fields.h"
#include "golden.h"
#include "results/compared_runs.h"
#include "results/comparison_output.h"

namespace rnnlab::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using Change = void (*)(SampleRun&);

// These differences are refused, whichever program trained the runs.
const Change kUnequal[] = {
    [](SampleRun& run) { run.summary.identity.batch_size = 64; },
    [](SampleRun& run) { run.summary.identity.model_hash = "m2"; },
    [](SampleRun& run) { run.summary.identity.precision = "tf32"; },
    [](SampleRun& run) { run.environment.cpu.model = run.summary.identity.cpu_model = "Other CPU"; },
    [](SampleRun& run) { run.environment.nvidia.gpus[0].name = run.summary.identity.gpu_model = "Other GPU"; },
    [](SampleRun& run) { run.environment.num_threads = run.summary.identity.num_threads = 8; },
    [](SampleRun& run) { run.environment.cpu.usable_cpus = 1; },
    [](SampleRun& run) { run.num_samples = 60000; },
    [](SampleRun& run) { run.first_is_warmup = false; }};

// These are refused of two runs of rnnlab.
const Change kUnequalInRnnlab[] = {[](SampleRun& run) { run.summary.identity.training_hash = "t2"; },
                                   [](SampleRun& run) { run.summary.identity.placement = "host"; },
                                   [](SampleRun& run) { run.summary.identity.build_type = "Debug, not optimised"; },
                                   [](SampleRun& run) { run.summary.identity.data_fingerprint = "d2"; },
                                   [](SampleRun& run) { run.summary.identity.order_sha256 = "o2"; },
                                   [](SampleRun& run) { run.summary.identity.initial_weights_sha256 = "w2"; }};

class Comparability : public ComparedRuns {
 protected:
  // Returns the reasons after each of these changes to the other run.
  std::vector<std::string> refusals(const SampleRun& ours, const SampleRun& other, std::span<const Change> changes) {
    std::vector<std::string> all;
    for (const Change change : changes) {
      SampleRun changed = other;
      change(changed);
      runs_.clear();
      add("a", ours);
      add("b", changed);
      all.push_back(refusal());
    }
    return all;
  }
};

TEST_F(Comparability, RefusesEachDifference) {
  const SampleRun naive = sample_run("cpu", "naive", 1, kSlow), fused = sample_run("cpu", "fused", 1, kFast);
  expect_golden(refusals(naive, fused, kUnequal));
  expect_golden(refusals(naive, fused, kUnequalInRnnlab));
}

TEST_F(Comparability, NamesAllDifferencesAtOnce) {
  add_pair([](SampleRun& run) {
    for (const Change change : kUnequal) change(run);
    for (const Change change : kUnequalInRnnlab) change(run);
  });
  expect_golden(refusal());
}

// The difference is in a repeat, not in the first run of a side.
TEST_F(Comparability, LooksAtEveryRunOfASide) {
  for (const int64_t round : {1, 2, 3})
    for (const std::string layer : {"naive", "fused"}) {
      SampleRun run = sample_run("cpu", layer, 1, layer == "naive" ? kSlow : kFast);
      run.summary.turn = {.process = layer + std::to_string(round), .measurement = "m", .round = round};
      run.environment.host.machine_id = layer == "fused" && round == 3 ? "another" : "one";
      run.environment.start_time = fmt::format("2026-11-21T0{}:00:00Z", 2 * round + (layer == "fused" ? 1 : 0));
      add(layer + std::to_string(round), run);
    }
  EXPECT_THAT(kinds_of(warnings()), ElementsAre(warning::kOtherMachine));
  for (EpochRow& row : runs_.back().rows) row.samples_per_second /= 2;
  expect_golden(refusal());
}

TEST_F(Comparability, RefusesOneSeedWithTwoSetsOfWeights) {
  add("a", sample_run("cpu", "naive", 1, kSlow));
  SampleRun other = sample_run("cpu", "naive", 1, kSlow);
  other.summary.identity.initial_weights_sha256 = "w2";
  add("b", other);
  expect_golden(refusal());
}

TEST_F(Comparability, LetsDataFollowTheSeed) {
  for (const int64_t seed : {1, 2})
    for (const std::string layer : {"naive", "fused"}) {
      SampleRun run = sample_run("cpu", layer, seed, kSlow);
      run.summary.identity.data_fingerprint = "d" + std::to_string(seed);
      add(layer + std::to_string(seed), run);
    }
  EXPECT_THAT(compared().forced, IsEmpty());
}

TEST_F(Comparability, IsThatOfCpuAndGpuOfOneMachine) {
  add("a", sample_run("cpu", "naive", 1, kSlow));
  add("b", sample_run("cuda:0", "naive", 1, kFast));
  EXPECT_THAT(compared().forced, IsEmpty());
}

TEST_F(Comparability, RefusesSeveralForOneReasonOnce) {
  for (const std::string layer : {"naive", "fused", "hoisted"}) {
    SampleRun run = sample_run("cpu", layer, 1, kSlow);
    run.summary.identity.batch_size = layer == "naive" ? 64 : 128;
    add(layer, run);
  }
  expect_golden(refusal());
}

TEST_F(Comparability, NamesTheRunsOfTheNewestSweepIfSweepsDiffer) {
  add_pair([](SampleRun& run) { run.summary.identity.precision = "tf32"; });
  runs_[0].summary.turn.measurement = "first";
  runs_[1].summary.turn.measurement = "second";
  runs_[1].started = "2099-01-01T00:00:00.000Z";
  expect_error(ExitCode::kUsage, [&] { compared(); });
}

// ---- what is only noted, or warned of ----

TEST_F(Comparability, NotesWhatDiffersBesideTheWork) {
  const Change changes[] = {[](SampleRun& run) {
                              run.summary.identity.gpu_model = "";
                              run.environment.software.cudnn = "9.20";
                              run.environment.build.git_revision = std::string(40, 'b');
                            },
                            [](SampleRun& run) {
                              run.environment.cpu.quota = "0.4 CPUs";
                              run.environment.instruction_sets.mkl = "SSE4.2";
                            },
                            [](SampleRun& run) { run.environment.start_time = "2026-11-22T05:59:51Z"; },
                            [](SampleRun& run) { run.environment.build.git_dirty = true; },
                            [](SampleRun& run) { run.summary.epochs = 5; }};
  for (const Change change : changes) {
    add_pair(change);
    std::vector<std::string> notes = compared().notes;
    notes.pop_back();  // on the number of seeds
    expect_golden(notes);
  }
}

TEST_F(Comparability, WarnsOfAnotherMachine) {
  add_pair();
  for (RunRecord& run : runs_) run.summary.identity.conditions.machine_id = run.folder.filename().string();
  EXPECT_THAT(kinds_of(warnings()), Contains(warning::kOtherMachine));
}

TEST_F(Comparability, WarnsIfNoSeedIsInBoth) {
  add_pair([](SampleRun& run) { run = sample_run("cpu", "fused", 2, kFast); });
  EXPECT_THAT(kinds_of(warnings()), ElementsAre(warning::kOtherWeights));
  expect_golden(texts_of(warnings()));
}

// Changes the train losses of the second run.
void set_losses(std::vector<RunRecord>& runs, double loss) {
  for (EpochRow& row : runs[1].rows) row.train_loss = loss;
  runs[1].summary.final_metrics["train_loss"] = loss;
}

// The layer computes a different function than its settings describe.
TEST_F(Comparability, WarnsOfLossesThatDiffer) {
  add_pair();
  for (const double loss : {0.8, 0.52}) {
    set_losses(runs_, loss);
    EXPECT_THAT(kinds_of(warnings()), ElementsAre(warning::kLossesPart)) << loss;
  }
  set_losses(runs_, 1);
  runs_[1].rows[0].train_loss = 0.5;
  expect_golden(warnings());
}

// All layers of a device draw the same masks, but not two devices, and not two kinds of convolution.
TEST_F(Comparability, ExpectsEqualLossesWithDropoutWhereMasksAreEqual) {
  const auto kinds = [&](const char* dropout, const auto& change) {
    add_pair([](SampleRun&) {}, "cuda:0");
    set_losses(runs_, 0.8);
    for (RunRecord& run : runs_) run.config[dropout] = "0.1";
    change(runs_[1]);
    return kinds_of(warnings());
  };
  EXPECT_THAT(kinds("model.output_dropout", [](RunRecord&) {}), Contains(warning::kLossesPart));
  EXPECT_THAT(kinds("model.output_dropout", [](RunRecord& run) { run.summary.device = "cpu"; }), IsEmpty());
  EXPECT_THAT(kinds("model.dense_dropout", [](RunRecord& run) { run.config["convolution"] = "plain"; }),
              Not(Contains(warning::kLossesPart)));
}

// ---- work that differs by its settings ----

void change_work(SampleRun& run) {
  run.config += "  learning_rate: 0.1\ndeterministic: true\n";
  run.config.replace(run.config.find("hidden_size: 128"), 16, "hidden_size: 256");
}

void change_data(SampleRun& run) {
  run.summary.identity.data_fingerprint = "d2";
  run.config += "data:\n  horizon: 6\n";
}

void change_activation(SampleRun& run) {
  run.config.replace(run.config.find("  hidden_size"), 0, "  activation: relu\n  dropout: 0.5\n");
}

// "LSTM or GRU?" is a question about losses and metrics, which the table answers.
TEST_F(Comparability, OfOtherWorkIsShownWithoutARatioOfTimes) {
  for (const Change change : {change_work, change_data, change_activation}) {
    add_pair(change);
    const Comparison comparison = compared();
    expect_golden(comparison.other_work);
    EXPECT_THAT(comparison.differences, IsEmpty());
    const GroupResult& other = comparison.groups[1];
    EXPECT_TRUE(other.is_other_work);
    EXPECT_TRUE(other.seconds.has_value());
    EXPECT_FALSE(other.ratio || other.mann_whitney_p || other.verdict || other.loss_agreement);
    EXPECT_FALSE(comparison.groups[0].is_other_work);
  }
}

TEST_F(Comparability, OfOtherWorkHasARatioByForce) {
  add_pair(change_work);
  const Comparison comparison = compared(OnDifference::kForce);
  EXPECT_THAT(comparison.forced, ElementsAre(HasSubstr("hidden_size"), HasSubstr("learning_rate")));
  EXPECT_THAT(comparison.other_work, IsEmpty());
  EXPECT_TRUE(comparison.groups[1].ratio.has_value());
}

// The message has every reason at once, also the work that differs.
TEST_F(Comparability, OfOtherWorkIsRefusedOnAnotherMachine) {
  add_pair([](SampleRun& run) {
    change_work(run);
    run.summary.identity.cpu_model = "Other CPU";
  });
  expect_golden(refusal());
}

// ---- a run of another program ----

constexpr const char* kProgram = "PyTorch 2.11.0";

class OtherProgram : public Comparability {
 protected:
  // The run of the other program has no facts about rnnlab's build, and began ten minutes later.
  OtherProgram() {
    peer_.environment.software.program = kProgram;
    peer_.environment.build = {.type = "",
                               .compiler = "",
                               .optimized = true,
                               .assertions = false,
                               .sanitizer = "",
                               .git_revision = "",
                               .git_dirty = false};
    peer_.summary.identity.build_type = "";
    peer_.summary.path = "torch.nn, step by step";
    peer_.environment.start_time = "2026-11-21T03:09:51Z";
    ours_.environment.host.machine_id = peer_.environment.host.machine_id = "m1";
    ours_.environment.instruction_sets = {.aten = "AVX512", .onednn = "avx512_core", .mkl = "AVX-512"};
    peer_.environment.instruction_sets.aten = "AVX512";
  }
  void write() {
    add("a", ours_);
    add("b", peer_);
  }

  SampleRun ours_ = sample_run("cpu", "blocked", 1, {9, 1.0, 1.1, 1.2});
  SampleRun peer_ = sample_run("cpu", "torch.nn", 1, {9, 2.0, 2.1, 2.2});
};

TEST_F(OtherProgram, IsARowOfItsOwnWithItsName) {
  write();
  const Comparison comparison = compared();
  EXPECT_EQ(comparison.baseline, "cpu blocked");
  ASSERT_EQ(comparison.groups.size(), 2u);
  EXPECT_EQ(comparison.groups[1].label, "cpu PyTorch 2.11.0");
  EXPECT_NEAR(*comparison.groups[1].ratio, 2.1 / 1.1, 1e-12);
  EXPECT_EQ(comparison.groups[1].loss_agreement->largest_difference, 0);
  EXPECT_THAT(comparison.warnings, IsEmpty());
  const HeldEqual held = held_equal(runs_);
  EXPECT_THAT(held.unequal, Contains(AllOf(Field(&HeldCondition::what, "program"),
                                           Field(&HeldCondition::values, ElementsAre("rnnlab", kProgram)))));
  EXPECT_THAT(held.unrecorded, Contains("build"));
}

TEST_F(OtherProgram, IsKeptOutOfEveryFileOfRnnlabItself) {
  EXPECT_THAT(json_text(to_json(ours_.environment)), Not(HasSubstr("\"program\"")));
  EXPECT_THAT(json_text(to_json(peer_.environment)), HasSubstr("\"program\": \"PyTorch 2.11.0\""));
}

TEST_F(OtherProgram, NotesWhatItDoesNotRecord) {
  peer_.summary.identity.initial_weights_sha256 = peer_.summary.identity.order_sha256 = "";
  write();
  expect_golden(compared().notes);
}

TEST_F(OtherProgram, NotesOtherWeightsAnotherOrderAndOtherLibraries) {
  peer_.summary.identity.initial_weights_sha256 = "v1";
  peer_.summary.identity.order_sha256 = "p1";
  peer_.environment.software.libtorch = "2.10.0";
  peer_.environment.instruction_sets.aten = "AVX2";
  write();
  EXPECT_THAT(compared().notes, AllOf(Contains(HasSubstr("w1 in ")), Contains(HasSubstr("o1 in ")),
                                      Contains(HasSubstr("LibTorch: 2.11.0")), Contains(HasSubstr("ATen: AVX512"))));
}

TEST_F(OtherProgram, IsRefusedForTheSameReasons) {
  const Change other_machine = [](SampleRun& run) { run.environment.host.machine_id = "m2"; };
  std::vector<std::string> reasons = refusals(ours_, peer_, kUnequal);
  reasons.push_back(refusals(ours_, peer_, {&other_machine, 1})[0]);
  EXPECT_THAT(reasons, Each(HasSubstr("cpu PyTorch 2.11.0")));
  expect_golden(reasons);
}

// Dropout draws different masks in another program.
TEST_F(OtherProgram, IsWarnedOfWhereItsLossesPartWithoutDropout) {
  peer_.train_loss = 0.7;
  write();
  EXPECT_THAT(kinds_of(warnings()), Contains(warning::kLossesPart));
  runs_.clear();
  for (SampleRun* run : {&ours_, &peer_})
    run->config = "model: {hidden_size: 128, dropout: 0.2}\ntraining: {batch_size: 128}\n";
  write();
  EXPECT_THAT(warnings(), IsEmpty());
}

}  // namespace
}  // namespace rnnlab::testing
