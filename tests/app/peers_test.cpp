// SPDX-License-Identifier: Apache-2.0
// The peers of experiments/ do the work of an experiment in different programs: `rnnlab compare` reads their run
// folders together with ours, and finds equal losses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "app/program.h"

namespace rnnlab {
namespace {

using ::testing::HasSubstr;
using testing::kTinyYaml;
using testing::Program;

// RNNLAB_PYTHON names an interpreter with the packages of the peers, if "python3" has none.
std::string python() {
  const char* named = std::getenv("RNNLAB_PYTHON");
  return named == nullptr ? "python3" : named;
}

bool has_package(const std::string& package) {
  return std::system((python() + " -c 'import " + package + "' 2>/dev/null >&2").c_str()) == 0;
}

class Peer : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!has_package(GetParam()))
      GTEST_SKIP() << python() << " has no package " << GetParam() << ": RNNLAB_PYTHON=... names one that has";
  }
  testing::ProgramResult run_peer(const std::string& arguments) const {
    return program_.run_in_shell(python() + " " RNNLAB_EXPERIMENTS "/peer_" + GetParam() + ".py tiny.yaml " +
                                 arguments + " --program \"$0\"");
  }
  static std::string num_threads() { return GetParam() == "jax" ? "$(nproc)" : "1"; }

  // JAX has a thread for each CPU; PyTorch has the requested number.
  nlohmann::json compared(const std::string& settings) const {
    program_.run_in_shell("\"$0\" train tiny.yaml -q training.num_threads=" + num_threads() + " " + settings, 0);
    const auto peer = run_peer("training.num_threads=" + num_threads() + " " + settings);
    EXPECT_EQ(peer.exit_code, 0) << peer.errors;
    const auto result = program_.run({"compare", "runs/tiny", "--json"}, 0);
    const auto comparison = nlohmann::json::parse(result.output);
    expect_files_that_agree(comparison);
    expect_equal_accuracies(comparison["groups"]);
    return comparison;
  }

  const Program program_{kTinyYaml};

 private:
  // The peer writes its files as this program would.
  static void expect_files_that_agree(const nlohmann::json& comparison) {
    const std::set<std::string> wrong = {"broken_seal",  "rows_disagree",  "edited_summary", "edited_config",
                                         "wrong_median", "wrong_identity", "wrong_summary",  "losses_part"};
    for (const auto& warning : comparison["warnings"]) EXPECT_FALSE(wrong.contains(warning["kind"])) << warning;
  }

  static void expect_equal_accuracies(const nlohmann::json& groups) {
    const auto accuracy = [&](size_t i) {
      return groups.at(i)["final_metrics"]["valid_accuracy"]["median"].get<double>();
    };
    EXPECT_NEAR(accuracy(0), accuracy(1), 0.021);  // one of 50 samples
  }
};

TEST_P(Peer, DoesTheSameWorkToTheSample) {
  const auto comparison = compared("");
  ASSERT_EQ(comparison["groups"].size(), 2u);
  const auto& peer = comparison["groups"][1];
  EXPECT_EQ(peer["num_timed_epochs"], 2);
  EXPECT_LT(peer["loss_agreement"]["largest_difference"], 1e-4);
}

TEST_P(Peer, DoesItWithSchedulesClippingAndAPartOfABatch) {
  const auto comparison = compared(
      "training.batch_size=64 training.schedule=cosine training.warmup_steps=3 training.clip_norm=0.1 "
      "model.cell=gru model.num_layers=2 model.pooling=mean 'model.dense=[6]'");
  EXPECT_LT(comparison["groups"][1]["loss_agreement"]["largest_difference"], 1e-4);
}

TEST_P(Peer, DoesALanguageModel) {
  program_.write("text.txt", std::string(2000, 'a') + std::string(2000, 'b'));
  const auto comparison = compared(
      "data.source=text data.path=text.txt data.num_train=null data.num_valid=null data.sequence_length=10 "
      "model.kind=language_model");
  EXPECT_LT(comparison["groups"][1]["loss_agreement"]["largest_difference"], 1e-4);
}

TEST_P(Peer, NamesEachSettingThatItCannotDo) {
  const auto result = run_peer("training.accumulate=2 model.tied=false training.clip_value=1");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("\n  training.accumulate: 2, "));
  EXPECT_THAT(result.errors, HasSubstr("\n  training.clip_value: 1, "));
}

TEST_P(Peer, RefusesAnInvalidTurn) {
  const auto result = run_peer("training.num_threads=" + num_threads() + " --turn 1:2");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("error: --turn: got 1:2, "));
}

TEST_P(Peer, GivesBackTheMistakeThatTheProgramFinds) {
  const auto result = run_peer("training.epochs=x");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("training.epochs: got 'x'"));
}

INSTANTIATE_TEST_SUITE_P(Of, Peer, ::testing::Values("torch", "jax"), [](const auto& each) { return each.param; });

}  // namespace
}  // namespace rnnlab
