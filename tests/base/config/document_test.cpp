// SPDX-License-Identifier: Apache-2.0
// Tests files that are not configuration files, and findings about them.
#include "base/config/document.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/config/settings.h"
#include "base/expect_error.h"
#include "base/system/temporary_folder.h"

namespace rnnlab::config::testing {
namespace {

using rnnlab::testing::expect_error;
using rnnlab::testing::message_of_error;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

class DocumentFile : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.name(name); }

  std::string write(const std::string& name, const std::string& text) const {
    rnnlab::testing::write_text(path(name), text);
    return path(name);
  }

  static std::vector<std::string> complaints(const std::string& path) {
    Findings findings;
    Document::from_file_with_base(path, findings);
    return findings.lines();
  }

  rnnlab::testing::TemporaryFolder folder_;
};

TEST_F(DocumentFile, RefusesAFileOfDataWithTheWayToAnExperiment) {
  const std::string file = write("my.csv", "day,x\n1,2\n");
  expect_golden(complaints(file));
}

TEST_F(DocumentFile, KnowsThePlaceOfEveryValue) {
  const std::string file = write("exp.yaml", "name: trial\ntraining:\n  epochs: 3\n");
  Findings findings;
  const Document document = Document::from_file(file, findings);
  EXPECT_THAT(findings.lines(), IsEmpty());
  EXPECT_EQ(to_string(find_path(document.root(), "training.epochs")->value.place), file + ":3:11");
  EXPECT_EQ(to_string(find_path(document.root(), "training.epochs")->key_place), file + ":3:3");
  EXPECT_EQ(find_path(document.root(), "training.epoch"), nullptr);
  EXPECT_EQ(find_path(document.root(), "name.epochs"), nullptr);
}

TEST_F(DocumentFile, TakesOverTheKeysOfItsBase) {
  const std::string base =
      write("base.yaml", "name: slow\ndata: {source: digits, num_train: 9}\ntraining:\n  epochs: 3\n  clip_norm: 1\n");
  const std::string file = write(
      "exp.yaml", "base: base.yaml\nname: fast\ntraining: {clip_norm: ~, batch_size: 2}\ndata: {num_train: [1, 2]}\n");
  Findings findings;
  const Document document = Document::from_file_with_base(file, findings);
  EXPECT_THAT(findings.lines(), IsEmpty());
  expect_golden(to_flow(document.root()));
  EXPECT_EQ(to_string(find_path(document.root(), "training.epochs")->value.place), base + ":4:11");
  EXPECT_EQ(to_string(find_path(document.root(), "training.batch_size")->value.place), file + ":3:38");
}

// A distribution of the base beside one of the file would be a map of two keys.
TEST_F(DocumentFile, ReplacesTheWholeSweepOfItsBase) {
  write("base.yaml", "name: a\nsweep: {training.epochs: {log_uniform: [1, 9]}, seed: [1, 2], num_runs: 7}\n");
  const std::string file = write("exp.yaml", "base: base.yaml\nsweep: {training: {epochs: {uniform: [1, 2]}}}\n");
  Findings findings;
  const Document document = Document::from_file_with_base(file, findings);
  EXPECT_THAT(findings.lines(), IsEmpty());
  expect_golden(to_flow(document.root()));
}

TEST_F(DocumentFile, OfARunHasNoBase) {
  write("base.yaml", "name: a\n");
  const std::string file = write("config.yaml", "base: base.yaml\nseed: 1\n");
  Findings findings;
  EXPECT_EQ(to_flow(Document::from_file(file, findings).root()), "{seed: 1}");
  expect_golden(findings.lines());
}

TEST_F(DocumentFile, AloneNamesABase) {
  Findings findings;
  Document document = Document::from_file(write("exp.yaml", "name: a\n"), findings);
  document.apply_override("base=b.yaml", findings);
  expect_golden(findings.lines());
}

