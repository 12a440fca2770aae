// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "app/program.h"

namespace rnnlab {
namespace {

using ::testing::HasSubstr;
using testing::Program;

// Returns the words that bash offers after the words of `line`, in a folder with runs of these experiments.
std::string offered(const std::string& line, const std::vector<std::string>& experiments = {}) {
  const Program program;
  for (const std::string& name : experiments) std::filesystem::create_directories(program.folder() / "runs" / name);
  program.write("complete.sh", program.run({"completion", "bash"}).output + R"(
COMP_WORDS=($1)
[[ $1 == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_rnnlab
printf '%s\n' "${COMPREPLY[@]}" > offered.txt
)");
  const std::string folder = program.folder().string();
  EXPECT_EQ(std::system(("cd '" + folder + "' && bash complete.sh '" + line + "'").c_str()), 0);
  return testing::read_text(folder + "/offered.txt");
}

TEST(Completion, OffersVerbs) { EXPECT_EQ(offered("rnnlab tr"), "train\n"); }

TEST(Completion, OffersHelpAndVersion) {
  EXPECT_EQ(offered("rnnlab ver"), "version\n");
  EXPECT_EQ(offered("rnnlab hel"), "help\n");
  EXPECT_EQ(offered("rnnlab help tr"), "train\n");
  EXPECT_EQ(offered("rnnlab help data insp"), "inspect\n");
  EXPECT_EQ(offered("rnnlab help train tr"), "\n");
}

TEST(Completion, OffersKeysOfTheExperiment) {
  EXPECT_THAT(offered("rnnlab train training.batch"), HasSubstr("training.batch_size="));
}

TEST(Completion, OffersSweepsAndRepeatsWhereTheyAreTaken) {
  for (const char* verb : {"train", "check", "sweep plan"}) {
    EXPECT_EQ(offered(std::string("rnnlab ") + verb + " a.yaml swee"), "sweep=\n");
    EXPECT_EQ(offered(std::string("rnnlab ") + verb + " a.yaml repea"), "repeats=\n");
  }
  EXPECT_EQ(offered("rnnlab evaluate runs/a swee"), "\n");
}

TEST(Completion, OffersKeysOfABenchmark) { EXPECT_EQ(offered("rnnlab bench hidden_s"), "hidden_size=\n"); }

TEST(Completion, OffersTheValuesOfAKey) {
  EXPECT_EQ(offered("rnnlab train a.yaml layer = fus"), "fused_pointwise\nfused\n") << "as bash cuts words";
  EXPECT_THAT(offered("rnnlab train a.yaml precision ="), HasSubstr("bf16\n"));
  EXPECT_EQ(offered("rnnlab train a.yaml layer=na"), "layer=naive\n") << "as zsh cuts words";
  EXPECT_EQ(offered("rnnlab bench mode = gr"), "graph\n");
  EXPECT_EQ(offered("rnnlab check a.yaml training.cuda_graph = t"), "true\n");
}

TEST(Completion, OffersOptions) {
  EXPECT_EQ(offered("rnnlab compare --js"), "--json\n");
  EXPECT_EQ(offered("rnnlab train --trace-"), "--trace-steps\n");
  EXPECT_EQ(offered("rnnlab train --dry"), "--dry-run\n");
  EXPECT_EQ(offered("rnnlab train --find"), "--find-learning-rate\n");
  EXPECT_EQ(offered("rnnlab check --json"), "--json-schema\n--json\n");
  EXPECT_EQ(offered("rnnlab train a.yaml strict = t"), "true\n");
}

TEST(Completion, OffersOptionsOfANestedVerb) {
  EXPECT_EQ(offered("rnnlab data inspect --js"), "--json\n");
  EXPECT_EQ(offered("rnnlab data insp"), "inspect\n");
  EXPECT_EQ(offered("rnnlab data inspect"), "inspect\n") << "the cursor is still in the word";
  EXPECT_EQ(offered("rnnlab sweep plan"), "plan\n");
  EXPECT_EQ(offered("rnnlab sweep work --retry"), "--retry-failed\n");
  EXPECT_EQ(offered("rnnlab sweep plan --retry"), "\n") << "an option of another nested verb";
  EXPECT_EQ(offered("rnnlab sweep work dir training.ep"), "\n") << "which takes no keys";
}

TEST(Completion, LeavesOutHiddenOptions) {
  EXPECT_EQ(offered("rnnlab train --planned"), "\n");
  EXPECT_THAT(Program().run({"completion", "fish"}).output, ::testing::Not(HasSubstr("run-of-book")));
}

TEST(Completion, OffersNamesOfExperimentsWhereRunsAreTaken) {
  const std::vector<std::string> names = {"weather", "flowers"};
  for (const char* verb : {"evaluate", "predict", "convert", "compare", "rank", "report"})
    EXPECT_EQ(offered(std::string("rnnlab ") + verb + " wea", names), "weather\n");
  EXPECT_EQ(offered("rnnlab train wea", names), "\n");
  EXPECT_EQ(offered("rnnlab check wea", names), "\n");
}

TEST(Completion, OffersWhatCanBeResumed) {
  EXPECT_EQ(offered("rnnlab train a.yaml --resume a"), "auto\n");
  EXPECT_EQ(offered("rnnlab train --resume fl", {"weather", "flowers"}), "flowers\n");
}

TEST(Completion, ZshUsesTheSameScript) {
  EXPECT_TRUE(Program().run({"completion", "zsh"}).output.starts_with("#compdef rnnlab\n"));
}

TEST(Completion, FishShowsWordsWithTheirDescriptions) {
  const std::string script = Program().run({"completion", "fish"}).output;
  EXPECT_THAT(script, HasSubstr("complete -c rnnlab -n __rnnlab_only -a info -d 'Show what this machine and build can "
                                "do'\n"));
  EXPECT_THAT(script, HasSubstr("complete -c rnnlab -n '__rnnlab_verb train' -l resume -r -a 'auto (command ls runs "
                                "2>/dev/null)' -d 'resume this"));
  EXPECT_THAT(script, HasSubstr(" layer=naive layer=grouped "));
  EXPECT_THAT(script, HasSubstr(" model.hidden_size= "));
}

// The program in a folder with the run runs/weather and the file notes.txt.
class FishCompletion : public ::testing::Test {
 protected:
  void SetUp() override {
    if (program_.run_in_shell("command -v fish").exit_code != 0) GTEST_SKIP() << "fish is not installed";
    std::filesystem::create_directories(program_.folder() / "runs/weather");
    program_.write("notes.txt", "");
  }

  std::string offered(const std::string& line) const {
    return program_
        .run_in_shell(
            "\"$0\" completion fish > rnnlab.fish; HOME=. fish --no-config -c 'source rnnlab.fish; "
            "complete -C \"" +
            line + "\"'")
        .output;
  }

  Program program_;
};

TEST_F(FishCompletion, ReadsItsScript) {
  EXPECT_EQ(offered("rnnlab inf"), "info\tShow what this machine and build can do\n");
  EXPECT_EQ(offered("rnnlab train layer=na"), "layer=naive\n");
  EXPECT_THAT(offered("rnnlab compare --fa"), HasSubstr("--fair\t"));
}

TEST_F(FishCompletion, OffersTheOptionsOfTheProgramBeforeAVerb) {
  EXPECT_THAT(offered("rnnlab --"), HasSubstr("--version\t"));
  EXPECT_THAT(offered("rnnlab no"), ::testing::Not(HasSubstr("notes.txt")));
  EXPECT_THAT(offered("rnnlab train --vers"), ::testing::Not(HasSubstr("--version")));
}

TEST_F(FishCompletion, KeepsNestedVerbsApart) {
  EXPECT_THAT(offered("rnnlab sweep "), HasSubstr("work\tRun free tasks"));
  EXPECT_THAT(offered("rnnlab sweep work --re"), HasSubstr("--retry-failed\t"));
  EXPECT_EQ(offered("rnnlab sweep plan --ret"), "");
  EXPECT_EQ(offered("rnnlab sweep work training.ep"), "");
  EXPECT_THAT(offered("rnnlab sweep plan training.ep"), HasSubstr("training.epochs="));
  EXPECT_THAT(offered("rnnlab data inspect insp"), ::testing::Not(HasSubstr("inspect\t")));
}

TEST_F(FishCompletion, OffersWhatCanBeResumed) {
  const std::string words = offered("rnnlab train --resume ");
  EXPECT_THAT(words, HasSubstr("auto\t"));
  EXPECT_THAT(words, HasSubstr("weather\t"));
}

TEST_F(FishCompletion, OffersNoFilesForAKeyWithListedValues) {
  EXPECT_THAT(offered("rnnlab train layer="), ::testing::Not(HasSubstr("notes.txt")));
  EXPECT_THAT(offered("rnnlab train data.path=no"), HasSubstr("notes.txt"));
  EXPECT_THAT(offered("rnnlab train no"), HasSubstr("notes.txt"));
}

TEST(Completion, KnowsThreeShells) { EXPECT_EQ(Program().run({"completion", "tcsh"}).exit_code, 2); }

}  // namespace
}  // namespace rnnlab
