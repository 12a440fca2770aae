// SPDX-License-Identifier: Apache-2.0
// Tests one run that several processes train on GPUs. On a machine with one GPU, the processes share it: NCCL then uses
// sockets, so the tests check the results but not the speed.
#include <gmock/gmock.h>
#include <signal.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "app/program.h"
#include "app/trained_together.h"
#include "base/system/files.h"
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
using testing::with;
using testing::Words;

// 16 batches of 12 samples and one of 1: eight steps at once, steps one by one, and a last batch of which one process
// of two has nothing.
constexpr const char* kGpuYaml = R"(name: together
device: cuda
layer: persistent
deterministic: true
data: {source: digits, num_train: 193, num_valid: 57}
model: {hidden_size: 64, num_layers: 2}
training: {epochs: 3, batch_size: 12, valid_batch_size: 20, cuda_graph: true}
)";

class DevicesOnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (Program().run_in_shell("\"$0\" info | grep -q '^device:.*cuda'").exit_code != 0) GTEST_SKIP() << "no GPU";
    ::setenv("RNNLAB_SHARE_GPUS", "1", 1);
  }

  static ProgramResult train(const Program& program, const Words& more) {
    return testing::train_together(program, kGpuYaml, more);
  }
  static RunRecord trained(const Program& program, const Words& more) {
    return testing::trained_together(program, kGpuYaml, more);
  }
  static RunRecord trained(const Words& more) { return trained(Program(), more); }

  static std::string weights_of(const Words& more) {
    const Program program;
    trained(program, more);
    return final_weights(newest_run(program));
  }
};

double largest_gap(const RunRecord& a, const RunRecord& b) {
  EXPECT_EQ(a.rows.size(), b.rows.size());
  double largest = 0;
  for (size_t i = 0; i < a.rows.size(); ++i) {
    largest = std::max(largest, std::abs(a.rows[i].train_loss - b.rows[i].train_loss) / a.rows[i].train_loss);
    largest = std::max(largest, std::abs(a.rows[i].valid_loss.value() - b.rows[i].valid_loss.value()));
  }
  return largest;
}

TEST_F(DevicesOnGpu, ComputeWhatOneComputes) {
  for (const char* layer : {"layer=persistent", "layer=naive", "layer=fused", "layer=cudnn"})
    for (const char* graph : {"training.cuda_graph=true", "training.cuda_graph=false"}) {
      const RunRecord one = trained({layer, graph}), two = trained({layer, graph, "devices=2"});
      EXPECT_LT(largest_gap(one, two), 1e-5) << layer << " " << graph;
    }
}

TEST_F(DevicesOnGpu, ComputeWhatOneComputesInFp16WithClippingAndAccumulation) {
  const Words settings = {"precision=fp16", "training.clip_norm=0.05", "training.accumulate=2"};
  EXPECT_LT(largest_gap(trained(settings), trained(with(settings, {"devices=2"}))), 2e-3);
}

TEST_F(DevicesOnGpu, GiveTheSameBitsAgain) {
  const Words settings = {"devices=2", "model.dropout=0.2", "model.output_dropout=0.2"};
  EXPECT_TRUE(weights_of(settings) == weights_of(settings));
}

// The sum of two numbers does not depend on their order.
TEST_F(DevicesOnGpu, OfTwoGpusGiveTheSameBitsBySymmetricMemory) {
  ::unsetenv("RNNLAB_SHARE_GPUS");
  const Program program;
  if (train(program, {"devices=2", "training.epochs=1"}).exit_code != 0) GTEST_SKIP() << "needs two GPUs";
  for (const char* how :
       {"training.cuda_graph=true", "training.cuda_graph=false", "precision=fp16", "training.accumulate=2"})
    for (const char* pieces : {"distributed.piece_bytes=4096", "distributed.piece_bytes=null"}) {
      const Words settings = {"devices=2", "training.clip_norm=0.05", "model.dropout=0.2", how, pieces};
      const Words of_symmetric_memory = with(settings, {"distributed.exchange=symmetric_memory"});
      EXPECT_TRUE(weights_of(settings) == weights_of(of_symmetric_memory)) << how << " " << pieces;
    }
}

// Each GPU adds up a quarter of the large messages.
TEST_F(DevicesOnGpu, OfFourGpusComputeBySymmetricMemoryWhatTheyComputeByNccl) {
  ::unsetenv("RNNLAB_SHARE_GPUS");
  const Words settings = {"devices=4", "model.hidden_size=512", "training.clip_norm=0.05"};
  const Program program;
  if (train(program, settings).exit_code != 0) GTEST_SKIP() << "needs four GPUs";
  const RunRecord of_nccl = load_run(newest_run(program));
  for (const char* graph : {"training.cuda_graph=true", "training.cuda_graph=false"}) {
    const Words of_symmetric_memory = with(settings, {graph, "distributed.exchange=symmetric_memory"});
    EXPECT_LT(largest_gap(of_nccl, trained(of_symmetric_memory)), 1e-5) << graph;
  }
}

