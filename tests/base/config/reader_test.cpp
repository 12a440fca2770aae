// SPDX-License-Identifier: Apache-2.0
// Tests the messages for users who mistype a value or a key.
#include <gmock/gmock.h>

#include "base/config/settings.h"
#include "base/error.h"
#include "golden.h"

namespace rnnlab::config::testing {
namespace {

// The complaint about one value of training.<key>, without its place "exp.yaml:1:N: training.".
std::string complaint_about(const std::string& key, const std::string& value) {
  const std::vector<std::string> lines = complaints("training: {" + key + ": " + value + "}\n");
  return lines.size() == 1 ? lines[0].substr(lines[0].find("training.") + 9) : ::testing::PrintToString(lines);
}

TEST(Reading, TakesWhatTheFileSetsAndTheDefaultsForTheRest) {
  const Experiment experiment = accepted(
      "name: rows\n"
      "features: [open, 'close price']\n"
      "weights: [0, .5, 1e-3]\n"
      "cells: [gru, rnn_tanh]\n"
      "limit: null\n"
      "model: {cell: gru}\n"
      "training:\n"
      "  learning_rate: 1e-2\n"
      "  clip_norm: 5\n"
      "  deterministic: true\n");
  Experiment expected;
  expected.name = "rows";
  expected.features = {"open", "close price"};
  expected.weights = {0.0, 0.5, 1e-3};
  expected.cells = {Cell::kGru, Cell::kRnnTanh};
  expected.limit.reset();
  expected.model.cell = Cell::kGru;
  expected.training.learning_rate = 0.01;
  expected.training.clip_norm = 5.0;
  expected.training.deterministic = true;
  EXPECT_EQ(experiment, expected);
}

TEST(Reading, TakesAGroupWithNothingInItAsItsDefaults) { EXPECT_EQ(accepted("training:\nmodel: {}\n"), Experiment{}); }

TEST(Reading, TakesWhatLooksLikeANumberAsTextIfTextIsExpected) {
  EXPECT_EQ(accepted("name: 010").name, "010");
  EXPECT_EQ(accepted("name: yes").name, "yes");
  EXPECT_EQ(accepted("name: '3'").name, "3");
  EXPECT_EQ(accepted("features: [1, 2.5, .nan]").features, (std::vector<std::string>{"1", "2.5", ".nan"}));
}

TEST(Reading, TakesExponentsForNumbers) {
  EXPECT_EQ(accepted("training: {learning_rate: 1e-3}").training.learning_rate, 1e-3);
  EXPECT_EQ(accepted("training: {learning_rate: 1e3}").training.learning_rate, 1000.0);
  EXPECT_EQ(accepted("training: {learning_rate: 2}").training.learning_rate, 2.0);
}

TEST(Reading, ReportsEverythingThatIsWrongInOneGo) {
  expect_golden(
      complaints("name: trial\n"
                 "training:\n"
                 "  epochs: ten\n"
                 "  batch_size: 0\n"
                 "  epoch: 3\n"
                 "modle: {cell: LSTM}\n"
                 "model: {cell: LSTM}\n",
                 {"training.learning_rate=0"}));
}

// Without a near name the keys that there are are listed once.
TEST(UnknownKey, IsMatchedWithNamesNearbyAndElsewhere) {
  for (const char* text : {"sweeps: {}", "epochs: 3", "model: {epochs: 3}", "training.epochs: 3",
                           "model: {colour: red}", "color: red", "model: {colour: red, flavour: sweet}"})
    expect_golden(complaints(text));
}

TEST(SeveralValues, WhereOneIsWantedAreASweep) {
  expect_golden(complaints("model: {cell: [lstm, gru]}"));
  expect_golden(complaints("seed: 1, 2"));
  expect_golden(complaints("name: a", {"training.epochs=1,2"}));
  expect_golden(complaints("model: {cell: [lstm, x]}"));
}

TEST(Group, ThatIsNotAMapSaysHowToWriteOne) {
  expect_golden(complaints("name: a", {"training=epochs:5"}));
  for (const char* text : {"training: epochs:5", "training: 5", "training: [epochs]"}) expect_golden(complaints(text));
}

TEST(Integer, IsDecimalAndWritesOutWhatWasProbablyMeant) {
  for (const char* text : {"010", "0x10", "0o17", "1e3", "3.0", "1_000", "3.5", "'3'", "9223372036854775808"})
    expect_golden(complaint_about("epochs", text));
  expect_golden(complaints("seed: 3000000000"));
}

TEST(Number, IsFinite) {
  for (const char* value : {".nan", "-.Inf", "1e999", "0x1", "'1e-3'", "0"})
    expect_golden(complaint_about("learning_rate", value));
}

TEST(Bool, IsTrueOrFalseOnly) {
  for (const char* word :
       {"yes", "on", "1", "Yes", "True", "y", "no", "off", "0", "OFF", "False", "n", "perhaps", "'true'"})
    expect_golden(complaint_about("deterministic", word));
}

TEST(List, MayBeASingleWord) {
  EXPECT_EQ(accepted("features: OT").features, (std::vector<std::string>{"OT"}));
  expect_golden(complaints("features: a,b"));
}

TEST(List, OfIntegersTakesRanges) {
  EXPECT_EQ(accepted("training: {decay_at: 2..5}").training.decay_at, (std::vector<int64_t>{2, 3, 4, 5}));
  EXPECT_EQ(accepted("training: {decay_at: [1, 3..4, 9]}").training.decay_at, (std::vector<int64_t>{1, 3, 4, 9}));
  for (const char* value : {"5..2", "1..20000", "[0..2]"}) expect_golden(complaint_about("decay_at", value));
}

TEST(List, NamesTheItemThatIsWrong) {
  for (const char* value : {"'3,4'", "x", "0", "{a: 3}"}) expect_golden(complaint_about("decay_at", value));
  for (const char* text :
       {"training:\n  decay_at: [1, x,\n             0]\n", "weights: [0, 1]", "features: []", "features: [a,, b]"})
    expect_golden(complaints(text));
}

TEST(Scalar, IsNeitherListNorMapNorNothing) {
  expect_golden(complaint_about("epochs", "[3]"));
  expect_golden(complaint_about("epochs", "{a: 3}"));
  expect_golden(complaints("training:\n  epochs:\n  batch_size: ~\n"));
}

TEST(Text, MayHaveRulesOfItsOwn) {
  expect_golden(complaints("device: tpu"));
  EXPECT_EQ(accepted("device: cuda:1").device, "cuda:1");
  expect_golden(complaints("model: {kind: ''}"));
}

TEST(Rule, NamesEveryKeyWithItsPlace) {
  for (const char* text :
       {"training:\n  epochs: 2\n  warmup_epochs: 3\n", "training: {warmup_epochs: 30}", "training: {epochs: 1}"})
    expect_golden(complaints(text));
  expect_golden(complaints("model: {bidirectional: true}", {"model.kind=language_model"}));
}

TEST(Rule, IsSilentAboutKeysThatAreWrongInThemselves) {
  expect_golden(complaints("training: {epochs: x, warmup_epochs: 50}"));
  expect_golden(complaints("training: {epoch: 90, warmup_epochs: 50}"));
}

TEST(Rule, ThatNamesAnUnlistedKeyIsADefect) {
  Schema<Training> schema("Faulty");
  schema.check([](const Training&, Checker& checker) { checker.complain({"epoch"}, "never"); });
  Findings findings;
  const Document document = Document::from_text("{}", "exp.yaml", findings);
  EXPECT_THROW(read(document, schema, findings), InvariantError);
}

TEST(Rule, OverDefaultsAloneNamesTheFile) {
  Schema<Training> schema("Strict");
  schema.field("epochs", &Training::epochs, "passes");
  schema.check([](const Training&, Checker& checker) { checker.complain({"epochs"}, "too few"); });
  Findings findings;
  read(Document::from_text("{}", "exp.yaml", findings), schema, findings);
  expect_golden(findings.lines());
}

}  // namespace
}  // namespace rnnlab::config::testing
