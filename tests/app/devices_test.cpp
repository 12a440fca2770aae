// SPDX-License-Identifier: Apache-2.0
// Tests one run that several processes train together: the numbers of a single process, equal bits in repeats, and one
// ending for all processes.
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/program.h"
#include "app/trained_together.h"
#include "base/error.h"
#include "base/numbers.h"
#include "base/system/files.h"
#include "golden.h"
#include "reliability/trained_run.h"
#include "results/run_record.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;
using testing::final_weights;
using ::testing::HasSubstr;
using testing::kEnvironmentOfTwo;
using testing::newest_run;
using testing::Program;
using testing::ProgramResult;
using testing::read_text;
using testing::with;
using testing::Words;

// 203 samples in batches of 50: the last batch has 3, which is fewer than four ranks.
constexpr const char* kYaml = R"(name: together
device: cpu
layer: fused
deterministic: true
data: {source: digits, num_train: 203, num_valid: 57}
model: {hidden_size: 16}
training: {epochs: 3, batch_size: 50, valid_batch_size: 20, num_threads: 1}
)";

ProgramResult train(const Program& program, const Words& more) { return testing::train_together(program, kYaml, more); }

RunRecord trained(const Program& program, const Words& more) { return testing::trained_together(program, kYaml, more); }

RunRecord trained(const Words& more) { return trained(Program(), more); }

double largest_difference(const RunRecord& a, const RunRecord& b) {
  EXPECT_EQ(a.rows.size(), b.rows.size());
  double largest = 0;
  for (size_t i = 0; i < a.rows.size(); ++i)
    largest = std::max(largest, std::abs(a.rows[i].train_loss - b.rows[i].train_loss) / a.rows[i].train_loss);
  return largest;
}

// One device and several give the same losses: sums are rounded in a different order; nothing else differs.
TEST(Devices, OfOneRunComputeWhatOneComputes) {
  const RunRecord one = trained({});
  for (const char* devices : {"devices=2", "devices=3", "devices=4"}) {
    const RunRecord several = trained({devices});
    EXPECT_LT(largest_difference(one, several), 1e-5) << devices;
    for (size_t i = 0; i < one.rows.size(); ++i)
      EXPECT_NEAR(one.rows[i].valid_loss.value(), several.rows[i].valid_loss.value(), 1e-5) << devices;
    EXPECT_EQ(one.summary.identity.order_sha256, several.summary.identity.order_sha256);
  }
}

// A piece of 1 KiB has a weight or two, so most gradients travel within the backward pass.
TEST(Devices, SendGradientsInPiecesWithTheSameResults) {
  const Words pieces = {"distributed.overlap=true", "distributed.piece_bytes=1024"};
  for (const Words& settings :
       {Words{"devices=2"}, Words{"devices=4", "training.accumulate=2", "training.clip_norm=0.05"}})
    EXPECT_LT(largest_difference(trained(settings), trained(with(settings, pieces))), 1e-6) << settings.front();
}

TEST(Devices, AreCheckedBeforeAnyProcessStarts) {
  const Program program(kYaml, "together.yaml");
  for (const Words& settings :
       {Words{"devices=2", "training.shards=3"}, Words{"devices=2", "distributed.exchange=symmetric_memory"},
        Words{"training.shards=4", "devices=3"}, Words{"devices=all"}})
    program.expect_error(2, with({"train", "together.yaml"}, settings));
}

TEST(Devices, ClipAndAccumulateAsOneDoes) {
  const Words settings = {"training.clip_norm=0.05", "training.accumulate=2"};
  const RunRecord one = trained(settings), three = trained(with(settings, {"devices=3"}));
  EXPECT_LT(largest_difference(one, three), 1e-5);
  EXPECT_NEAR(one.rows[0].gradient_norm.value(), three.rows[0].gradient_norm.value(), 1e-5);
}

// Each rank draws masks of its own, so the losses are other ones than those of one process, but near.
TEST(Devices, DrawMasksOfDropoutOfTheirOwn) {
  const RunRecord one = trained({"model.output_dropout=0.5"}), two = trained({"model.output_dropout=0.5", "devices=2"});
  EXPECT_GT(largest_difference(one, two), 1e-6);
  EXPECT_LT(largest_difference(one, two), 0.1);
}

