// SPDX-License-Identifier: Apache-2.0
#include "data/data_settings.h"

#include "base/expect_error.h"
#include "data_test.h"

namespace rnnlab {
namespace {

// Expects that settings after `common` are refused with each of these ends.
void expect_refused(const std::string& common, std::initializer_list<const char*> ends) {
  for (const char* end : ends) testing::expect_error(ExitCode::kUsage, [&] { parse_settings(common + end); });
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
  EXPECT_THAT(settings.features, ::testing::ElementsAre("temperature", "pressure"));
  EXPECT_EQ(settings.window, 24);
  EXPECT_THAT(settings.horizon, ::testing::ElementsAre(3));
  EXPECT_EQ(settings.missing, MissingPolicy::kPrevious);
  EXPECT_EQ(settings.normalize, Normalization::kMinMax);
}

TEST(DataSettings, HaveOneHorizonOrSeveralInAscendingOrder) {
  const auto with_horizon = [](const std::string& horizon) {
    return "source: csv\npath: a.csv\ntarget: [x]\nwindow: 4\nhorizon: " + horizon;
  };
  EXPECT_THAT(parse_settings(with_horizon("[1, 4..6]")).horizon, ::testing::ElementsAre(1, 4, 5, 6));
  expect_refused(with_horizon(""), {"[2, 1]", "[1, 1]", "[]", "[1, 2]\ntask: classification\n"});
}

TEST(DataSettings, HaveSeriesByAColumnOnlyWithAWindow) {
  const std::string csv = "source: csv\npath: a.csv\ntarget: [x]\ngroup: station\n";
  EXPECT_EQ(parse_settings(csv + "window: 4\n").group, "station");
  EXPECT_EQ(parse_settings(csv + "window: 4\nnum_valid: 10\nnum_test: 5\n").num_test, 5);
  expect_refused(csv, {"", "window: 4\nnum_train: 10\n", "window: 4\nfeatures: [station]\n",
                       "window: 4\nnum_valid: 10\ntrain_file: a.csv\nvalid_file: b.csv\n"});
}

// A list of one was a single number before, and files with it are compared with files of today.
TEST(DataSettings, PrintOneHorizonWithoutBrackets) {
  DataSettings settings;
  settings.horizon = {6};
  EXPECT_THAT(config::print(settings, DataSettings::schema()), ::testing::HasSubstr("horizon: 6 "));
  settings.horizon = {1, 6};
  EXPECT_THAT(config::print(settings, DataSettings::schema()), ::testing::HasSubstr("horizon: [1, 6]"));
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

TEST(DataSettings, RefuseKeysThatTheSourceDoesNotUse) {
  expect_refused("", {"source: digits\nwindow: 3", "source: csv\npath: a.csv\ntarget: [y]\nnum_classes: 3", "path: x",
                      "id: [a]", "source: digits\nnum_test: 5", "source: synthetic\nnormalize: unit",
                      "source: synthetic\nlabels: gaussian\nnum_classes: 3"});
}

TEST(DataSettings, SayWhatACsvFileNeeds) {
  const std::string csv = "source: csv\npath: a.csv\ntarget: [y]\n";
  EXPECT_NO_THROW(parse_settings(csv + "missing: previous\nsplit: ordered"));
  EXPECT_NO_THROW(parse_settings(csv + "window: 2\nmissing: drop"));
  EXPECT_THAT(parse_settings(csv + "id: [date, station]").id, ::testing::ElementsAre("date", "station"));
  expect_refused(csv, {"horizon: 2", "window: 2\nsplit: random", "missing: previous", "features: [x, y]",
                       "delimiter: ab", "id: [y]", "id: [a, a]", "features: [x, z, x]", "season: 24"});
  expect_refused("source: csv\n", {"target: [y]", "path: a.csv", "path: a.csv\ntarget: [y, z]",
                                   "path: a.csv\ntarget: [y, y]", "path: a.csv\ntest_file: t.csv\ntarget: [y]",
                                   "train_file: a.csv\ntest_file: t.csv\ntarget: [y]\nnum_test: 5"});
}

// The rows of a refused window may be a series, so a rule about single rows must not be reported too.
TEST(DataSettings, SayNothingAboutRowsWhoseMeaningIsWrong) {
  expect_refused(
      "source: csv\npath: a.csv\ntarget: [y]\n",
      {"features: [x, y]\nwindow: \"14\"", "missing: previous\nwindow: \"14\"", "group: station\ntarget_per: stepp",
       "id: [y]\nwindow: \"14\"", "window: \"14\"\nhorizon: [2, 1]\ncategories: [day, day]"});
}

TEST(DataSettings, SayWhichFilesOfArraysAreMissing) {
  expect_refused("source: idx\ntrain_inputs: a", {""});
  expect_refused("source: npy\ntrain_inputs: a\ntrain_targets: b\n",
                 {"valid_inputs: c", "valid_inputs: c\nvalid_targets: d\ntrain_lengths: e", "test_targets: t"});
}

}  // namespace
}  // namespace rnnlab
