// SPDX-License-Identifier: Apache-2.0
// Tests what the system may refuse or end: files beyond a size, open files, threads, locks, the current folder; and
// signals before anything can be saved.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>

#include "app/program.h"
#include "golden.h"
#include "reliability/trained_run.h"
#include "results/checkpoint/checkpoint_folder.h"
#include "results/run_folder.h"

namespace rnnlab::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr const char* kNoThreads = "rnnlab: error: no more threads ";

class Limits : public ::testing::Test {
 protected:
  // The program must have only the open files that a test gives it, whatever the caller of the tests has open.
  Limits() {
    ::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
    program_.write("small.yaml", kSmallYaml);
  }

  // Runs with the library of results/checkpoint/failing_system.cpp, which `variable` configures, and without GPUs,
  // whose driver and autograd create threads of their own.
  ProgramResult run_with(const std::string& variable, const std::string& arguments) const {
    return program_.run_in_shell("CUDA_VISIBLE_DEVICES= LD_PRELOAD=" RNNLAB_FAILING_SYSTEM
                                 " ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 " +
                                 variable + " \"$0\" " + arguments);
  }

  // Sends `signals`, one after another, to `rnnlab train` with these arguments when it has installed its handler of
  // SIGTERM, which it does first. The exit code is 99 if the process ends before.
  ProgramResult train_and_signal_at_once(const std::string& arguments, const std::string& signals) const {
    return program_.run_in_shell(
        "\"$0\" train " + arguments +
        " & p=$!; until grep -q '^SigCgt:.*4...$' /proc/$p/status; do kill -0 $p || exit 99; done; for s in " +
        signals + "; do kill -$s $p; done; wait $p");
  }

  fs::path out() const { return program_.folder() / "out"; }
  const Program& program() const { return program_; }

 private:
  Program program_;
};

TEST_F(Limits, AFileBeyondTheLimitIsAnErrorAndNotADeath) {
  ASSERT_EQ(program().run({"train", "-q", "small.yaml", "--out", "whole"}).exit_code, 0);
  const auto size = fs::file_size(only_run_in(program().folder() / "whole", "small") / "config.yaml");
  const std::string limit = std::to_string(size / 512 + 2);  // in blocks; state.json is larger than config.yaml
  const auto result = program().run_in_shell("ulimit -f " + limit + "; \"$0\" train -q small.yaml --out out", 4);
  EXPECT_THAT(result.errors, HasSubstr("rnnlab: error: out/small/"));
  EXPECT_THAT(result.errors, HasSubstr("(ulimit -f)\n"));
  EXPECT_EQ(leftovers_in(out()), std::vector<std::string>{}) << "no temporary file";
  const fs::path run = only_run_in(out(), "small");
  EXPECT_EQ(program().run({"train", "-q", "--resume", run.string()}).exit_code, 0);
}

TEST_F(Limits, WithoutThreadsARunEndsWithOneMessageAndNeverHangs) {
  ASSERT_EQ(run_with("RNNLAB_MOST_THREADS=100", "train -q small.yaml --out whole").exit_code, 0);
  int num_refused = 0;
  for (int most = 0; most < 20; ++most) {
    SCOPED_TRACE(std::to_string(most) + " threads");
    const auto result = run_with("RNNLAB_MOST_THREADS=" + std::to_string(most),
                                 "train -q small.yaml training.num_threads=4 data.placement=host --out out");
    if (result.exit_code == 0) break;
    EXPECT_EQ(result.exit_code, 4);
    EXPECT_THAT(result.errors, HasSubstr(kNoThreads));
    EXPECT_FALSE(fs::exists(out() / "small")) << "the error is detected before a folder is made";
    ++num_refused;
  }
  EXPECT_GE(num_refused, 7);
  EXPECT_LT(num_refused, 20);
}

// The later runs use the threads of the first run.
TEST_F(Limits, ASweepNeedsNoMoreThreadsThanOneRun) {
  const auto exit_code = [&](int most, const std::string& sweep) {
    return run_with("RNNLAB_MOST_THREADS=" + std::to_string(most),
                    "train -q small.yaml training.num_threads=4 data.placement=host --out out " + sweep)
        .exit_code;
  };
  int least = 0;
  while (least < 20 && exit_code(least, "") != 0) ++least;
  ASSERT_LT(least, 20);
  EXPECT_EQ(exit_code(least, "'sweep={seed: [1, 2]}'"), 0);
}

