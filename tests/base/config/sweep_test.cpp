// SPDX-License-Identifier: Apache-2.0
// Tests a sweep's combinations, and sweeps without meaning.
#include "base/config/sweep.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <set>

#include "base/config/settings.h"
#include "golden.h"

namespace rnnlab::config::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Strings = std::vector<std::string>;

struct Expansion {
  Strings labels;
  std::vector<Experiment> experiments;
  Strings complaints;
  std::string printed;
};

Expansion expand(const std::string& text, const Strings& overrides = {}) {
  Findings findings;
  Document document = Document::from_text(text, "exp.yaml", findings);
  for (const std::string& assignment : overrides) document.apply_override(assignment, findings);
  Expansion expansion;
  const Sweep sweep(document, findings);
  for (size_t i = 0; i < sweep.num_cases(); ++i) {
    expansion.labels.push_back(sweep.label(i));
    expansion.experiments.push_back(read(sweep.document(i), Experiment::schema(), findings));
  }
  expansion.complaints = findings.lines();
  expansion.printed = print_sweep(document);
  return expansion;
}

TEST(Sweep, RunsEveryCombinationTheLastKeyFastest) {
  const Expansion expansion = expand("seed: 7\nsweep: {device: [cpu, cuda:1], training.epochs: [2, 3]}\n");
  EXPECT_THAT(expansion.complaints, IsEmpty());
  EXPECT_THAT(expansion.labels, ElementsAre("device=cpu epochs=2", "device=cpu epochs=3", "device=cuda:1 epochs=2",
                                            "device=cuda:1 epochs=3"));
  Experiment expected;
  expected.seed = 7;
  expected.device = "cuda:1";
  expected.training.epochs = 2;
  EXPECT_EQ(expansion.experiments[2], expected);
}

TEST(Sweep, DrawsValuesOfDistributions) {
  const std::string text =
      "seed: 7\nsweep: {training.learning_rate: {log_uniform: [1e-4, 1e-2]}, training: {epochs: {int_uniform: [2, "
      "4]}}, "
      "device: [cpu, cuda:1]";
  const Expansion ten = expand(text + ", num_runs: 10}\n"), forty = expand(text + ", num_runs: 40}\n");
  EXPECT_THAT(ten.complaints, IsEmpty());
  ASSERT_EQ(ten.labels.size(), 10u);
  EXPECT_EQ(Strings(forty.labels.begin(), forty.labels.begin() + 10), ten.labels) << "more runs are added to the first";
  std::set<int64_t> epochs;
  int num_below = 0, num_on_cpu = 0;
  for (const Experiment& experiment : forty.experiments) {
    EXPECT_GE(experiment.training.learning_rate, 1e-4);
    EXPECT_LE(experiment.training.learning_rate, 1e-2);
    num_below += experiment.training.learning_rate < 1e-3;
    num_on_cpu += experiment.device == "cpu";
    epochs.insert(experiment.training.epochs);
  }
  EXPECT_NEAR(num_below, 20, 10) << "1e-3 is in the middle of the factors";
  EXPECT_NEAR(num_on_cpu, 20, 10);
  EXPECT_THAT(epochs, ElementsAre(2, 3, 4));
  EXPECT_NE(expand("seed: 8" + text.substr(7) + ", num_runs: 10}\n").labels, ten.labels);
  expect_golden(ten.printed);
}

TEST(Sweep, DrawsTheSameWithoutAKeyThatIsOverridden) {
  const std::string text =
      "sweep: {training.learning_rate: {uniform: [0.1, 1]}, seed: {int_uniform: [1, 1000]}, num_runs: 2}";
  const Expansion all = expand(text), fewer = expand(text, {"seed=3"});
  EXPECT_EQ(fewer.experiments[1].seed, 3);
  EXPECT_EQ(expand("seed: 3\n" + text).experiments[1].training.learning_rate,
            fewer.experiments[1].training.learning_rate);
  EXPECT_EQ(expand(text, {"sweep.num_runs=5"}).labels.size(), 5u);
}

TEST(Sweep, SaysWhatIsWrongWithADistribution) {
  const auto complaint = [](const std::string& sweep) { return expand("sweep: {" + sweep + "}\n").complaints.at(0); };
  for (const char* text :
       {"training.epochs: {int_uniform: [1, 3]}", "training.epochs: {int_uniform: [3, 1]}, num_runs: 3",
        "training.epochs: {int_uniform: [0.5, 1]}, num_runs: 3", "training.epochs: {log_uniform: [0, 1]}, num_runs: 3",
        "training.epochs: {log_uniform: 3}, num_runs: 3", "device: [cpu, cuda:1], num_runs: many"})
    expect_golden(complaint(text));
}

