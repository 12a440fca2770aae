// SPDX-License-Identifier: Apache-2.0
// Tests names of experiments in place of paths of runs, and the link `latest`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include <nlohmann/json.hpp>

#include "app/program.h"
#include "golden.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::kTinyYaml;
using testing::Program;
using ::testing::StartsWith;
using testing::with;
using testing::Words;

// A program with two runs of the experiment tiny.
class RunNames : public ::testing::Test {
 protected:
  RunNames() {
    train({});
    older_ = newest();
    train({"layer=naive"});
  }

  void train(const Words& more) const { program_.run(with({"train", "tiny.yaml", "--quiet"}, more), 0); }

  // Returns "runs/tiny/2026-11-21T02-59-51Z-cpu-naive".
  std::string newest() const {
    return "runs/tiny/" + fs::read_symlink(program_.folder() / "runs/tiny/latest").string();
  }

  const Program program_{kTinyYaml};
  std::string older_;
};

TEST_F(RunNames, MeanTheNewestRunOfAnExperiment) {
  const std::string note = "rnnlab: note: tiny is " + newest() + ", the newest of 2 runs\n";
  const auto evaluated = program_.run({"evaluate", "tiny", "device=cpu"}, 0);
  EXPECT_EQ(evaluated.errors, note);
  EXPECT_THAT(evaluated.output, StartsWith("model     tiny from tiny/" + fs::path(newest()).filename().string()));
  EXPECT_EQ(program_.run({"predict", "tiny"}).errors, note);
  EXPECT_THAT(program_.run({"convert", "tiny", "-o", "a.safetensors"}).output, HasSubstr(" of " + newest() + "/"));
  EXPECT_THAT(program_.run({"train", "--resume", "tiny", "training.epochs=4"}).errors, StartsWith(note));
}

TEST_F(RunNames, MeanAllRunsOfAnExperimentWhereSeveralAreTaken) {
  for (const std::string verb : {"compare", "rank"})
    EXPECT_EQ(program_.run({verb, "tiny", "--csv"}).output, program_.run({verb, "runs/tiny", "--csv"}).output);
  EXPECT_EQ(program_.run({"report", "tiny", "--markdown"}).output,
            program_.run({"report", "runs/tiny", "--markdown"}).output);
  const auto json = nlohmann::json::parse(program_.run({"compare", "tiny", "--baseline", "tiny", "--json"}).output);
  EXPECT_EQ(json["baseline"], "cpu naive") << "the newest run";
}

TEST_F(RunNames, MayBeThePathOfAFolderOfRuns) {
  const std::string note = "rnnlab: note: runs/tiny is " + newest() + ", the newest of 2 runs\n";
  const auto evaluated = program_.run({"evaluate", "runs/tiny", "device=cpu"}, 0);
  EXPECT_EQ(evaluated.errors, note);
  EXPECT_EQ(evaluated.output.substr(0, evaluated.output.find('\n')),
            "model     tiny from tiny/" + fs::path(newest()).filename().string() + "/checkpoints/step-000012");
  EXPECT_EQ(program_.run({"predict", "runs/tiny/"}).exit_code, 0);
  EXPECT_EQ(program_.run({"evaluate", "runs"}).exit_code, 2) << "which experiment is not clear";
  EXPECT_EQ(program_.run({"evaluate", newest()}).errors, "");
}

// Folders of data often have the name of their experiment.
TEST_F(RunNames, AreNotHiddenByAFolderOrFileOfThatName) {
  const auto compared = program_.run({"compare", "runs/tiny", "--csv"});
  const auto expect_runs = [&] {
    for (const std::string name : {"tiny", "tiny/"}) {
      EXPECT_THAT(program_.run({"evaluate", name}).output, StartsWith("model     tiny from tiny/"));
      EXPECT_EQ(program_.run({"predict", name}).exit_code, 0);
    }
    EXPECT_EQ(program_.run({"convert", "tiny", "-o", "a.safetensors"}).exit_code, 0);
    for (const std::string verb : {"compare", "rank"}) EXPECT_EQ(program_.run({verb, "tiny", "--csv"}).exit_code, 0);
    EXPECT_EQ(program_.run({"compare", "tiny", "--csv"}).output, compared.output);
    EXPECT_EQ(program_.run({"report", "tiny", "--markdown"}).exit_code, 0);
    EXPECT_EQ(program_.run({"train", "--resume", "tiny", "--quiet", "training.epochs=4"}).exit_code, 0);
  };
  fs::create_directories(program_.folder() / "tiny/sounds");
  program_.write("tiny/sounds/a.wav", "RIFF");
  expect_runs();
  fs::remove_all(program_.folder() / "tiny");
  program_.write("tiny", "a note\n");
  EXPECT_EQ(program_.run({"evaluate", "tiny"}).exit_code, 0);
  EXPECT_EQ(program_.run({"report", "tiny", "--markdown"}).exit_code, 0);
}

TEST_F(RunNames, AreThoseOfAFolderOfThatNameWithRuns) {
  fs::create_directories(program_.folder() / "tiny");
  fs::rename(program_.folder() / older_, program_.folder() / "tiny" / fs::path(older_).filename());
  EXPECT_THAT(program_.run({"evaluate", "tiny"}).errors, HasSubstr("tiny is tiny/"));
  EXPECT_THAT(program_.run({"evaluate", "missing"}).errors, HasSubstr("no such file "));
}

TEST_F(RunNames, MayNameARunOrACheckpoint) {
  const std::string run = older_.substr(std::string("runs/").size());
  EXPECT_THAT(program_.run({"evaluate", run}).output, StartsWith("model     tiny from " + run + "/checkpoints/"));
  EXPECT_EQ(program_.run({"evaluate", run}).errors, "") << "one run, so which one is clear";
  EXPECT_EQ(program_.run({"evaluate", "tiny/latest"}).exit_code, 0);
}

