// SPDX-License-Identifier: Apache-2.0
// Tests the messages for users who mistype a value or a key.
#include <gmock/gmock.h>

#include "base/config/settings.h"
#include "base/error.h"

namespace rnnlab::config::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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
  EXPECT_THAT(
      complaints("name: trial\n"
                 "training:\n"
                 "  epochs: ten\n"
                 "  batch_size: 0\n"
                 "  epoch: 3\n"
                 "modle: {cell: LSTM}\n"
                 "model: {cell: LSTM}\n",
                 {"training.learning_rate=0"}),
      ElementsAre("exp.yaml:3:11: training.epochs: got 'ten', expected an integer, at least 1",
                  "exp.yaml:4:15: training.batch_size: got '0', expected an integer, at least 1 and at most 4096",
                  "exp.yaml:5:3: unknown key 'epoch' in training (did you mean 'epochs'?)",
                  "exp.yaml:6:1: unknown key 'modle' (did you mean 'model'?)",
                  "exp.yaml:7:15: model.cell: got 'LSTM', expected lstm, gru or rnn_tanh (did you mean 'lstm'?)",
                  "argument 'training.learning_rate=0': training.learning_rate: got '0', expected a number, above 0"));
}

TEST(UnknownKey, IsMatchedWithNamesNearbyAndElsewhere) {
  EXPECT_THAT(complaints("sweeps: {}"), ElementsAre("exp.yaml:1:1: unknown key 'sweeps' (did you mean 'sweep'?)"));
  EXPECT_THAT(complaints("epochs: 3"),
              ElementsAre("exp.yaml:1:1: unknown key 'epochs' (did you mean 'training.epochs'?)"));
  EXPECT_THAT(complaints("model: {epochs: 3}"),
              ElementsAre("exp.yaml:1:9: unknown key 'epochs' in model (did you mean 'training.epochs'?)"));
  EXPECT_THAT(complaints("training.epochs: 3"),
              ElementsAre("exp.yaml:1:1: unknown key 'training.epochs' (write it nested: training: {epochs: ...})"));
}

TEST(UnknownKey, WithoutANearNameListsTheKeysThatThereAre) {
  EXPECT_THAT(
      complaints("model: {colour: red}"),
      ElementsAre("exp.yaml:1:9: unknown key 'colour' in model (keys here: cell, hidden_size, bidirectional, kind)"));
  EXPECT_THAT(complaints("color: red"),
              ElementsAre("exp.yaml:1:1: unknown key 'color' (keys here: name, device, seed, features, "
                          "weights, cells, limit, model, training, sweep, repeats)"));
}

TEST(UnknownKey, ListsTheKeysOnce) {
  EXPECT_THAT(
      complaints("model: {colour: red, flavour: sweet}"),
      ElementsAre("exp.yaml:1:9: unknown key 'colour' in model (keys here: cell, hidden_size, bidirectional, kind)",
                  "exp.yaml:1:22: unknown key 'flavour' in model"));
}

TEST(SeveralValues, WhereOneIsWantedAreASweep) {
  EXPECT_THAT(complaints("model: {cell: [lstm, gru]}"),
              ElementsAre("exp.yaml:1:15: model.cell: got a list, expected lstm, gru or rnn_tanh (for one run per "
                          "value write sweep: {model.cell: [lstm, gru]})"));
  EXPECT_THAT(complaints("seed: 1, 2"),
              ElementsAre("exp.yaml:1:7: seed: got '1, 2', expected an integer, at least -2147483648 and at most "
                          "2147483647 (for one run per value write sweep: {seed: [1, 2]})"));
  EXPECT_THAT(complaints("name: a", {"training.epochs=1,2"}),
              ElementsAre("argument 'training.epochs=1,2': training.epochs: got '1,2', expected an integer, at "
                          "least 1 (for one run per value write 'sweep.training.epochs=[1, 2]', with the quotes)"));
  EXPECT_THAT(complaints("model: {cell: [lstm, x]}"),
              ElementsAre("exp.yaml:1:15: model.cell: got a list, expected lstm, gru or rnn_tanh"));
}

TEST(Group, ThatIsNotAMapSaysHowToWriteOne) {
  EXPECT_THAT(complaints("name: a", {"training=epochs:5"}),
              ElementsAre("argument 'training=epochs:5': training: got 'epochs:5', expected a map of keys (write "
                          "training.epochs=5, or the whole argument in quotes if it had braces)"));
  EXPECT_THAT(complaints("training: epochs:5"),
              ElementsAre("exp.yaml:1:11: training: got 'epochs:5', expected a map of keys (write {epochs: 5})"));
}