TEST(Sweep, TakesNestedMapsAsWell) {
  const Expansion expansion =
      expand("model: {hidden_size: 9}\nsweep:\n  model: {cell: [lstm, gru]}\n  training:\n    epochs: [2]\n");
  EXPECT_THAT(expansion.labels, ElementsAre("cell=lstm epochs=2", "cell=gru epochs=2"));
  EXPECT_EQ(expansion.experiments[1].model.cell, Cell::kGru);
  EXPECT_EQ(expansion.experiments[1].model.hidden_size, 9);
}

TEST(Sweep, MayBeOverListsAndWholeGroups) {
  const Expansion expansion =
      expand("sweep: {features: [[a], [a, b]], training: [{epochs: 2}, {epochs: 3, batch_size: 1}]}\n");
  EXPECT_THAT(expansion.complaints, IsEmpty());
  expect_golden(expansion.labels.back());
  EXPECT_EQ(expansion.experiments.back().features, (Strings{"a", "b"}));
  EXPECT_EQ(expansion.experiments.back().training.batch_size, 1);
}

TEST(Sweep, LabelsWithTheWholeKeyIfTwoEndAlike) {
  const Expansion expansion = expand("sweep: {model.kind: [a], data.kind: [b], seed: [1]}\n");
  expect_golden(expansion.labels);
}

TEST(Sweep, IsOneCaseWithoutALabelIfThereIsNone) {
  for (const char* text : {"seed: 1\n", "sweep:\n", "sweep: {}\n"}) {
    EXPECT_THAT(expand(text).labels, ElementsAre("")) << text;
    EXPECT_THAT(expand(text).complaints, IsEmpty()) << text;
    EXPECT_EQ(expand(text).printed, "") << text;
  }
}

TEST(Sweep, ReportsABadItemOnceAtItsPlace) {
  expect_golden(expand("sweep:\n  device: [cpu, tpu]\n  training.epochs: [2, x]\n  training.epoch: [3]\n").complaints);
}

TEST(Sweep, CombinationsAreCheckedOneByOne) {
  expect_golden(expand("training: {epochs: 3}\nsweep: {training.warmup_epochs: [1, 3]}\n").complaints);
}

TEST(Sweep, ThatIsMalformedIsReported) {
  for (const char* text :
       {"sweep: [1]", "sweep: {device: cpu, seed: [], name: , weights: {}}", "sweep: {seed: [1, 2, 1]}",
        "sweep: {model.kind: [a], model: {kind: [b]}}", "sweep: {training: [{epochs: 2}], training.epochs: [3]}",
        "sweep: {sweep: [1]}", "name: a\nsweep: {name.x: [1]}"})
    expect_golden(expand(text).complaints);
}

std::string list_of(int count) {
  std::string list = "[1";
  for (int i = 2; i <= count; ++i) list += fmt::format(", {}", i);
  return list + "]";
}

TEST(Sweep, IsBounded) {
  EXPECT_EQ(expand(fmt::format("sweep: {{training.epochs: {}, seed: {}}}", list_of(25), list_of(40))).labels.size(),
            1000u);
  expect_golden(
      expand(fmt::format("sweep: {{training.batch_size: {}, seed: {}}}", list_of(7), list_of(143))).complaints);
  expect_golden(expand(fmt::format("features: {}\nsweep: {{seed: {}}}", list_of(5000), list_of(500))).complaints);
  std::string many_keys;
  for (int i = 0; i <= 32; ++i) many_keys += fmt::format("k{}: [1], ", i);
  expect_golden(expand("sweep: {" + many_keys + "}").complaints);
}

TEST(Sweep, LeavesAKeyToTheCommandLine) {
  const std::string text = "sweep: {device: [cpu, cuda:1], training.epochs: [2, 3]}\n";
  EXPECT_THAT(expand(text, {"device=cuda:2"}).labels, ElementsAre("epochs=2", "epochs=3"));
  EXPECT_EQ(expand(text, {"device=cuda:2"}).experiments[0].device, "cuda:2");
  EXPECT_THAT(expand(text, {"device=cpu", "training={epochs: 5}"}).labels, ElementsAre(""));
  EXPECT_EQ(expand(text, {"device=cpu", "training={epochs: 5}"}).experiments[0].training.epochs, 5);
  EXPECT_THAT(expand(text, {"device=cpu", "training={batch_size: 5}"}).labels, ElementsAre("epochs=2", "epochs=3"));
}