// E2
TEST(Devices, GiveTheSameBitsAgain) {
  std::vector<std::string> weights;
  for (int i = 0; i < 2; ++i) {
    const Program program;
    trained(program, {"devices=2", "model.output_dropout=0.2"});
    weights.push_back(final_weights(newest_run(program)));
  }
  EXPECT_GT(weights[0].size(), 1000u) << weights[0];
  EXPECT_TRUE(weights[0] == weights[1]);
}

TEST(Devices, ResumeWithTheSameBitsWithinAnEpoch) {
  const Program whole, stopped;
  trained(whole, {"devices=2", "model.output_dropout=0.2"});
  EXPECT_EQ(train(stopped, {"devices=2", "model.output_dropout=0.2", "training.max_steps=7"}).exit_code, 0);
  const std::string run = newest_run(stopped);
  stopped.run({"train", "--resume", run, "training.max_steps=null"}, 0);
  EXPECT_TRUE(final_weights(run) == final_weights(newest_run(whole)));
}

TEST(Devices, ResumeOnADifferentNumber) {
  const Program program;
  const RunRecord one = trained({});
  EXPECT_EQ(train(program, {"devices=3", "training.max_steps=7"}).exit_code, 0);
  const std::string run = newest_run(program);
  const ProgramResult resumed = program.run({"train", "--resume", run, "training.max_steps=null", "devices=2"}, 0);
  EXPECT_THAT(resumed.errors, HasSubstr("resumes with 2 processes "));
  const RunRecord both = load_run(run);
  EXPECT_LT(largest_difference(one, both), 1e-5);
  EXPECT_EQ(both.environment.ranks.value().num_processes, 2);
  EXPECT_TRUE(has_changed_devices(both));
}

// ---- records of the ranks ----

TEST(Devices, AreRecordedWithTheTimesOfTheSlowestAndTheFastest) {
  const RunRecord run = trained({"devices=2"});
  const RanksInfo& ranks = run.environment.ranks.value();
  EXPECT_EQ(ranks.num_processes, 2);
  EXPECT_EQ(ranks.num_hosts, 1);
  EXPECT_EQ(ranks.exchange, "gloo");
  ASSERT_EQ(ranks.each.size(), 2u);
  EXPECT_EQ(ranks.each[1].host, run.environment.host.hostname);
  EXPECT_EQ(processors_of(ranks), std::vector<std::string>{run.environment.cpu.model});
  ASSERT_EQ(run.rows.size(), 3u);
  for (const EpochRow& row : run.rows) {
    EXPECT_GT(row.exchange_seconds.value(), 0);
    EXPECT_GT(row.fastest_process_seconds.value(), 0);
    EXPECT_GE(row.slowest_process_seconds.value(), row.fastest_process_seconds.value());
    EXPECT_NEAR(row.slowest_process_seconds.value() + row.exchange_seconds.value(), row.train_seconds, 1e-9);
  }
}

TEST(Devices, LeaveNoTraceInARunOfOneProcess) {
  const RunRecord run = trained({});
  EXPECT_FALSE(run.environment.ranks);
  for (const EpochRow& row : run.rows) {
    EXPECT_FALSE(row.exchange_seconds);
    EXPECT_FALSE(row.slowest_process_seconds);
    EXPECT_FALSE(row.fastest_process_seconds);
  }
}

TEST(Devices, AreComparedAndReported) {
  const Program program;
  EXPECT_EQ(train(program, {"sweep={devices: [1, 2]}"}).exit_code, 0);
  const ProgramResult compared = program.run({"compare", "runs/together", "--json"}, 0);
  const auto json = nlohmann::json::parse(compared.output);
  ASSERT_EQ(json["groups"].size(), 2u);
  EXPECT_TRUE(json["groups"][0]["device_speed"].is_null());
  const auto& two = json["groups"][1];
  EXPECT_EQ(two["devices"], 2);
  const double speed_up = two["device_speed"]["speed_up"];
  EXPECT_NEAR(speed_up, 1 / two["ratio"].get<double>(), 1e-12);
  EXPECT_NEAR(two["device_speed"]["efficiency"].get<double>(), speed_up / 2, 1e-12);
  EXPECT_LT(two["loss_agreement"]["largest_difference"].get<double>(), 1e-5);
  EXPECT_THAT(program.run({"compare", "runs/together"}).output, HasSubstr("speed-up"));
  const ProgramResult report = program.run({"report", "runs/together", "--markdown"}, 0);
  EXPECT_THAT(report.output, HasSubstr("Speed-up by devices"));
}

