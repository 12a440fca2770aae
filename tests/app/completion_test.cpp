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
std::string offered(const std::string& line, const testing::Words& experiments = {}) {
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

struct Offer {
  std::string line, words;
};

void expect_offered(const std::vector<Offer>& offers) {
  for (const auto& [line, words] : offers) EXPECT_EQ(offered("rnnlab " + line), words) << line;
}

TEST(Completion, OffersVerbs) {
  expect_offered({{"tr", "train\n"},
                  {"ver", "version\n"},
                  {"hel", "help\n"},
                  {"help tr", "train\n"},
                  {"help data insp", "inspect\n"},
                  {"help train tr", "\n"}});
}

TEST(Completion, OffersKeysWhereTheyAreTaken) {
  EXPECT_THAT(offered("rnnlab train training.batch"), HasSubstr("training.batch_size="));
  for (const std::string verb : {"train", "check", "sweep plan"})
    expect_offered({{verb + " a.yaml swee", "sweep=\n"}, {verb + " a.yaml repea", "repeats=\n"}});
  expect_offered({{"evaluate runs/a swee", "\n"}, {"bench hidden_s", "hidden_size=\n"}});
}

// bash cuts words at an equals sign, and zsh does not.
TEST(Completion, OffersTheValuesOfAKey) {
  EXPECT_THAT(offered("rnnlab train a.yaml precision ="), HasSubstr("bf16\n"));
  expect_offered({{"train a.yaml layer = fus", "fused_pointwise\nfused\n"},
                  {"train a.yaml layer=na", "layer=naive\n"},
                  {"bench mode = gr", "graph\n"},
                  {"check a.yaml training.cuda_graph = t", "true\n"},
                  {"train a.yaml strict = t", "true\n"}});
}

TEST(Completion, OffersOptionsOfTheVerb) {
  expect_offered({{"compare --js", "--json\n"},
                  {"train --trace-", "--trace-steps\n"},
                  {"train --dry", "--dry-run\n"},
                  {"train --find", "--find-learning-rate\n"},
                  {"check --json", "--json-schema\n--json\n"}});
}

TEST(Completion, OffersOptionsOfANestedVerb) {
  expect_offered({{"data inspect --js", "--json\n"},
                  {"data insp", "inspect\n"},
                  {"data inspect", "inspect\n"},  // the cursor is still in the word
                  {"sweep plan", "plan\n"},
                  {"sweep work --retry", "--retry-failed\n"},
                  {"sweep plan --retry", "\n"},            // an option of another nested verb
                  {"sweep work dir training.ep", "\n"}});  // which takes no keys
}

TEST(Completion, LeavesOutHiddenOptions) {
  EXPECT_EQ(offered("rnnlab train --planned"), "\n");
  EXPECT_THAT(Program().run({"completion", "fish"}).output, ::testing::Not(HasSubstr("run-of-book")));
}

TEST(Completion, OffersNamesOfExperimentsWhereRunsAreTaken) {
  const testing::Words names = {"weather", "flowers"};
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
  for (const char* part :
       {"complete -c rnnlab -n __rnnlab_only -a info -d ", "-n '__rnnlab_verb train' -l resume -r -a ",
        " layer=naive layer=grouped ", " model.hidden_size= "})
    EXPECT_THAT(script, HasSubstr(part));
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
  EXPECT_THAT(offered("rnnlab inf"), ::testing::StartsWith("info\t"));
  EXPECT_EQ(offered("rnnlab train layer=na"), "layer=naive\n");
  EXPECT_THAT(offered("rnnlab compare --fa"), HasSubstr("--fair\t"));
}

TEST_F(FishCompletion, OffersTheOptionsOfTheProgramBeforeAVerb) {
  EXPECT_THAT(offered("rnnlab --"), HasSubstr("--version\t"));
  EXPECT_THAT(offered("rnnlab no"), ::testing::Not(HasSubstr("notes.txt")));
  EXPECT_THAT(offered("rnnlab train --vers"), ::testing::Not(HasSubstr("--version")));
}

TEST_F(FishCompletion, KeepsNestedVerbsApart) {
  EXPECT_THAT(offered("rnnlab sweep "), HasSubstr("work\t"));
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

}  // namespace
}  // namespace rnnlab
