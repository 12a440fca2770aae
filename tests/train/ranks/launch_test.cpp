// SPDX-License-Identifier: Apache-2.0
#include "train/ranks/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/expect_error.h"
#include "golden.h"

namespace rnnlab {
namespace {

using Variables = std::map<std::string, std::string>;

auto look_up_in(const Variables& variables) {
  return [&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

std::optional<Launch> launch_in(const Variables& variables) { return launch_of(look_up_in(variables)); }

// Returns the variables with this one.
Variables with(Variables variables, const std::string& name, const std::string& value) {
  variables[name] = value;
  return variables;
}

std::string refusal_in(const Variables& variables) {
  return testing::message_of_error(ExitCode::kUsage, [&] { launch_in(variables); });
}

const Variables kOwn = {{"RNNLAB_RANK", "1"}, {"RNNLAB_SIZE", "4"}, {"RNNLAB_STORE_PORT", "40123"}};

TEST(Launch, IsNothingForAProcessByItself) { EXPECT_EQ(launch_in({}), std::nullopt); }

TEST(Launch, IsOfOurOwnProcesses) {
  const auto launch = launch_in(kOwn).value();
  EXPECT_EQ(launch.launcher, Launcher::kRnnlab);
  EXPECT_EQ(launch.rank, 1);
  EXPECT_EQ(launch.size, 4);
  EXPECT_EQ(launch.local_rank, 1);
  EXPECT_TRUE(launch.is_one_host);
  EXPECT_EQ(launch.address, "127.0.0.1");
  EXPECT_EQ(launch.port, 40123);
  EXPECT_TRUE(launch.launcher_hosts_store);
}

TEST(Launch, HasTheSecretOfItsVariable) {
  EXPECT_EQ(launch_in(kOwn).value().secret, "");
  EXPECT_EQ(launch_in(with(kOwn, "RNNLAB_LAUNCH_SECRET", "0123456789abcdef")).value().secret, "0123456789abcdef");
}

TEST(Launch, RefusesASecretThatIsEasilyGuessedWithoutShowingIt) {
  for (const std::string& wrong : {std::string(), std::string("hunter2"), std::string(1025, 'x')}) {
    const std::string message = refusal_in(with(kOwn, "RNNLAB_LAUNCH_SECRET", wrong));
    expect_golden(message);
    EXPECT_THAT(message, Not(::testing::HasSubstr("hunter2")));
  }
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
  EXPECT_EQ(config::name_of(launch.launcher), "torchrun");
  EXPECT_EQ(launch.rank, 5);
  EXPECT_EQ(launch.local_rank, 1);
  EXPECT_FALSE(launch.is_one_host);
  EXPECT_EQ(launch.address, "node1");
  EXPECT_EQ(launch.port, 29500);
  EXPECT_TRUE(launch.launcher_hosts_store) << "the agent of torchrun is the server";
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
  EXPECT_EQ(config::name_of(launch.launcher), "srun");
  EXPECT_EQ(launch.rank, 3);
  EXPECT_EQ(launch.size, 4);
  EXPECT_EQ(launch.local_rank, 1);
  EXPECT_FALSE(launch.is_one_host);
  EXPECT_EQ(launch.address, "node07");
  EXPECT_EQ(launch.attempt, "12345.0.0.");
  EXPECT_FALSE(launch.launcher_hosts_store);
}

// sbatch without srun sets most of Slurm's variables for its one script.
TEST(Launch, IsNothingForABatchScript) {
  EXPECT_EQ(launch_in({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_JOB_ID", "7"}}), std::nullopt);
  EXPECT_EQ(launch_in({{"SLURM_PROCID", "0"}, {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}), std::nullopt);
}

Variables slurm_step(const std::string& job, const std::string& step) {
  return {{"SLURM_JOB_ID", job},
          {"SLURM_STEP_ID", step},
          {"SLURM_STEP_NUM_TASKS", "2"},
          {"SLURM_PROCID", "1"},
          {"SLURM_LOCALID", "1"}};
}

// Several jobs may run on one host at the same time.
TEST(Launch, OfTwoStepsOrJobsDoNotMeet) {
  std::set<int64_t> ports;
  std::set<std::string> attempts;
  for (const char* job : {"12345", "22345"})
    for (const char* step : {"0", "1"}) {
      const Launch launch = launch_in(slurm_step(job, step)).value();
      EXPECT_THAT(launch.port, ::testing::AllOf(::testing::Ge(15'000), ::testing::Lt(25'000)));
      ports.insert(launch.port);
      attempts.insert(launch.attempt);
    }
  EXPECT_EQ(ports.size(), 4U);
  EXPECT_EQ(attempts.size(), 4U);
}

TEST(Launch, OfARequeuedJobHasAnAttemptOfItsOwn) {
  const Variables first = slurm_step("12345", "0");
  EXPECT_NE(launch_in(with(first, "SLURM_RESTART_COUNT", "1")).value().attempt, launch_in(first).value().attempt);
}

TEST(Launch, TakesThePortThatIsSet) {
  EXPECT_EQ(launch_in(with(slurm_step("12345", "0"), "MASTER_PORT", "4711")).value().port, 4711);
}

const Variables kMpirun = {{"OMPI_COMM_WORLD_RANK", "2"},
                           {"OMPI_COMM_WORLD_SIZE", "4"},
                           {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                           {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
const Variables kMpirunOnOneHost = with(kMpirun, "OMPI_COMM_WORLD_LOCAL_SIZE", "4");

TEST(Launch, OfMpirunOverSeveralHostsNeedsAnAddress) {
  expect_golden(refusal_in(kMpirun));
  EXPECT_EQ(launch_in(with(kMpirun, "MASTER_ADDR", "node1")).value().address, "node1");
}

TEST(Launch, OfMpirunOnOneHostMeetsOnLoopback) {
  const auto launch = launch_in(kMpirunOnOneHost).value();
  EXPECT_EQ(launch.address, "127.0.0.1");
  EXPECT_TRUE(launch.is_one_host);
}

TEST(Launch, OfTwoJobsOfMpirunDoNotMeet) {
  const auto one = launch_in(with(kMpirunOnOneHost, "PMIX_NAMESPACE", "prterun-node1-4711@1")).value();
  const auto other = launch_in(with(kMpirunOnOneHost, "PMIX_NAMESPACE", "prterun-node1-4712@1")).value();
  EXPECT_NE(one.port, other.port);
  EXPECT_NE(one.attempt, other.attempt);
}

// MPICH does not set a name of the job.
TEST(Launch, OfTwoJobsOfMpichDoNotMeet) {
  Variables variables = {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}};
  std::set<int64_t> ports;
  for (const char* process : {"100", "101", "102"}) {
    variables["(parent process)"] = process;
    ports.insert(launch_in(variables).value().port);
  }
  EXPECT_EQ(ports.size(), 3U);
}

TEST(Launch, IsNothingForTheOnlyProcessOfTorchrun) {
  Variables only = kTorchrun;
  only["RANK"] = only["LOCAL_RANK"] = "0";
  only["WORLD_SIZE"] = only["LOCAL_WORLD_SIZE"] = "1";
  EXPECT_EQ(launch_in(only), std::nullopt);
}

TEST(Launch, LeavesAFaultOfAllToRank0) {
  const auto is_left = [](const Variables& variables) { return is_certainly_not_rank_0(look_up_in(variables)); };
  EXPECT_TRUE(is_left({{"RANK", "1"}, {"WORLD_SIZE", "2"}}));
  EXPECT_TRUE(is_left({{"RANK", "1"}}));
  EXPECT_FALSE(is_left({{"RANK", "0"}, {"WORLD_SIZE", "2"}}));
  EXPECT_FALSE(is_left({{"RANK", "2"}, {"WORLD_SIZE", "2"}})) << "only this process has such a rank";
  EXPECT_FALSE(is_left({{"RANK", "first"}}));
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
  for (const char* rank : {"8", "first"}) expect_golden(refusal_in(with(kTorchrun, "RANK", rank)));
}

}  // namespace
}  // namespace rnnlab