TEST(Devices, HaveAComparisonOfEqualPartsOfABatch) {
  const Program program;
  EXPECT_EQ(train(program, {"training.batch_size=25"}).exit_code, 0);
  EXPECT_EQ(train(program, {"devices=2"}).exit_code, 0);
  EXPECT_EQ(program.run({"compare", "runs/together"}).exit_code, 2) << "the batches differ";
  const ProgramResult compared = program.run({"compare", "--scaling", "runs/together", "--json"}, 0);
  const auto series = nlohmann::json::parse(compared.output)["series"];
  ASSERT_EQ(series.size(), 1u);
  EXPECT_EQ(series[0]["samples_a_device"], 25);
  EXPECT_EQ(series[0]["results"][1]["devices"], 2);
  EXPECT_GT(series[0]["results"][1]["efficiency"].get<double>(), 0);
}

// E3: shards are computed separately and added up in a fixed tree.
TEST(Devices, GiveTheSameBitsInAnyNumberThatDividesTheShards) {
  const Words settings = {"training.shards=4",     "model.output_dropout=0.2", "training.clip_norm=0.1",
                          "training.accumulate=2", "training.max_steps=15",    "training.epochs=5"};
  std::vector<std::string> weights;
  std::vector<RunRecord> runs;
  for (const char* devices : {"devices=1", "devices=2", "devices=4"}) {
    const Program program;
    runs.push_back(trained(program, with(settings, {devices})));
    weights.push_back(final_weights(newest_run(program)));
    EXPECT_GT(weights.back().size(), 1000u) << weights.back();
    EXPECT_TRUE(weights.back() == weights.front()) << devices;
    EXPECT_EQ(runs.back().rows.at(0).train_loss, runs.front().rows.at(0).train_loss) << devices;
    EXPECT_EQ(runs.back().rows.at(0).valid_loss, runs.front().rows.at(0).valid_loss) << devices;
  }
}

TEST(Devices, GiveTheSameBitsIfTwoResumeARunOfFour) {
  const Program whole, stopped;
  trained(whole, {"training.shards=4", "model.output_dropout=0.2"});
  EXPECT_EQ(
      train(stopped, {"training.shards=4", "model.output_dropout=0.2", "devices=4", "training.max_steps=7"}).exit_code,
      0);
  const std::string run = newest_run(stopped);
  stopped.run({"train", "--resume", run, "training.max_steps=null", "devices=2"}, 0);
  EXPECT_TRUE(final_weights(run) == final_weights(newest_run(whole)));
}

TEST(Devices, AreSweptOver) {
  const Program program;
  const ProgramResult result = train(program, {"sweep={devices: [1, 2]}"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(program.run_folders("together").size(), 2u);
  EXPECT_THAT(result.output, HasSubstr("devices=2"));
}

// ---- other launchers, as their environment is ----

// Two processes as torchrun starts them, but that rank 0 hosts the store. Their streams come together.
ProgramResult by_environment(const Program& program, const std::string& of_first, const std::string& of_second) {
  program.write("together.yaml", kYaml);
  return program.run_in_shell(kEnvironmentOfTwo + "RANK=1 LOCAL_RANK=1 \"$0\" train together.yaml " + of_second +
                              " & RANK=0 LOCAL_RANK=0 \"$0\" train together.yaml " + of_first +
                              "; first=$?; wait $!; echo second=$?; exit $first");
}

TEST(Devices, AreThoseThatALauncherStarted) {
  const Program program;
  const ProgramResult result = by_environment(program, "", "");
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("second=0"));
  EXPECT_THAT(result.errors, HasSubstr("2 processes by torchrun"));
  const RunRecord run = load_run(program.run_folders("together").at(0));
  EXPECT_EQ(run.config.at("devices"), "2");
  EXPECT_LT(largest_difference(trained({}), run), 1e-5);
}

TEST(Devices, MustBeThoseThatALauncherStarted) {
  const ProgramResult result = by_environment(Program(), "devices=3", "devices=3");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("devices: got 3, "));
}