TEST(Integer, IsDecimalAndWritesOutWhatWasProbablyMeant) {
  EXPECT_EQ(complaint_about("epochs", "010"), "epochs: got '010', expected an integer, at least 1 (write 10)");
  EXPECT_EQ(complaint_about("epochs", "0x10"), "epochs: got '0x10', expected an integer, at least 1 (write 16)");
  EXPECT_EQ(complaint_about("epochs", "0o17"), "epochs: got '0o17', expected an integer, at least 1 (write 15)");
  EXPECT_EQ(complaint_about("epochs", "1e3"), "epochs: got '1e3', expected an integer, at least 1 (write 1000)");
  EXPECT_EQ(complaint_about("epochs", "3.0"), "epochs: got '3.0', expected an integer, at least 1 (write 3)");
  EXPECT_EQ(complaint_about("epochs", "1_000"), "epochs: got '1_000', expected an integer, at least 1 (write 1000)");
  EXPECT_EQ(complaint_about("epochs", "3.5"), "epochs: got '3.5', expected an integer, at least 1");
  EXPECT_EQ(complaint_about("epochs", "'3'"),
            "epochs: got the text '3', expected an integer, at least 1 (leave out the quotes)");
  EXPECT_EQ(complaint_about("epochs", "9223372036854775808"),
            "epochs: got '9223372036854775808', expected an integer, at least 1");
  EXPECT_THAT(
      complaints("seed: 3000000000"),
      ElementsAre(
          "exp.yaml:1:7: seed: got '3000000000', expected an integer, at least -2147483648 and at most 2147483647"));
}

TEST(Number, IsFinite) {
  const std::string expected = ", expected a number, above 0";
  EXPECT_EQ(complaint_about("learning_rate", ".nan"), "learning_rate: got '.nan'" + expected + " (it must be finite)");
  EXPECT_EQ(complaint_about("learning_rate", "-.Inf"),
            "learning_rate: got '-.Inf'" + expected + " (it must be finite)");
  EXPECT_EQ(complaint_about("learning_rate", "1e999"), "learning_rate: got '1e999'" + expected);
  EXPECT_EQ(complaint_about("learning_rate", "0x1"), "learning_rate: got '0x1'" + expected + " (write 1)");
  EXPECT_EQ(complaint_about("learning_rate", "'1e-3'"),
            "learning_rate: got the text '1e-3'" + expected + " (leave out the quotes)");
  EXPECT_EQ(complaint_about("learning_rate", "0"), "learning_rate: got '0'" + expected);
}

TEST(Bool, IsTrueOrFalseOnly) {
  for (const char* word : {"yes", "on", "1", "Yes", "True", "y"})
    EXPECT_EQ(complaint_about("deterministic", word),
              "deterministic: got '" + std::string(word) + "', expected true or false (write true)");
  for (const char* word : {"no", "off", "0", "OFF", "False", "n"})
    EXPECT_EQ(complaint_about("deterministic", word),
              "deterministic: got '" + std::string(word) + "', expected true or false (write false)");
  EXPECT_EQ(complaint_about("deterministic", "perhaps"), "deterministic: got 'perhaps', expected true or false");
  EXPECT_EQ(complaint_about("deterministic", "'true'"),
            "deterministic: got the text 'true', expected true or false (leave out the quotes)");
}

TEST(List, MayBeASingleWord) {
  EXPECT_EQ(accepted("features: OT").features, (std::vector<std::string>{"OT"}));
  EXPECT_THAT(complaints("features: a,b"), ElementsAre(HasSubstr("(write [a,b])")));
}

TEST(List, OfIntegersTakesRanges) {
  EXPECT_EQ(accepted("training: {decay_at: 2..5}").training.decay_at, (std::vector<int64_t>{2, 3, 4, 5}));
  EXPECT_EQ(accepted("training: {decay_at: [1, 3..4, 9]}").training.decay_at, (std::vector<int64_t>{1, 3, 4, 9}));
  EXPECT_THAT(complaints("training: {decay_at: 5..2}"), ElementsAre(HasSubstr("got '5..2'")));
  EXPECT_THAT(
      complaints("training: {decay_at: 1..20000}"),
      ElementsAre(HasSubstr("(a range such as 1..24 begins with its smallest integer and has at most 10,000)")));
  EXPECT_THAT(complaints("training: {decay_at: [0..2]}"), ElementsAre(HasSubstr("item 1: got '0..2'")));
}

