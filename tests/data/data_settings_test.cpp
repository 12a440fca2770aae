// SPDX-License-Identifier: Apache-2.0
#include "data/data_settings.h"

#include <fmt/format.h>

#include "data_test.h"

namespace rnnlab {
namespace {

std::string complaint(const std::string& yaml) {
  try {
    parse_settings(yaml);
  } catch (const UserError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kUsage);
    return error.what();
  }
  return "no complaint";
}

TEST(DataSettings, AreDigitsUnlessSaidOtherwise) {
  const DataSettings settings = parse_settings("{}");
  EXPECT_EQ(settings.source, Source::kDigits);
  EXPECT_EQ(settings.seed, 1);
  EXPECT_FALSE(settings.num_train);
}

TEST(DataSettings, TakeASeriesFromACsvFile) {
  const DataSettings settings = parse_settings(
      "source: csv\npath: weather.csv\nfeatures: [temperature, pressure]\ntarget: [temperature]\nwindow: 24\nhorizon: "
      "3\n"
      "missing: previous\ndelimiter: ';'\nnormalize: minmax\n");
  EXPECT_EQ(settings.source, Source::kCsv);
  EXPECT_THAT(settings.features, testing::ElementsAre("temperature", "pressure"));
  EXPECT_EQ(settings.window, 24);
  EXPECT_THAT(settings.horizon, testing::ElementsAre(3));
  EXPECT_EQ(settings.missing, MissingPolicy::kPrevious);
  EXPECT_EQ(settings.normalize, Normalization::kMinMax);
}

TEST(DataSettings, HaveOneHorizonOrSeveralInAscendingOrder) {
  const auto with_horizon = [](const std::string& horizon) {
    return "source: csv\npath: a.csv\ntarget: [x]\nwindow: 4\nhorizon: " + horizon + "\n";
  };
  EXPECT_THAT(parse_settings(with_horizon("[1, 4..6]")).horizon, testing::ElementsAre(1, 4, 5, 6));
  EXPECT_THAT(complaint(with_horizon("[2, 1]")),
              testing::HasSubstr("horizon: several horizons are in ascending order, each once"));
  EXPECT_THAT(complaint(with_horizon("[1, 1]")), testing::HasSubstr("each once"));
  EXPECT_THAT(complaint(with_horizon("[]")), testing::HasSubstr("expected a list of at least one item"));
  EXPECT_THAT(complaint(with_horizon("[1, 2]") + "task: classification\n"),
              testing::HasSubstr("a classification has one horizon"));
}

TEST(DataSettings, HaveSeriesByAColumnOnlyWithAWindow) {
  const std::string csv = "source: csv\npath: a.csv\ntarget: [x]\ngroup: station\n";
  EXPECT_EQ(parse_settings(csv + "window: 4\n").group, "station");
  EXPECT_THAT(complaint(csv), testing::HasSubstr("only series have a group: set window too"));
  EXPECT_THAT(complaint(csv + "window: 4\nnum_train: 10\n"),
              testing::HasSubstr("training has all windows of the series: remove num_train"));
  EXPECT_EQ(parse_settings(csv + "window: 4\nnum_valid: 10\nnum_test: 5\n").num_test, 5);
  EXPECT_THAT(complaint(csv + "window: 4\nnum_valid: 10\ntrain_file: a.csv\nvalid_file: b.csv\n"),
              testing::HasSubstr("validation has all windows of the series in its file: remove num_valid"));
  EXPECT_THAT(complaint(csv + "window: 4\nfeatures: [station]\n"),
              testing::HasSubstr("neither a feature nor a target"));
}

// A list of one was a single number before, and files with it are compared with files of today.
TEST(DataSettings, PrintOneHorizonWithoutBrackets) {
  DataSettings settings;
  settings.horizon = {6};
  EXPECT_THAT(config::print(settings, DataSettings::schema()), testing::HasSubstr("horizon: 6 "));
  settings.horizon = {1, 6};
  EXPECT_THAT(config::print(settings, DataSettings::schema()), testing::HasSubstr("horizon: [1, 6]"));
}

TEST(DataSettings, PrintedReadBackTheSame) {
  for (const std::string yaml :
       {"{}", "source: csv\npath: a.csv\ntarget: [y]\nwindow: 5", "source: text\npath: a.txt\ntokens: bytes",
        "source: synthetic\nnum_train: 612235\nlabels: gaussian",
        "source: idx\ntrain_inputs: a\ntrain_targets: b\nnum_classes: 3\nplacement: host"}) {
    const auto& schema = DataSettings::schema();
    const std::string printed = config::print(parse_settings(yaml), schema);
    EXPECT_EQ(config::print(parse_settings(printed), schema), printed);
  }
}

TEST(DataSettings, RefuseAKeyThatTheSourceDoesNotUse) {
  EXPECT_EQ(
      complaint("source: digits\nwindow: 3"),
      "test.yaml:2:9: window and source (test.yaml:1:9): window is for source csv; digits does not use it: remove it");
  EXPECT_EQ(
      complaint("source: csv\npath: a.csv\ntarget: [y]\nnum_classes: 3"),
      "test.yaml:4:14: num_classes and source (test.yaml:1:9): num_classes is for source idx, npy or synthetic; csv "
      "does not use it: remove it");
  EXPECT_EQ(complaint("path: x"),
            "test.yaml:1:7: path and source (default): path is for source mnist, idx, ts, csv, text or npy; digits "
            "does not use "
            "it: remove it");
}

TEST(DataSettings, SayWhatACsvFileNeeds) {
  EXPECT_EQ(
      complaint("source: csv\ntarget: [y]"),
      "test.yaml:1:9: source, path (default) and train_file (default): source csv needs a file: path, or train_file");
  EXPECT_EQ(complaint("source: csv\npath: a.csv"),
            "test.yaml:1:9: source and target (default): source csv needs target, the column to predict");
  EXPECT_EQ(
      complaint("source: csv\npath: a.csv\ntarget: [y]\nhorizon: 2"),
      "test.yaml:4:10: horizon and window (default): a horizon is counted from the end of a window: set window too");
  EXPECT_EQ(complaint("source: csv\npath: a.csv\ntarget: [y]\nwindow: 2\nsplit: random"),
            "test.yaml:5:8: split and window (test.yaml:4:9): windows overlap, so a random split would put values of "
            "validation into training: use ordered");
  EXPECT_EQ(complaint("source: csv\npath: a.csv\ntarget: [y]\nmissing: previous"),
            "test.yaml:4:10: missing and split (default): a random split gives neighbouring rows to different parts, "
            "and previous copies values from one to the other: use drop, mean or zero, or split: ordered");
  EXPECT_EQ(complaint("source: csv\npath: a.csv\ntarget: [y]\nmissing: previous\nsplit: ordered"), "no complaint");
  EXPECT_EQ(complaint("source: csv\npath: a.csv\ntarget: [y]\nwindow: 2\nmissing: drop"), "no complaint");
  EXPECT_EQ(
      complaint("source: csv\npath: a.csv\ntarget: [y, z]"),
      "test.yaml:3:9: target, task (default) and window (default): a classification has one target column; for several "
      "numbers use task: regression");
  EXPECT_EQ(complaint("source: csv\npath: a.csv\ntarget: [y]\nfeatures: [x, y]"),
            "test.yaml:4:11: features and target (test.yaml:3:9): 'y' is both a feature and a target: remove it from "
            "features");
  EXPECT_EQ(complaint("source: csv\npath: a.csv\ntarget: [y]\ndelimiter: ab"),
            "test.yaml:4:12: delimiter: got 'ab', expected one ASCII character, not a quote or line break");
}

// The rows of a refused window may be a series, so a rule about single rows must not be reported too.
TEST(DataSettings, SayNothingAboutRowsWhoseMeaningIsWrong) {
  const std::string csv = "source: csv\npath: a.csv\ntarget: [y]\n";
  EXPECT_EQ(complaint(csv + "features: [x, y]\nwindow: \"14\""),
            "test.yaml:5:9: window: got the text '14', expected an integer, at least 0 and at most 1000000000 (leave "
            "out the quotes)");
  EXPECT_EQ(complaint(csv + "missing: previous\nwindow: \"14\""),
            "test.yaml:5:9: window: got the text '14', expected an integer, at least 0 and at most 1000000000 (leave "
            "out the quotes)");
  EXPECT_EQ(complaint(csv + "group: station\ntarget_per: stepp"),
            "test.yaml:5:13: target_per: got 'stepp', expected sequence or step (did you mean 'step'?)");
  EXPECT_EQ(complaint(csv + "id: [y]\nwindow: \"14\""),
            "test.yaml:4:5: id and target (test.yaml:3:9): 'y' is both an id and a target: remove it from one of the "
            "two\ntest.yaml:5:9: window: got the text '14', expected an integer, at least 0 and at most 1000000000 "
            "(leave out the quotes)");
}

TEST(DataSettings, SayWhatIsWrongWhateverTheRowsMean) {
  EXPECT_EQ(complaint("source: csv\npath: a.csv\ntarget: [y]\nwindow: \"14\"\nhorizon: [2, 1]\ncategories: [day, day]"),
            "test.yaml:4:9: window: got the text '14', expected an integer, at least 0 and at most 1000000000 (leave "
            "out the quotes)\n"
            "test.yaml:5:10: horizon: several horizons are in ascending order, each once\n"
            "test.yaml:6:13: categories: 'day' is listed twice: remove one of the two");
}

TEST(DataSettings, TakeColumnsThatIdentifyARow) {
  EXPECT_THAT(parse_settings("source: csv\npath: a.csv\ntarget: [y]\nid: [date, station]").id,
              testing::ElementsAre("date", "station"));
  EXPECT_EQ(
      complaint("source: csv\npath: a.csv\ntarget: [y]\nid: [y]"),
      "test.yaml:4:5: id and target (test.yaml:3:9): 'y' is both an id and a target: remove it from one of the two");
  EXPECT_EQ(complaint("source: csv\npath: a.csv\ntarget: [y]\nid: [a, a]"),
            "test.yaml:4:5: id: 'a' is listed twice: remove one of the two");
  EXPECT_EQ(complaint("source: csv\npath: a.csv\ntarget: [y, y]"),
            "test.yaml:3:9: target: 'y' is listed twice: remove one of the two");
  EXPECT_EQ(complaint("source: csv\npath: a.csv\ntarget: [y]\nfeatures: [x, z, x]"),
            "test.yaml:4:11: features: 'x' is listed twice: remove one of the two");
  EXPECT_EQ(complaint("id: [a]"),
            "test.yaml:1:5: id and source (default): id is for source csv; digits does not use it: remove it");
}

TEST(DataSettings, SayWhichFilesOfArraysAreMissing) {
  EXPECT_EQ(
      complaint("source: idx\ntrain_inputs: a"),
      "test.yaml:1:9: source, train_inputs (test.yaml:2:15) and train_targets (default): source idx reads its samples "
      "from train_inputs and train_targets: name both files");
  EXPECT_EQ(complaint("source: npy\ntrain_inputs: a\ntrain_targets: b\nvalid_inputs: c"),
            "test.yaml:4:15: valid_inputs and valid_targets (default): only one of the two is set: name both files, or "
            "remove both to split the training files");
  EXPECT_EQ(
      complaint("source: npy\ntrain_inputs: a\ntrain_targets: b\nvalid_inputs: c\nvalid_targets: d\ntrain_lengths: e"),
      "test.yaml:6:16: train_lengths and valid_lengths (default): only one of the two is set: name both files, or "
      "remove both");
}

TEST(DataSettings, RefuseToDivideNumbersThatAreNoBytes) {
  EXPECT_EQ(
      complaint("source: synthetic\nnormalize: unit"),
      "test.yaml:2:12: normalize and source (test.yaml:1:9): unit divides bytes (0 to 255) by 255; here use standard, "
      "minmax or none");
}

TEST(DataSettings, RefuseClassesOfLabelsThatHaveNone) {
  EXPECT_EQ(complaint("source: synthetic\nlabels: gaussian\nnum_classes: 3"),
            "test.yaml:3:14: num_classes and labels (test.yaml:2:9): only labels: classes have classes: remove one of "
            "the two");
}

TEST(DataSettings, TakeATestPartFromOnePlace) {
  EXPECT_EQ(complaint("source: csv\ntrain_file: a.csv\ntest_file: t.csv\ntarget: [y]\nnum_test: 5"),
            "test.yaml:5:11: num_test and test_file (test.yaml:3:12): num_test takes the test part out of the training "
            "file, but it has a file of its own: remove one of the two");
  EXPECT_EQ(complaint("source: csv\npath: a.csv\ntest_file: t.csv\ntarget: [y]"),
            "test.yaml:3:12: test_file and train_file (default): a file for tests needs one for training: name "
            "train_file too");
  EXPECT_EQ(complaint("source: npy\ntrain_inputs: x\ntrain_targets: y\ntest_targets: t"),
            "test.yaml:4:15: test_targets and test_inputs (default): targets need samples: name test_inputs too");
  EXPECT_EQ(
      complaint("source: digits\nnum_test: 5"),
      "test.yaml:2:11: num_test and source (test.yaml:1:9): num_test is for source idx, ts, csv, text or npy; digits "
      "does not use it: remove it");
}

TEST(DataSettings, HaveASeasonInASeriesAlone) {
  EXPECT_EQ(complaint("source: csv\npath: a.csv\ntarget: [y]\nseason: 24"),
            "test.yaml:4:9: season and window (default): only a series has a season: set window too");
}

}  // namespace
}  // namespace rnnlab