TEST(Devices, OfALauncherTrainOneRunAtATime) {
  const ProgramResult result = by_environment(Program(), "'sweep={seed: [1, 2]}'", "'sweep={seed: [1, 2]}'");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("sweep: torchrun started 2 "));
}

TEST(Devices, MustAgreeOnTheRun) {
  for (const std::string key : {"training.learning_rate", "training.clip_norm"}) {  // which only one of them has
    const ProgramResult result = by_environment(Program(), "", key + "=0.5");
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.output, HasSubstr("second=2"));
    EXPECT_THAT(result.errors, HasSubstr(key + " differs between "));
    EXPECT_THAT(result.errors, HasSubstr("'0.5' on rank 1"));
  }
}

// ---- one report of a failure ----

TEST(Devices, ReportAMistakeOfAllOnce) {
  for (const char* wrong : {"training.epochs=x", "no.such.key=1", "model.initial_weights=missing.safetensors"}) {
    const ProgramResult result = by_environment(Program(), wrong, wrong);
    EXPECT_EQ(testing::lines_with(result.errors, "error: ").size(), 1U) << result.errors;
    EXPECT_NE(result.exit_code, 0);
    EXPECT_THAT(result.output, HasSubstr(fmt::format("second={}", result.exit_code)));
  }
}

TEST(Devices, ReportAMistakeOfOneOnce) {
  for (const auto& [first, second] : {std::pair("training.epochs=x", ""), std::pair("", "training.epochs=x")}) {
    const ProgramResult result = by_environment(Program(), first, second);
    EXPECT_EQ(testing::lines_with(result.errors, "error: ").size(), 1U) << result.errors;
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.output, HasSubstr("second=2"));
    EXPECT_THAT(result.errors, HasSubstr("training.epochs: got 'x'"));
  }
}

TEST(Devices, ReportAMistakeOfTheirLauncherOnce) {
  const Program program(kYaml, "together.yaml");
  const ProgramResult result = program.run_in_shell(
      "export WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1; RANK=1 LOCAL_RANK=1 \"$0\" train together.yaml & "
      "RANK=0 LOCAL_RANK=0 \"$0\" train together.yaml; first=$?; wait $!; echo second=$?; exit $first",
      2);
  EXPECT_THAT(result.output, HasSubstr("second=2"));
  expect_golden(result.errors);
}

// torchrun reads this form.
TEST(Devices, LeaveTheirErrorInTheFileOfTorchrun) {
  const Program program(kYaml, "together.yaml");
  const ProgramResult result = program.run_in_shell(
      kEnvironmentOfTwo +
      "TORCHELASTIC_ERROR_FILE=one.json RANK=1 LOCAL_RANK=1 \"$0\" train together.yaml training.learning_rate=1 & "
      "TORCHELASTIC_ERROR_FILE=zero.json RANK=0 LOCAL_RANK=0 \"$0\" train together.yaml; wait");
  for (const char* file : {"zero.json", "one.json"})
    EXPECT_THAT(read_text(program.folder() / file),
                ::testing::MatchesRegex("\\{\"message\":\\{\"message\":\".*training.learning_rate.*\","
                                        "\"extraInfo\":\\{\"timestamp\":\"[0-9]+\".*\\}\\}\\}\n"))
        << result.errors;
}

// ---- slow and late ranks ----

// Rank 0 waits for the reader of its log, longer than the timeout.
TEST(Devices, WaitForTheLogOfTheFirst) {
  const Program program(kYaml, "together.yaml");
  const ProgramResult result = program.run_in_shell(
      "{ \"$0\" train together.yaml devices=2 data.num_train=50 training.epochs=900 distributed.timeout=1 2>&1 "
      ">/dev/null; echo ended with $?; } | (sleep 6; cat)");
  EXPECT_THAT(result.output, HasSubstr("ended with 0")) << result.output.substr(result.output.size() - 2000);
}