TEST(List, NamesTheItemThatIsWrong) {
  EXPECT_THAT(complaints("training:\n  decay_at: [1, x,\n             0]\n"),
              ElementsAre("exp.yaml:2:17: training.decay_at, item 2: got 'x', expected an integer, at least 1",
                          "exp.yaml:3:14: training.decay_at, item 3: got '0', expected an integer, at least 1"));
  EXPECT_THAT(complaints("weights: [0, 1]"),
              ElementsAre("exp.yaml:1:14: weights, item 2: got '1', expected a number, at least 0 and below 1"));
  EXPECT_EQ(complaint_about("decay_at", "'3,4'"),
            "decay_at: got the text '3,4', expected a list, each an integer, at least 1 (write [3,4])");
  EXPECT_EQ(complaint_about("decay_at", "x"), "decay_at: got 'x', expected a list, each an integer, at least 1");
  EXPECT_EQ(complaint_about("decay_at", "0"), "decay_at: got '0', expected a list, each an integer, at least 1")
      << "and not: write [0]";
  EXPECT_EQ(complaint_about("decay_at", "{a: 3}"), "decay_at: got a map, expected a list, each an integer, at least 1");
  EXPECT_THAT(
      complaints("features: []"),
      ElementsAre("exp.yaml:1:11: features: got an empty list, expected a list of at least one item, each text"));
  EXPECT_THAT(complaints("features: [a,, b]"),
              ElementsAre("exp.yaml:1:14: features, item 2: got nothing, expected text"));
}

TEST(Scalar, IsNeitherListNorMapNorNothing) {
  EXPECT_EQ(complaint_about("epochs", "[3]"), "epochs: got a list, expected an integer, at least 1");
  EXPECT_EQ(complaint_about("epochs", "{a: 3}"), "epochs: got a map, expected an integer, at least 1");
  EXPECT_THAT(
      complaints("training:\n  epochs:\n  batch_size: ~\n"),
      ElementsAre("exp.yaml:2:3: training.epochs: got nothing, expected an integer, at least 1",
                  "exp.yaml:3:3: training.batch_size: got nothing, expected an integer, at least 1 and at most 4096"));
}

TEST(Text, MayHaveRulesOfItsOwn) {
  EXPECT_THAT(complaints("device: tpu"), ElementsAre("exp.yaml:1:9: device: got 'tpu', expected auto, cpu or cuda:N"));
  EXPECT_EQ(accepted("device: cuda:1").device, "cuda:1");
  EXPECT_THAT(complaints("model: {kind: ''}"),
              ElementsAre("exp.yaml:1:15: model.kind: got the text '', expected text that is not empty"));
}

TEST(Group, IsAMapOfKeys) {
  EXPECT_THAT(complaints("training: 5"), ElementsAre("exp.yaml:1:11: training: got '5', expected a map of keys"));
  EXPECT_THAT(complaints("training: [epochs]"),
              ElementsAre("exp.yaml:1:11: training: got a list, expected a map of keys"));
}

TEST(Rule, NamesEveryKeyWithItsPlace) {
  EXPECT_THAT(
      complaints("training:\n  epochs: 2\n  warmup_epochs: 3\n"),
      ElementsAre(
          "exp.yaml:3:18: training.warmup_epochs and training.epochs (exp.yaml:2:11): no epoch is left to measure"));
  EXPECT_THAT(
      complaints("training: {warmup_epochs: 30}"),
      ElementsAre("exp.yaml:1:27: training.warmup_epochs and training.epochs (default): no epoch is left to measure"));
  EXPECT_THAT(
      complaints("training: {epochs: 1}"),
      ElementsAre("exp.yaml:1:20: training.warmup_epochs (default) and training.epochs: no epoch is left to measure"));
  EXPECT_THAT(complaints("model: {bidirectional: true}", {"model.kind=language_model"}),
              ElementsAre("exp.yaml:1:24: model.bidirectional and model.kind (argument 'model.kind=language_model'): "
                          "a language model must not read ahead"));
}

TEST(Rule, IsSilentAboutKeysThatAreWrongInThemselves) {
  EXPECT_THAT(complaints("training: {epochs: x, warmup_epochs: 50}"),
              ElementsAre("exp.yaml:1:20: training.epochs: got 'x', expected an integer, at least 1"));
  EXPECT_THAT(complaints("training: {epoch: 90, warmup_epochs: 50}"),
              ElementsAre("exp.yaml:1:12: unknown key 'epoch' in training (did you mean 'epochs'?)"));
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
  EXPECT_THAT(findings.lines(), ElementsAre("exp.yaml: epochs (default): too few"));
}

}  // namespace
}  // namespace rnnlab::config::testing