TEST_F(DocumentFile, SaysWhatIsWrongWithItsBase) {
  const std::string file = write("exp.yaml", "base: bsae.yaml\n");
  write("base.yaml", "name: a\nbase: other.yaml\n");
  expect_golden(complaints(file));
  expect_golden(complaints(write("exp.yaml", "base: base.yaml\n")));
  expect_golden(complaints(write("exp.yaml", "base: [base.yaml]\n")));
  EXPECT_THAT(complaints(write("exp.yaml", "base: base.yaml\nname: [\n")).size(), 1u);
}

TEST_F(DocumentFile, ThatIsMissingIsGuessed) {
  write("mnist.yaml", "name: a\n");
  for (const char* name : {"mnsit.yaml", "nowhere/else"}) expect_golden(complaints(path(name)));
}

TEST_F(DocumentFile, MustBeARegularFile) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  for (const std::string& file : {path(""), path("pipe"), std::string("/dev/zero")}) expect_golden(complaints(file));
}

TEST_F(DocumentFile, MustBeReadable) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const std::string file = write("exp.yaml", "name: a\n");
  fs::permissions(file, fs::perms::none);
  EXPECT_THAT(complaints(file), ElementsAre(file + ": cannot be read (Permission denied)"));
}

TEST_F(DocumentFile, MustBeSmall) {
  const std::string small = write("small.yaml", "name: a\n#" + std::string(kMaxFileBytes - 9, 'x'));
  EXPECT_THAT(complaints(small), IsEmpty());
  const std::string large = write("large.yaml", "name: a\n#" + std::string(kMaxFileBytes - 8, 'x'));
  expect_golden(complaints(large));
}

TEST_F(DocumentFile, ThatCannotBeReadStillHasItsOverridesChecked) {
  Findings findings;
  Document document = Document::from_file(path("none.yaml"), findings);
  document.apply_override("training.epochs=3", findings);
  document.apply_override("oops", findings);
  EXPECT_FALSE(document.is_whole());
  EXPECT_EQ(find_path(document.root(), "training.epochs")->value.text, "3");
  expect_golden(findings.lines());
}

TEST(Findings, AreSortedAndReported) {
  Findings findings;
  EXPECT_NO_THROW(findings.throw_if_any());
  findings.add({"argument 'b'", 0, 0, 2}, "fifth");
  findings.add({"argument 'a'", 0, 0, 1}, "fourth");
  findings.add({"exp.yaml", 2, 10}, "third");
  findings.add({"exp.yaml", 2, 9}, "second");
  findings.add({"exp.yaml"}, "first");
  findings.add({"exp.yaml"}, "first");
  expect_error(ExitCode::kUsage, [&] { findings.throw_if_any(); });
}

TEST(Findings, TellOfAFloodItsBeginning) {
  Findings findings;
  for (int line = 1; line <= 150; ++line) findings.add({"exp.yaml", line, 1}, "wrong");
  EXPECT_THAT(message_of_error(ExitCode::kUsage, [&] { findings.throw_if_any(); }),
              ::testing::EndsWith("exp.yaml:100:1: wrong\nand 50 more"));
}

const std::string kFile = "name: a\nfeatures: [x]\ntraining: {epochs: 3, batch_size: 7}\n";

TEST(Override, SetsADottedKey) {
  EXPECT_EQ(accepted(kFile, {"training.epochs=5"}).training.epochs, 5);
  EXPECT_EQ(accepted(kFile, {"training.epochs=5"}).training.batch_size, 7);
  EXPECT_EQ(accepted(kFile, {" training.epochs = 5 "}).training.epochs, 5);
  EXPECT_EQ(accepted(kFile, {"model.cell=gru"}).model.cell, Cell::kGru);
  EXPECT_EQ(accepted("training:\n", {"training.epochs=5"}).training.epochs, 5);
}

TEST(Override, LaterOnesWin) {
  EXPECT_EQ(accepted(kFile, {"training.epochs=5", "training.epochs=6"}).training.epochs, 6);
}

TEST(Override, TakesListsMapsAndQuotesAsAFileDoes) {
  EXPECT_EQ(accepted(kFile, {"features=[a, 'b, c']"}).features, (std::vector<std::string>{"a", "b, c"}));
  EXPECT_EQ(accepted(kFile, {"name=\"tab\\there\""}).name, "tab\there");
  EXPECT_EQ(accepted(kFile, {"limit=null"}).limit, std::nullopt);
  EXPECT_EQ(accepted(kFile, {"limit="}).limit, std::nullopt);
}