TEST(Devices, TrainNoStepMoreWhereTheSecondsAreOver) {
  for (const char* devices : {"devices=1", "devices=2"}) {
    const Program program;
    EXPECT_EQ(train(program, {devices, "training.max_steps=7"}).exit_code, 0);
    const std::string run = newest_run(program);
    const ProgramResult resumed =
        program.run({"train", "--resume", run, "training.max_steps=null", "training.max_seconds=0.000001"}, 0);
    EXPECT_THAT(resumed.errors, HasSubstr("training.max_seconds (1e-06)")) << devices;
  }
}

// ---- workers of a sweep ----

TEST(Devices, OfALauncherAreNoWorkersOfASweep) {
  const Program program(kYaml, "together.yaml");
  EXPECT_EQ(program.run({"sweep", "plan", "together.yaml", "--out", "sweep"}).exit_code, 0);
  const ProgramResult result = program.run_in_shell(
      "RANK=0 LOCAL_RANK=0 WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=1 \"$0\" sweep work "
      "sweep",
      2);
  EXPECT_THAT(result.errors, HasSubstr("sweep work: torchrun started 2 "));
}

// One process of a launcher is a process like any other, and so are those that it starts.
TEST(Devices, OfATaskAreStartedByItsOneProcess) {
  const Program program(kYaml, "together.yaml");
  EXPECT_EQ(program.run({"sweep", "plan", "together.yaml", "devices=2", "--out", "sweep"}).exit_code, 0);
  program.run_in_shell(
      "RANK=0 LOCAL_RANK=0 WORLD_SIZE=1 LOCAL_WORLD_SIZE=1 MASTER_ADDR=127.0.0.1 MASTER_PORT=1 \"$0\" sweep work "
      "sweep",
      0);
  EXPECT_THAT(program.run({"sweep", "status", "sweep"}).output, HasSubstr("1 done"));
}

void expect_one_run_of_two(const Program& program, const ProgramResult& result, const std::string& launcher) {
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.errors, HasSubstr("2 processes by " + launcher));
  ASSERT_EQ(program.run_folders("together").size(), 1u);
  EXPECT_LT(largest_difference(trained({}), load_run(program.run_folders("together")[0])), 1e-5);
}

TEST(Devices, AreThoseOfMpirun) {
  const Program program(kYaml, "together.yaml");
  if (program.run_in_shell("command -v mpirun").exit_code != 0)
    GTEST_SKIP() << "needs Open MPI's mpirun (Debian: openmpi-bin)";
  const ProgramResult result = program.run_in_shell(
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe -n 2 \"$0\" train "
      "together.yaml");
  expect_one_run_of_two(program, result, "mpirun");
}

// Each has the port of its own job.
TEST(Devices, OfTwoJobsOfMpirunDoNotMeet) {
  const Program program(kYaml, "together.yaml");
  if (program.run_in_shell("command -v mpirun").exit_code != 0)
    GTEST_SKIP() << "needs Open MPI's mpirun (Debian: openmpi-bin)";
  const ProgramResult result = program.run_in_shell(
      "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; run='mpirun --oversubscribe -n 2'; "
      "$run \"$0\" train together.yaml seed=1 & $run \"$0\" train together.yaml seed=2; first=$?; wait $!; "
      "echo second=$?; exit $first",
      0);
  EXPECT_THAT(result.output, HasSubstr("second=0"));
  EXPECT_EQ(program.run_folders("together").size(), 2u);
}

TEST(Devices, AreThoseOfSrun) {
  const Program program(kYaml, "together.yaml");
  if (!testing::can_start_slurm()) GTEST_SKIP() << testing::kNoSlurm;
  const ProgramResult result = program.run_in_shell(
      RNNLAB_SOURCE_DIR "/tests/launchers/with-slurm slurm srun -K -n 2 \"$0\" train together.yaml");
  expect_one_run_of_two(program, result, "srun");
}