// The refused thread may be any: the program works without later ones, such as those that write checkpoints.
TEST_F(Limits, WithoutFurtherThreadsARunEndsAsIfItHadThemOrWithOneMessage) {
  int num_done = 0;
  std::optional<TrainedRun> whole;
  for (int last = 12; last >= 0; --last) {
    SCOPED_TRACE(std::to_string(last) + " threads");
    fs::remove_all(out());
    const auto result =
        run_with("RNNLAB_LAST_THREAD=" + std::to_string(last), "train -q small.yaml data.placement=device --out out");
    if (result.exit_code != 0) {
      EXPECT_EQ(result.exit_code, 4);
      EXPECT_THAT(result.errors, HasSubstr(kNoThreads));
      continue;
    }
    ++num_done;
    const TrainedRun run = read_trained_run(only_run_in(out(), "small"));
    if (!whole) whole = run;
    EXPECT_EQ(run, *whole);
  }
  EXPECT_GE(num_done, 2);
  EXPECT_LE(num_done, 12);
}

TEST_F(Limits, WithoutThreadsOtherVerbsEndWithTheSameMessage) {
  ASSERT_EQ(program().run({"train", "-q", "small.yaml", "--out", "out"}).exit_code, 0);
  const std::string run = only_run_in(out(), "small").string();
  for (const std::string& arguments :
       {"evaluate " + run + " training.num_threads=3", "predict " + run + " --out a.csv training.num_threads=3",
        std::string("bench device=cpu layer=naive hidden_size=4 num_threads=3")})
    for (const char* most : {"0", "1", "2"}) {
      const auto result = run_with(std::string("RNNLAB_MOST_THREADS=") + most, arguments);
      EXPECT_EQ(result.exit_code, 4) << arguments << result.output;
      EXPECT_THAT(result.errors, StartsWith(kNoThreads)) << arguments;
    }
  EXPECT_EQ(run_with("RNNLAB_MOST_THREADS=0", "data inspect small.yaml").exit_code, 0) << "this verb needs no threads";
}

TEST_F(Limits, AFileSystemWithoutLocksIsNamed) {
  const auto run = run_with("RNNLAB_NO_LOCKS=1", "train -q small.yaml --out out");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.errors, StartsWith("rnnlab: warning: out/small/"));
  EXPECT_THAT(run.errors, HasSubstr("(No locks available): "));
  const auto sweep = run_with("RNNLAB_NO_LOCKS=1", "train -q small.yaml 'sweep={seed: [1, 2]}' --out sweep");
  EXPECT_EQ(sweep.exit_code, 0);
  EXPECT_THAT(sweep.errors, HasSubstr("rnnlab: warning: sweep/sweep-"));
  const auto resumed =
      run_with("RNNLAB_NO_LOCKS=1", "train -q --resume " + only_run_in(out(), "small").string() + " training.epochs=3");
  EXPECT_THAT(resumed.errors, HasSubstr("(No locks available): "));
}

TEST_F(Limits, ADeletedCurrentFolderIsOneMessage) {
  for (const char* arguments : {"--version", "check ../small.yaml", "info", "train ../small.yaml", "compare runs"}) {
    const auto result =
        program().run_in_shell(std::string("mkdir gone; cd gone; rmdir ../gone; \"$0\" ") + arguments, 4);
    EXPECT_THAT(result.output, IsEmpty());
    expect_golden(result.errors);
  }
}

TEST_F(Limits, ATinyStackIsOneMessageAndASmallOneIsEnough) {
  const auto refused = program().run_in_shell("ulimit -S -s 500; \"$0\" train ../small.yaml", 4);
  EXPECT_THAT(refused.errors, HasSubstr("(ulimit -s 512)\n"));
  program().run_in_shell("ulimit -S -s 512; \"$0\" train small.yaml -q --out small_stack", 0);
}

// The loader of libraries, which runs before the program, needs the fourth.
TEST_F(Limits, TooFewOpenFilesAreOneMessageFromEveryVerb) {
  for (const int most : {4, 5, 7, 13, 40, 66})
    for (const char* arguments : {"--version", "check small.yaml", "train small.yaml devices=2", "compare runs",
                                  "data inspect small.yaml", "bench device=cpu layer=naive hidden_size=4"}) {
      const auto result = program().run_in_shell(fmt::format("ulimit -n {}; \"$0\" {}", most, arguments), 4);
      EXPECT_THAT(result.errors, HasSubstr(fmt::format("only {} more ", most - 3))) << arguments;
    }
}