TEST_F(RunNames, AreFoundBesideAFolderWithoutRuns) {
  fs::create_directory(program_.folder() / "tiny");
  const auto result = program_.run({"evaluate", "tiny"}, 0);
  EXPECT_THAT(result.errors, StartsWith("rnnlab: note: tiny is "));
}

TEST_F(RunNames, AreProposedForOnesThatDoNotExist) {
  for (const std::string verb : {"evaluate", "predict", "compare", "rank", "report"})
    program_.expect_error(2, {verb, "tinny"});
  program_.expect_error(2, {"compare", "runs/tinny"});
  program_.expect_error(2, {"compare", "./tiny"});
  program_.expect_error(2, {"train", "--resume", "tiny", "--out", "other"});
}

TEST_F(RunNames, OfAResumeAreLookedUpInTheFolderOfTheOption) {
  train({"--out", "other"});
  EXPECT_EQ(program_.run({"train", "--resume", "tiny", "--out", "other", "training.epochs=4", "-q"}).exit_code, 0);
  program_.expect_error(2, {"train", "--resume", newest(), "--out", "other"});
}

TEST_F(RunNames, CountTheRunOfTheLinkLatestOnce) {
  const auto groups = [&](const std::string& runs) {
    return nlohmann::json::parse(program_.run_in_shell("\"$0\" compare --json " + runs).output)["groups"];
  };
  EXPECT_EQ(groups("runs/tiny").size(), 2u);
  EXPECT_EQ(groups("runs/tiny/*"), groups("runs/tiny"));
  EXPECT_EQ(groups("runs/tiny/latest runs/tiny"), groups(newest() + " runs/tiny"));
  EXPECT_EQ(program_.run_in_shell("\"$0\" rank runs --csv | wc -l").output, "3\n") << "a header and two runs";
  fs::remove_all(program_.folder() / older_);
  EXPECT_EQ(program_.run_in_shell("\"$0\" evaluate runs/tiny/*").exit_code, 0) << "the run and the link to it";
  EXPECT_EQ(program_.run_in_shell("\"$0\" train --resume runs/tiny/* training.epochs=5").exit_code, 0);
}

TEST_F(RunNames, OfALinkToADeletedRunAreThoseOfTheNewestOneLeft) {
  fs::remove_all(program_.folder() / newest());
  ASSERT_TRUE(fs::is_symlink(program_.folder() / "runs/tiny/latest"));
  const std::string model = "model     tiny from " + older_.substr(std::string("runs/").size()) + "/checkpoints/";
  EXPECT_THAT(program_.run({"evaluate", "tiny/latest"}).output, StartsWith(model));
  EXPECT_THAT(program_.run({"evaluate", "runs/tiny/latest/checkpoints/step-000012"}).output, StartsWith(model));
  EXPECT_EQ(program_.run_in_shell("\"$0\" compare runs/tiny/* --csv").output,
            program_.run({"compare", "runs/tiny", "--csv"}).output);
  EXPECT_EQ(program_.run_in_shell("\"$0\" evaluate runs/tiny/*").exit_code, 0);
  fs::remove_all(program_.folder() / older_);
  program_.expect_error(2, {"compare", "tiny/latest"});
}

TEST_F(RunNames, OfALinkToADeletedRunAreReadWithANote) {
  const std::string deleted = newest();
  fs::remove_all(program_.folder() / deleted);
  expect_golden(program_.run({"evaluate", "tiny/latest"}, 0).errors);
}

TEST_F(RunNames, OfALinkToADeletedRunAreNotResumed) {
  fs::remove_all(program_.folder() / newest());
  for (const std::string name : {"tiny/latest", "runs/tiny/latest", "runs/tiny/latest/checkpoints/step-000012"}) {
    program_.expect_error(2, {"train", "--resume", name, "training.epochs=9"});
  }
  EXPECT_EQ(program_.run({"train", "--resume", "tiny", "training.epochs=4", "-q"}).exit_code, 0);
  fs::remove_all(program_.folder() / older_);
  program_.expect_error(2, {"train", "--resume", "tiny/latest"});
}

TEST_F(RunNames, SkipRunsWithoutACheckpointWhereAModelIsNeeded) {
  fs::remove_all(program_.folder() / newest() / "checkpoints");
  program_.expect_error(0, {"evaluate", "tiny"});
  program_.expect_error(2, {"predict", "tiny/latest"});
  fs::create_directories(program_.folder() / "runs/tiny/zero/checkpoints");
  EXPECT_THAT(program_.run({"predict", newest() + "/"}).errors, HasSubstr(" such as " + older_ + ", "));
  EXPECT_THAT(program_.run_in_shell("cd " + newest() + " && \"$0\" predict .").errors,
              HasSubstr((program_.folder() / older_).string() + ", "));
}

TEST_F(RunNames, OfWhichOneIsTakenAreNotSeveral) { program_.expect_error(2, {"evaluate", older_, newest()}); }

TEST_F(RunNames, AreNotProposedForFoldersWithoutRunsOrForDifferentNames) {
  fs::create_directory(program_.folder() / "tinnny");
  program_.expect_error(2, {"compare", "tinny"});
  program_.expect_error(2, {"compare", "runs/moons"});  // the folder runs is not a part of the similarity
  program_.expect_error(2, {"compare", "runs/tinny/"});
}

TEST_F(RunNames, OfTheLinkLatestAreThoseOfItsRun) {
  EXPECT_THAT(program_.run({"convert", "runs/tiny/latest", "-o", "a.safetensors"}).output,
              HasSubstr(" of " + newest() + "/checkpoints/"));
}

}  // namespace
}  // namespace rnnlab