TEST(Devices, OfATaskAreStartedWithinASlurmArray) {
  const Program program(kYaml, "together.yaml");
  if (!testing::can_start_slurm()) GTEST_SKIP() << testing::kNoSlurm;
  EXPECT_EQ(
      program.run({"sweep", "plan", "together.yaml", "devices=2", "sweep={seed: [1, 2]}", "--out", "sweep"}).exit_code,
      0);
  program.write("submit",
                "sbatch --array=0-1 --output=task-%a.log --wrap \"srun --ntasks=1 $1 train --wait --task "
                "\\$SLURM_ARRAY_TASK_ID sweep\" && while squeue --noheader | grep -q .; do sleep 0.2; done\n");
  program.run_in_shell(RNNLAB_SOURCE_DIR "/tests/launchers/with-slurm slurm sh submit \"$0\"", 0);
  EXPECT_THAT(program.run({"sweep", "status", "sweep"}).output, HasSubstr("2 done"));
  EXPECT_THAT(read_text(program.folder() / "task-0.log"), HasSubstr("2 processes by rnnlab"));
}

TEST(Devices, AreThoseOfTorchrun) {
  const char* python = std::getenv("RNNLAB_PYTHON");
  if (python == nullptr) GTEST_SKIP() << "needs a Python with PyTorch: RNNLAB_PYTHON";
  const Program program(kYaml, "together.yaml");
  const ProgramResult result = program.run_in_shell(
      "\"$RNNLAB_PYTHON\" -m torch.distributed.run --standalone --nproc-per-node 2 --no-python \"$0\" train "
      "together.yaml");
  expect_one_run_of_two(program, result, "torchrun");
}

// ---- ends ----

bool has_begun(const Program& program) {
  for (const std::string& folder : program.run_folders("together"))
    if (fs::exists(fs::path(folder) / "epochs.csv") &&
        read_text(fs::path(folder) / "epochs.csv").find("\n1,") != std::string::npos)
      return true;
  return false;
}

// Sends `signal` to the child with this number once the first epoch is done.
ProgramResult ended_by(const Program& program, int signal, size_t child, const Words& more = {}) {
  program.write("together.yaml", kYaml);
  bool is_sent = false;
  const auto send = [&] {
    if (!has_begun(program) || is_sent) return false;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const int process = static_cast<int>(parse_int64(entry.path().filename().string()).value_or(0));
      std::error_code ignored;
      if (process == 0 || fs::read_symlink(entry.path() / "cwd", ignored) != program.folder()) continue;
      const std::vector<int> children = testing::children_of(process);
      if (children.size() != 2) continue;
      ::kill(children[child], signal);
      is_sent = true;
    }
    return false;
  };
  const Words arguments = {"train", "together.yaml", "devices=2", "training.epochs=100000"};
  return program.run_and_signal(with(arguments, more), 0, [&] { return send() || is_sent; });
}

TEST(Devices, EndTogetherWhereOneIsKilled) {
  const ProgramResult result = ended_by(Program(), SIGKILL, 1);
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.errors, ::testing::ContainsRegex("rank 1 .*, step [0-9]+\\) failed: .* signal 9"));
}

TEST(Devices, EndTogetherWhereOneIsStopped) {
  const Program program;
  const ProgramResult result = ended_by(program, SIGSTOP, 1, {"distributed.timeout=5"});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.errors, ::testing::ContainsRegex("rank 1 .*\\) does not respond"));
}

TEST(Devices, SaveAndEndTogetherIfOneGetsASignal) {
  for (const size_t child : {0u, 1u}) {
    const Program program;
    const ProgramResult result = ended_by(program, SIGTERM, child);
    EXPECT_EQ(result.exit_code, 143) << result.errors;
    EXPECT_THAT(result.errors, HasSubstr("to resume: "));
    const RunRecord run = load_run(newest_run(program));
    EXPECT_EQ(run.summary.ending, RunEnding::kInterrupted);
    EXPECT_TRUE(fs::exists(newest_run(program) / "checkpoints"));
  }
}

TEST(Devices, GiveTheExitCodeOfAResumedRunThatFails) {
  const Program program;
  EXPECT_EQ(train(program, {"devices=2", "training.max_steps=7"}).exit_code, 0);
  const std::string run = newest_run(program);
  EXPECT_EQ(program.run({"train", "--resume", run}).exit_code, 0) << "there is nothing left to do";
  program.run({"train", "--resume", run, "training.max_steps=null", "devices=64"}, 2);  // a batch has 50 samples
}

}  // namespace
}  // namespace rnnlab