TEST(Override, TakesAnythingElseAsItStands) {
  EXPECT_EQ(accepted(kFile, {"name=run: #3, *all*"}).name, "run: #3, *all*");
  EXPECT_EQ(accepted(kFile, {"name=a=b"}).name, "a=b");
}

TEST(Override, OfAGroupReplacesAllOfIt) {
  const Experiment experiment = accepted(kFile, {"training={epochs: 4}"});
  EXPECT_EQ(experiment.training.epochs, 4);
  EXPECT_EQ(experiment.training.batch_size, Training{}.batch_size);
}

struct Refused {
  std::string assignment;
  std::string complaint;
};

void PrintTo(const Refused& refused, std::ostream* stream) { *stream << refused.assignment; }

class RefusedOverride : public ::testing::TestWithParam<Refused> {};

TEST_P(RefusedOverride, IsNamed) {
  EXPECT_THAT(complaints(kFile, {GetParam().assignment}),
              ElementsAre("argument '" + GetParam().assignment + "': " + GetParam().complaint));
}

INSTANTIATE_TEST_SUITE_P(
    Malformed, RefusedOverride,
    ::testing::Values(Refused{"training.epochs", "no '='; expected key=value, such as training.epochs=3"},
                      Refused{"", "no '='; expected key=value, such as training.epochs=3"},
                      Refused{"=3", "no key before '='"},
                      Refused{"training..epochs=3", "key 'training..epochs' has an empty part"},
                      Refused{"training.=3", "key 'training.' has an empty part"},
                      Refused{"name.x=3", "'name.x' cannot be set, because 'name' is 'a' (exp.yaml:1:7)"},
                      Refused{"features.0=b",
                              "features is a list (exp.yaml:2:11), whose items cannot be set one by one; "
                              "write features=[...]"},
                      Refused{"features[0]=b", "items of a list cannot be set one by one; write features=[...]"},
                      Refused{"features=[a, b", "this '[' has no matching ']', or lacks a ',' between its items"},
                      Refused{"training={epochs: 4",
                              "this '{' has no matching '}', or lacks a ',' between its members"},
                      Refused{"features=[a]]", "this closing bracket was never opened"},
                      Refused{"features=[a] [b]", "unexpected text after the value"},
                      Refused{"features=[a], b", "unexpected text after the value"},
                      Refused{"name='a' b", "unexpected text after the value"},
                      Refused{"name='a", "this quoted text has no closing quote"},
                      Refused{"training={epochs: 4, epochs: 5}", "key 'epochs' is given twice"}));

INSTANTIATE_TEST_SUITE_P(
    AgainstTheSchema, RefusedOverride,
    ::testing::Values(
        Refused{"training.epochs=x", "training.epochs: got 'x', expected an integer, at least 1"},
        Refused{"training.epochs=1e3", "training.epochs: got '1e3', expected an integer, at least 1 (write 1000)"},
        Refused{"training.epochs=", "training.epochs: got nothing, expected an integer, at least 1"},
        Refused{"training.epoch=3", "unknown key 'epoch' in training (did you mean 'epochs'?)"},
        Refused{"epochs=3", "unknown key 'epochs' (did you mean 'training.epochs'?)"},
        Refused{"training=3", "training: got '3', expected a map of keys"},
        Refused{"training.decay_at=10,20",
                "training.decay_at: got '10,20', expected a list, each an integer, at least 1 (write [10,20])"}));

TEST(Override, ShowsHostileTextSafely) {
  for (const char* text : {"name='a'\nseed: 3", "fea\ntures[0]=b", "name=\xff"})
    expect_golden(complaints(kFile, {text}));
  expect_golden(complaints(kFile, {std::string("name=\0", 6)}));
}

TEST(Override, AreAllReported) { expect_golden(complaints(kFile, {"training.epochs=x", "oops", "seed=1.5"})); }

}  // namespace
}  // namespace rnnlab::config::testing