TEST_F(Limits, OpenFilesThatAreInheritedCount) {
  const auto result = program().run_in_shell("ulimit -n 68; exec 8</dev/null 9</dev/null; \"$0\" check small.yaml", 4);
  EXPECT_THAT(result.errors, HasSubstr("only 63 more "));
}

TEST_F(Limits, ProcessesThatTrainTogetherNeedMoreOpenFiles) {
  const auto train = [&](int most) {
    return program().run_in_shell(fmt::format("ulimit -n {}; \"$0\" train -q small.yaml devices=2 --out out", most));
  };
  for (const int most : {67, 82}) {
    const auto refused = train(most);
    EXPECT_EQ(refused.exit_code, 4);
    EXPECT_THAT(refused.errors, HasSubstr("devices: 2 processes may need 80 "));
    EXPECT_FALSE(fs::exists(out() / "small"));
  }
  EXPECT_EQ(train(90).exit_code, 0) << "no library ends the process with fewer files than rnnlab asks for";
}

// A test that waits here has failed.
TEST_F(Limits, ATimeZoneThatIsAPipeIsNotRead) {
  program().run_in_shell("mkfifo zone; TZDIR=. TZ=zone \"$0\" train -q small.yaml --out zoned", 0);
}

// Generating 60,000 digits takes many seconds on a small machine.
TEST_F(Limits, ASignalBeforeTheFirstStepSavesNothingAndSaysSo) {
  const auto result = train_and_signal_at_once("small.yaml data.num_train=60000 --out out", "TERM");
  EXPECT_EQ(result.exit_code, 143);
  EXPECT_THAT(result.errors, HasSubstr("(SIGTERM) before the first step: "));
  EXPECT_FALSE(fs::exists(out() / "small"));
}

TEST_F(Limits, ASweepThatIsStoppedBeforeItsFirstStepSaysHowToResumeIt) {
  const auto result =
      train_and_signal_at_once("small.yaml data.num_train=60000 'sweep={seed: [1, 2]}' --out out", "HUP");
  EXPECT_EQ(result.exit_code, 129);
  EXPECT_THAT(result.errors, HasSubstr("(SIGHUP) before the first step: "));
  EXPECT_THAT(result.errors, HasSubstr("train --resume out/sweep-"));
}

TEST_F(Limits, ARunThatIsStoppedBeforeItsFirstStepAgainSaysHowToResumeIt) {
  ASSERT_EQ(program().run({"train", "-q", "small.yaml", "--out", "out"}).exit_code, 0);
  const std::string run = only_run_in(out(), "small").string();
  const auto result = train_and_signal_at_once("--resume " + run + " training.epochs=1000000", "TERM");
  EXPECT_EQ(result.exit_code, 143);
  EXPECT_THAT(result.errors, HasSubstr("train --resume " + run + "\n"));
}

TEST_F(Limits, SignalsThatWereIgnoredStayIgnored) {
  program().run_in_shell(
      "trap '' HUP INT; \"$0\" train -q small.yaml training.epochs=1000000 & p=$!; "
      "until grep -q '^1,' runs/small/*/epochs.csv 2>/dev/null; do kill -0 $p || exit 99; sleep 0.01; done; "
      "kill -HUP $p; kill -INT $p; kill -TERM $p; wait $p",
      143);
  EXPECT_THAT(read_text(only_run_in(program().folder() / "runs", "small") / kSummaryFile), HasSubstr("SIGTERM"));
}

// One measurement of 1024 layers takes too long to wait for; earlier measurements are written.
TEST_F(Limits, ASignalEndsABenchmarkWithinAMeasurement) {
  int num_polls = 0;  // of one second after the first measurement
  const auto is_in_the_second = [&] {
    return read_text(program().folder() / "stderr.txt").find("[1/2]") != std::string::npos && ++num_polls > 200;
  };
  const auto result = program().run_and_signal(
      {"bench", "device=cpu", "layer=naive", "hidden_size=8", "num_layers=1,1024", "num_steps=2000", "batch_size=1",
       "repeats=1", "warmup=0", "sample_seconds=0.01", "min_seconds=0", "--json", "a.json"},
      SIGTERM, is_in_the_second);
  EXPECT_EQ(result.exit_code, 143) << result.errors;
  EXPECT_THAT(result.errors, HasSubstr("combination is skipped\n"));
  EXPECT_THAT(result.output, HasSubstr("naive"));
  EXPECT_THAT(read_text(program().folder() / "a.json"), HasSubstr("\"layer\": \"naive\""));
}

}  // namespace
}  // namespace rnnlab::testing
