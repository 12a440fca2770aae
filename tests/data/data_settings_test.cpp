// SPDX-License-Identifier: Apache-2.0
#include "data/data_settings.h"

#include <fmt/format.h>

#include "data_test.h"
#include "golden.h"

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
  expect_golden(complaint(with_horizon("[2, 1]")));
  EXPECT_THAT(complaint(with_horizon("[1, 1]")), testing::HasSubstr("each once"));
  expect_golden(complaint(with_horizon("[]")));
  EXPECT_THAT(complaint(with_horizon("[1, 2]") + "task: classification\n"),
              testing::HasSubstr("a classification has one horizon"));
}

TEST(DataSettings, HaveSeriesByAColumnOnlyWithAWindow) {
  const std::string csv = "source: csv\npath: a.csv\ntarget: [x]\ngroup: station\n";
  EXPECT_EQ(parse_settings(csv + "window: 4\n").group, "station");
  expect_golden(complaint(csv));
  expect_golden(complaint(csv + "window: 4\nnum_train: 10\n"));
  EXPECT_EQ(parse_settings(csv + "window: 4\nnum_valid: 10\nnum_test: 5\n").num_test, 5);
  expect_golden(complaint(csv + "window: 4\nnum_valid: 10\ntrain_file: a.csv\nvalid_file: b.csv\n"));
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
  expect_golden(complaint("source: digits\nwindow: 3"));
  expect_golden(complaint("source: csv\npath: a.csv\ntarget: [y]\nnum_classes: 3"));
  expect_golden(complaint("path: x"));
}

TEST(DataSettings, SayWhatACsvFileNeeds) {
  expect_golden(complaint("source: csv\ntarget: [y]"));
  expect_golden(complaint("source: csv\npath: a.csv"));
  expect_golden(complaint("source: csv\npath: a.csv\ntarget: [y]\nhorizon: 2"));
  expect_golden(complaint("source: csv\npath: a.csv\ntarget: [y]\nwindow: 2\nsplit: random"));
  expect_golden(complaint("source: csv\npath: a.csv\ntarget: [y]\nmissing: previous"));
  EXPECT_EQ(complaint("source: csv\npath: a.csv\ntarget: [y]\nmissing: previous\nsplit: ordered"), "no complaint");
  EXPECT_EQ(complaint("source: csv\npath: a.csv\ntarget: [y]\nwindow: 2\nmissing: drop"), "no complaint");
  expect_golden(complaint("source: csv\npath: a.csv\ntarget: [y, z]"));
  expect_golden(complaint("source: csv\npath: a.csv\ntarget: [y]\nfeatures: [x, y]"));
  expect_golden(complaint("source: csv\npath: a.csv\ntarget: [y]\ndelimiter: ab"));
}

// The rows of a refused window may be a series, so a rule about single rows must not be reported too.
TEST(DataSettings, SayNothingAboutRowsWhoseMeaningIsWrong) {
  const std::string csv = "source: csv\npath: a.csv\ntarget: [y]\n";
  expect_golden(complaint(csv + "features: [x, y]\nwindow: \"14\""));
  expect_golden(complaint(csv + "missing: previous\nwindow: \"14\""));
  expect_golden(complaint(csv + "group: station\ntarget_per: stepp"));
  expect_golden(complaint(csv + "id: [y]\nwindow: \"14\""));
}

TEST(DataSettings, SayWhatIsWrongWhateverTheRowsMean) {
  expect_golden(
      complaint("source: csv\npath: a.csv\ntarget: [y]\nwindow: \"14\"\nhorizon: [2, 1]\ncategories: [day, day]"));
}

TEST(DataSettings, TakeColumnsThatIdentifyARow) {
  EXPECT_THAT(parse_settings("source: csv\npath: a.csv\ntarget: [y]\nid: [date, station]").id,
              testing::ElementsAre("date", "station"));
  expect_golden(complaint("source: csv\npath: a.csv\ntarget: [y]\nid: [y]"));
  expect_golden(complaint("source: csv\npath: a.csv\ntarget: [y]\nid: [a, a]"));
  expect_golden(complaint("source: csv\npath: a.csv\ntarget: [y, y]"));
  expect_golden(complaint("source: csv\npath: a.csv\ntarget: [y]\nfeatures: [x, z, x]"));
  expect_golden(complaint("id: [a]"));
}

TEST(DataSettings, SayWhichFilesOfArraysAreMissing) {
  expect_golden(complaint("source: idx\ntrain_inputs: a"));
  expect_golden(complaint("source: npy\ntrain_inputs: a\ntrain_targets: b\nvalid_inputs: c"));
  expect_golden(
      complaint("source: npy\ntrain_inputs: a\ntrain_targets: b\nvalid_inputs: c\nvalid_targets: d\ntrain_lengths: e"));
}

TEST(DataSettings, RefuseToDivideNumbersThatAreNoBytes) {
  expect_golden(complaint("source: synthetic\nnormalize: unit"));
}

TEST(DataSettings, RefuseClassesOfLabelsThatHaveNone) {
  expect_golden(complaint("source: synthetic\nlabels: gaussian\nnum_classes: 3"));
}

TEST(DataSettings, TakeATestPartFromOnePlace) {
  expect_golden(complaint("source: csv\ntrain_file: a.csv\ntest_file: t.csv\ntarget: [y]\nnum_test: 5"));
  expect_golden(complaint("source: csv\npath: a.csv\ntest_file: t.csv\ntarget: [y]"));
  expect_golden(complaint("source: npy\ntrain_inputs: x\ntrain_targets: y\ntest_targets: t"));
  expect_golden(complaint("source: digits\nnum_test: 5"));
}

TEST(DataSettings, HaveASeasonInASeriesAlone) {
  expect_golden(complaint("source: csv\npath: a.csv\ntarget: [y]\nseason: 24"));
}

}  // namespace
}  // namespace rnnlab