TEST_F(DevicesOnGpu, GiveTheSameBitsInAnyNumberThatDividesTheShards) {
  const Words settings = {"training.shards=4", "model.dropout=0.2", "model.output_dropout=0.2"};
  const std::string one = weights_of(settings);
  for (const char* other : {"devices=2", "devices=4", "training.cuda_graph=false"})
    EXPECT_TRUE(weights_of(with(settings, {other})) == one) << other;
}

TEST_F(DevicesOnGpu, ResumeWithTheSameBitsOnADifferentNumber) {
  const Words settings = {"training.shards=4", "model.dropout=0.2", "checkpoint.every_steps=13"};
  const Program stopped;
  trained(stopped, with(settings, {"devices=2", "training.max_steps=26"}));
  stopped.run({"train", "--resume", newest_run(stopped).string(), "training.max_steps=null", "devices=1"}, 0);
  EXPECT_TRUE(final_weights(newest_run(stopped)) == weights_of(settings));
}

TEST_F(DevicesOnGpu, EndTogetherWhereTheLossIsNotANumber) {
  const ProgramResult result = train(Program(), {"devices=2", "training.learning_rate=1e30"});
  EXPECT_EQ(result.exit_code, 5) << result.errors;
}

TEST_F(DevicesOnGpu, SaveAndEndTogetherAtASignal) {
  const Program program(kGpuYaml, "together.yaml");
  const ProgramResult result =
      program.run_and_signal({"train", "together.yaml", "devices=2", "training.epochs=100000"}, SIGTERM, [&] {
        const auto folders = program.run_folders("together");
        return !folders.empty() && fs::exists(fs::path(folders.back()) / "epochs.csv");
      });
  EXPECT_EQ(result.exit_code, 143) << result.errors;
  EXPECT_EQ(load_run(newest_run(program)).summary.ending, RunEnding::kInterrupted);
}

// The first rank leaves between two graphs, and the others' kernels wait for it.
void expect_all_end_where_one_fails(const std::string& setting) {
  const Program program(kGpuYaml, "together.yaml");
  const ProgramResult result =
      program.run_and_signal({"train", "together.yaml", "devices=2", "training.epochs=100000", setting}, 0, [&] {
        const auto folders = program.run_folders("together");
        if (folders.empty() || !fs::exists(fs::path(folders.back()) / "epochs.csv")) return false;
        std::error_code ignored;
        fs::remove_all(folders.back(), ignored);  // so that the first rank cannot save
        return true;
      });
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.errors, HasSubstr("No such file "));
}

TEST_F(DevicesOnGpu, EndTogetherWhereOneFails) { expect_all_end_where_one_fails("distributed.exchange=all_reduce"); }

TEST_F(DevicesOnGpu, EndTogetherWhereOneFailsInSymmetricMemory) {
  ::unsetenv("RNNLAB_SHARE_GPUS");
  if (train(Program(), {"devices=2", "training.epochs=1"}).exit_code != 0) GTEST_SKIP() << "needs two GPUs";
  expect_all_end_where_one_fails("distributed.exchange=symmetric_memory");
}

// No process started these ranks, so no process ends the other rank.
TEST_F(DevicesOnGpu, EndWithoutTheirLauncherIfOneFails) {
  for (const char* graph : {"true", "false"}) {
    const Program program(kGpuYaml, "together.yaml");
    const std::string settings =
        std::string(" train together.yaml training.epochs=100000 training.cuda_graph=") + graph;
    const ProgramResult result = program.run_in_shell(
        kEnvironmentOfTwo +
            "(until ls runs/together/*/epochs.csv; do sleep 0.2; done; rm -rf runs/together/*) >/dev/null 2>&1 & "
            "RANK=1 LOCAL_RANK=1 timeout 100 \"$0\"" +
            settings + " & other=$!; RANK=0 LOCAL_RANK=0 timeout 100 \"$0\"" + settings +
            "; first=$?; wait $other; echo second=$?; exit $first",
        4);
    EXPECT_THAT(result.output, HasSubstr("second=4"));
  }
}

TEST_F(DevicesOnGpu, NeedAGpuEach) {
  ::unsetenv("RNNLAB_SHARE_GPUS");
  const ProgramResult result = train(Program(), {"devices=64", "training.batch_size=64"});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.errors, HasSubstr("devices: 64 processes "));
}

}  // namespace
}  // namespace rnnlab
