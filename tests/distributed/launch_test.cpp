#include "distributed/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/error.h"

namespace rnnlab {
namespace {

using Variables = std::map<std::string, std::string>;

std::optional<Launch> launch_in(const Variables& variables) {
  return launch_of([&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

std::string refusal_in(const Variables& variables) {
  try {
    launch_in(variables);
  } catch (const UserError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kUsage);
    return error.what();
  }
  return "";
}

TEST(Launch, IsNothingForAProcessByItself) { EXPECT_EQ(launch_in({}), std::nullopt); }

TEST(Launch, IsOfOurOwnProcesses) {
  const auto launch = launch_in({{"RNNLAB_RANK", "1"}, {"RNNLAB_SIZE", "4"}, {"RNNLAB_STORE_PORT", "40123"}}).value();
  EXPECT_EQ(launch.launcher, Launcher::kRnnlab);
  EXPECT_EQ(launch.rank, 1);
  EXPECT_EQ(launch.size, 4);
  EXPECT_EQ(launch.local_rank, 1);
  EXPECT_TRUE(launch.is_one_host);
  EXPECT_EQ(launch.address, "127.0.0.1");
  EXPECT_EQ(launch.port, 40123);
  EXPECT_TRUE(launch.launcher_hosts_store);
}

const Variables kTorchrun = {{"RANK", "5"},
                             {"WORLD_SIZE", "8"},
                             {"LOCAL_RANK", "1"},
                             {"LOCAL_WORLD_SIZE", "4"},
                             {"MASTER_ADDR", "node1"},
                             {"MASTER_PORT", "29500"},
                             {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                             {"TORCHELASTIC_RESTART_COUNT", "2"}};

TEST(Launch, IsOfTorchrun) {
  const auto launch = launch_in(kTorchrun).value();
  EXPECT_EQ(name_of(launch.launcher), "torchrun");
  EXPECT_EQ(launch.rank, 5);
  EXPECT_EQ(launch.local_rank, 1);
  EXPECT_FALSE(launch.is_one_host);
  EXPECT_EQ(launch.address, "node1");
  EXPECT_EQ(launch.port, 29500);
  EXPECT_TRUE(launch.launcher_hosts_store) << "its agent is the server";
  EXPECT_EQ(launch.attempt, "2");
}

TEST(Launch, IsOfTheTasksOfASlurmStep) {
  const auto launch = launch_in({{"SLURM_STEP_ID", "0"},
                                 {"SLURM_STEP_NUM_TASKS", "4"},
                                 {"SLURM_PROCID", "3"},
                                 {"SLURM_LOCALID", "1"},
                                 {"SLURM_STEP_NUM_NODES", "2"},
                                 {"SLURM_STEP_NODELIST", "node[07-08]"},
                                 {"SLURM_JOB_ID", "12345"}})
                          .value();
  EXPECT_EQ(name_of(launch.launcher), "srun");
  EXPECT_EQ(launch.rank, 3);
  EXPECT_EQ(launch.size, 4);
  EXPECT_EQ(launch.local_rank, 1);
  EXPECT_FALSE(launch.is_one_host);
  EXPECT_EQ(launch.address, "node07");
  EXPECT_EQ(launch.port, 17345);
  EXPECT_FALSE(launch.launcher_hosts_store);
}

// sbatch without srun sets most of Slurm's variables for its one script.
TEST(Launch, IsNothingForABatchScript) {
  EXPECT_EQ(launch_in({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_JOB_ID", "7"}}), std::nullopt);
  EXPECT_EQ(launch_in({{"SLURM_PROCID", "0"}, {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}), std::nullopt);
}

const Variables kMpirun = {{"OMPI_COMM_WORLD_RANK", "2"},
                           {"OMPI_COMM_WORLD_SIZE", "4"},
                           {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                           {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};

TEST(Launch, OfMpirunOverSeveralHostsNeedsAnAddress) {
  EXPECT_EQ(refusal_in(kMpirun),
            "mpirun started processes on several hosts, and none of them knows where rank 0 is: set MASTER_ADDR to its "
            "host (mpirun -x MASTER_ADDR=HOST)");
  Variables with_address = kMpirun;
  with_address["MASTER_ADDR"] = "node1";
  EXPECT_EQ(launch_in(with_address).value().address, "node1");
}

TEST(Launch, OfMpirunOnOneHostMeetsOnLoopback) {
  Variables on_one_host = kMpirun;
  on_one_host["OMPI_COMM_WORLD_LOCAL_SIZE"] = "4";
  const auto launch = launch_in(on_one_host).value();
  EXPECT_EQ(launch.address, "127.0.0.1");
  EXPECT_TRUE(launch.is_one_host);
}

TEST(Launch, NamesWhatIsMissing) {
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
    Variables half = kTorchrun;
    half.erase(name);
    EXPECT_THAT(refusal_in(half),
                ::testing::HasSubstr(std::string("the environment variable ") + name + " is missing"));
  }
}

TEST(Launch, NamesWhatIsNoNumberInRange) {
  Variables wrong = kTorchrun;
  wrong["RANK"] = "8";
  EXPECT_EQ(refusal_in(wrong), "the environment variable RANK: got '8', expected a number from 0 to 7");
  wrong["RANK"] = "first";
  EXPECT_EQ(refusal_in(wrong), "the environment variable RANK: got 'first', expected a number from 0 to 7");
}

}  // namespace
}  // namespace rnnlab