TEST(Sweep, MayItselfBeOverridden) {
  const std::string text = "sweep: {device: [cpu, cuda:1], training.epochs: [2, 3]}\n";
  EXPECT_THAT(expand(text, {"sweep.device=[cuda:5]"}).labels,
              ElementsAre("device=cuda:5 epochs=2", "device=cuda:5 epochs=3"));
  EXPECT_THAT(expand(text, {"sweep.training.epochs=[7]"}).labels,
              ElementsAre("device=cpu epochs=7", "device=cuda:1 epochs=7"));
  EXPECT_THAT(expand(text, {"sweep={seed: [1, 2]}"}).labels, ElementsAre("seed=1", "seed=2"));
  EXPECT_THAT(expand(text, {"sweep="}).labels, ElementsAre(""));
  EXPECT_THAT(expand(text, {"device=cpu", "sweep={device: [auto]}"}).labels, ElementsAre("device=auto"));
}

TEST(Sweep, OfAGroupDoesNotUndoAnArgument) {
  expect_golden(expand("sweep: {training: [{epochs: 2}]}\n", {"training.epochs=4"}).complaints);
}

TEST(Sweep, PrintsAsItWillRun) {
  const std::string text =
      "sweep: {device: [cpu, 'auto'], name: ['a b', \"3\"], training: {epochs: [2, 3]}, seed: [1]}\n";
  const std::string printed =
      "sweep:\n"
      "  device: [cpu, \"auto\"]\n"
      "  name: [\"a b\", \"3\"]\n"
      "  training.epochs: [2, 3]\n";
  EXPECT_EQ(expand(text, {"seed=5"}).printed, printed);
  EXPECT_EQ(expand(printed).printed, printed);
}

// ---- how often each case is measured ----

struct Read {
  Repeats repeats;
  std::vector<std::string> complaints;
};

Read read_repeats(const std::string& text) {
  Findings findings;
  const Document document = Document::from_text(text, "exp.yaml", findings);
  const Repeats repeats = repeats_of(document, findings);
  return {repeats, findings.lines()};
}

TEST(Repeats, IsOnceByDefault) {
  EXPECT_EQ(read_repeats("seed: 1\n").repeats, Repeats{});
  EXPECT_EQ(read_repeats("repeats: null\n").repeats, Repeats{});
  EXPECT_EQ(print_repeats({}), "");
}

TEST(Repeats, IsANumber) {
  const Read read = read_repeats("repeats: 5\n");
  EXPECT_THAT(read.complaints, IsEmpty());
  EXPECT_EQ(read.repeats, (Repeats{.at_most = 5, .until = std::nullopt}));
  EXPECT_EQ(print_repeats(read.repeats), "repeats: 5\n");
}

TEST(Repeats, IsABoundOfPrecision) {
  const Read read = read_repeats("repeats: {until: 1 %, at_most: 12}\n");
  EXPECT_THAT(read.complaints, IsEmpty());
  EXPECT_EQ(read.repeats, (Repeats{.at_most = 12, .until = 0.01}));
  EXPECT_EQ(print_repeats(read.repeats), "repeats: {until: 1 %, at_most: 12}\n");
  EXPECT_EQ(read_repeats("repeats: {until: 0.01, at_most: 12}\n").repeats, read.repeats);
  EXPECT_EQ(read_repeats("repeats: {until: 2.5%}\n").repeats, (Repeats{.at_most = 20, .until = 0.025}));
}

TEST(Repeats, IsPrintedSoThatItReadsBack) {
  for (const Repeats& repeats : {Repeats{.at_most = 3, .until = {}}, Repeats{.at_most = 40, .until = 0.005}})
    EXPECT_EQ(read_repeats(print_repeats(repeats)).repeats, repeats);
}

TEST(Repeats, RefusesWhatMakesNoSense) {
  expect_golden(read_repeats("repeats: often\n").complaints);
  expect_golden(read_repeats("repeats: 0\n").complaints);
  for (const char* text : {"repeats: {until: 0 %}\n", "repeats: {at_most: 1001}\n", "repeats: {times: 5}\n"})
    expect_golden(read_repeats(text).complaints);
}

TEST(Repeats, LeavesTheRestOfTheDocument) {
  Findings findings;
  const Document document = Document::from_text("seed: 7\nrepeats: 5\n", "exp.yaml", findings);
  EXPECT_EQ(read(without_repeats(document), Experiment::schema(), findings).seed, 7);
  EXPECT_THAT(findings.lines(), IsEmpty());
}

}  // namespace
}  // namespace rnnlab::config::testing
