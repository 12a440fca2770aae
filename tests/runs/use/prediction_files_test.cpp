// SPDX-License-Identifier: Apache-2.0
#include "runs/use/prediction_files.h"

#include <ATen/ops/tensor.h>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <limits>

#include "base/expect_error.h"
#include "base/system/temporary_folder.h"
#include "data/readers/array.h"
#include "golden.h"

namespace rnnlab {
namespace {

using testing::TemporaryFolder;

at::Tensor doubles(const std::vector<double>& values, int64_t columns) {
  return at::tensor(values, at::kDouble).view({-1, columns});
}

Predictions of_classes() {
  return {.kind = PredictionKind::kClasses,
          .names = {"iris", "rose, red"},
          .raw = at::tensor({1.f, 0.f, 2.f, 0.5f}).view({2, 2}),
          .values = doubles({0.75, 0.25, 0.125, 0.875}, 2),
          .targets = at::tensor({int64_t{0}, int64_t{-1}}, at::kLong)};
}

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

Predictions of_values() {
  return {.kind = PredictionKind::kValues,
          .names = {"level", "flow"},
          .raw = at::tensor({0.f, 0.f}).view({1, 2}),
          .values = doubles({100.5, 0.1}, 2),
          .targets = doubles({101, kUnknown}, 2)};
}

Predictions of_one_probability() {
  return {.kind = PredictionKind::kProbabilities,
          .names = {"y"},
          .raw = at::tensor({0.f}).view({1, 1}),
          .values = doubles({0.5}, 1),
          .targets = {}};
}

TEST(PredictionCsv, HasARowASample) {
  expect_golden(prediction_csv(of_classes()));
  expect_golden(prediction_csv(of_values()));
  EXPECT_EQ(prediction_csv(of_one_probability()), "index,prediction,probability\n0,1,0.5\n");
}

TEST(PredictionCsv, HasTheQuantilesOfADistribution) {
  Predictions one = of_values();
  one.levels = {0.05, 0.5, 0.95};
  one.quantiles = doubles({90, 100.5, 110.25, -1, 0.1, 1}, 3).view({1, 2, 3});
  EXPECT_EQ(prediction_csv(one),
            "index,target_level,target_flow,prediction_level,prediction_flow,quantile_0.05_level,quantile_0.05_flow,"
            "quantile_0.5_level,quantile_0.5_flow,quantile_0.95_level,quantile_0.95_flow\n"
            "0,101,,100.5,0.1,90,-1,100.5,0.1,110.25,1\n");
  EXPECT_THAT(prediction_jsonl(one), ::testing::HasSubstr(R"("quantile_0.95":{"level":110.25,"flow":1})"));
}

// Returns what a float32 that scaling makes of a number is worth in the units of the number.
double through_scaling(double number, const ColumnScale& scale) {
  const auto scaled = static_cast<float>((static_cast<float>(number) - scale.offset) / scale.scale);
  return static_cast<double>(scaled) * scale.scale + scale.offset;
}

TEST(PredictionCsv, HasTheNumbersOfTheFileAfterScaling) {
  const ColumnScale scale{.name = "rain", .offset = 17.3846, .scale = 6.82913};
  for (const char* number : {"20.96", "0.1", "17.4", "-3.25", "100", "17.384", "21.0123"}) {
    const double scaled = through_scaling(std::strtod(number, nullptr), scale);
    const Predictions predictions{.kind = PredictionKind::kValues,
                                  .names = {"rain"},
                                  .raw = at::tensor({0.f}).view({1, 1}),
                                  .values = doubles({scaled}, 1),
                                  .targets = doubles({scaled}, 1),
                                  .scales = {scale}};
    EXPECT_EQ(prediction_csv(predictions), fmt::format("index,target,prediction\n0,{0},{0}\n", number));
    EXPECT_EQ(prediction_jsonl(predictions),
              fmt::format("{{\"index\":0,\"target\":{0},\"prediction\":{0}}}\n", number));
  }
}

// Returns rows 2 and 4 of a file whose row 3 lacks a value; the last row is after the end.
FileRows three_rows(std::vector<std::string> id_names) {
  const auto id = [&](const std::string& text) {
    std::vector<std::string> cells(id_names.size());
    for (size_t i = 0; i < cells.size(); ++i) cells[i] = text + std::string(i, '+');
    return cells;
  };
  FileRows rows{.id_names = id_names, .rows = {}};
  rows.rows.push_back({.number = 2, .id = id("mon"), .sample = 0, .reason = ""});
  rows.rows.push_back({.number = 3, .id = id("a,b"), .sample = std::nullopt, .reason = "missing value in column 'x'"});
  rows.rows.push_back({.number = 4, .id = id(""), .sample = 1, .reason = ""});
  return rows;
}

TEST(PredictionCsv, HasEveryRowOfAFile) {
  expect_golden(prediction_csv(of_classes(), three_rows({"day"})));
  FileRows one = three_rows({});
  one.rows.resize(2);
  expect_golden(prediction_csv(of_one_probability(), one));
}

// Two windows of two targets at two horizons; the last forecast is after the end.
FileRows two_windows() {
  FileRows rows{.id_names = {"place", "day"}, .rows = {}, .time_name = "day"};
  rows.rows.push_back({.number = 1, .id = {"a", "1"}, .sample = {}, .reason = "no full window"});
  rows.rows.push_back({.number = 2, .id = {"a", "2"}, .sample = 0, .reason = "", .forecasts = {0, 1}});
  rows.rows.push_back({.number = 3, .id = {"a", "3"}, .sample = 1, .reason = "", .forecasts = {1, 2}});
  rows.forecasts = {{2, {"a", "2"}, "2"}, {3, {"a", "3"}, "3"}, {0, {"a", ""}, ""}};
  return rows;
}

TEST(PredictionCsv, HasALineForEachDateAndHorizonInTheLongForm) {
  const Predictions predictions{.kind = PredictionKind::kValues,
                                .names = {"x+1", "x+2", "y+1", "y+2"},
                                .raw = {},
                                .values = doubles({1, 2, 10, 20, 3, 4, 30, 40}, 4),
                                .targets = doubles({1.5, 2.5, 11, 21, 3.5, kUnknown, 31, kUnknown}, 4)};
  const LongForm form{{"x", "y"}, {1, 2}};
  EXPECT_EQ(prediction_csv(predictions, two_windows(), form),
            "index,row,place,time,horizon,target_x,target_y,prediction_x,prediction_y\n"
            "0,2,a,2,1,1.5,11,1,10\n0,3,a,3,2,2.5,21,2,20\n1,3,a,3,1,3.5,31,3,30\n1,,a,,2,,,4,40\n");
  EXPECT_THAT(prediction_jsonl(predictions, two_windows(), form),
              ::testing::EndsWith(R"({"index":1,"row":null,"id":{"place":"a"},"time":null,"horizon":2,)"
                                  R"("target":{"x":null,"y":null},"prediction":{"x":4,"y":40}})"
                                  "\n"));
}

TEST(PredictionCsv, NamesTheOnlyTargetOfTheLongFormNotAtAll) {
  const Predictions predictions{.kind = PredictionKind::kValues,
                                .names = {"x+1", "x+2"},
                                .raw = {},
                                .values = doubles({1, 2, 3, 4}, 2),
                                .targets = {}};
  EXPECT_EQ(prediction_csv(predictions, two_windows(), LongForm{{"x"}, {1, 2}}),
            "index,row,place,time,horizon,prediction\n0,2,a,2,1,1\n0,3,a,3,2,2\n1,3,a,3,1,3\n1,,a,,2,4\n");
}

TEST(PredictionCsv, NotesRowsWithoutAPrediction) {
  expect_golden(note_on_rows(two_windows()).value() + "\n" + note_on_rows(two_windows(), LongForm{}).value());
  EXPECT_FALSE(note_on_rows({}));
}

TEST(PredictionCsv, KeepsItsOwnNamesOfColumns) {
  FileRows rows = three_rows({"index", "prediction", "row", "id_row", "target_level"});
  rows.rows.resize(1);
  expect_golden(prediction_csv(of_values(), rows));
}

TEST(PredictionJsonl, HasEveryRowOfAFile) {
  EXPECT_EQ(prediction_jsonl(of_classes(), three_rows({"day", "row"})),
            R"({"index":0,"row":2,"id":{"day":"mon","row":"mon+"},"target":"iris","prediction":"iris",)"
            R"("probabilities":{"iris":0.75,"rose, red":0.25},"reason":null})"
            "\n"
            R"({"index":null,"row":3,"id":{"day":"a,b","row":"a,b+"},"target":null,"prediction":null,)"
            R"("probabilities":null,"reason":"missing value in column 'x'"})"
            "\n"
            R"({"index":1,"row":4,"id":{"day":"","row":"+"},"target":null,"prediction":"rose, red",)"
            R"("probabilities":{"iris":0.125,"rose, red":0.875},"reason":null})"
            "\n");
}

TEST(PredictionFile, NamesTheSampleAndStepOfATargetPerStep) {
  FileRows rows{.id_names = {"sample", "step"}, .rows = {}, .are_numbered = false};
  rows.rows = {{.number = 0, .id = {"3", "0"}, .sample = 0, .reason = ""},
               {.number = 0, .id = {"3", "1"}, .sample = 1, .reason = ""}};
  expect_golden(prediction_csv(of_classes(), rows));
  EXPECT_THAT(prediction_jsonl(of_classes(), rows),
              ::testing::StartsWith(R"({"index":0,"sample":3,"step":0,"target":"iris","prediction":"iris",)"));
}

TEST(PredictionJsonl, HasAnObjectASample) {
  EXPECT_EQ(prediction_jsonl(of_classes()),
            R"({"index":0,"target":"iris","prediction":"iris","probabilities":{"iris":0.75,"rose, red":0.25}})"
            "\n"
            R"({"index":1,"target":null,"prediction":"rose, red","probabilities":{"iris":0.125,"rose, red":0.875}})"
            "\n");
  EXPECT_EQ(prediction_jsonl(of_values()),
            R"({"index":0,"target":{"level":101,"flow":null},"prediction":{"level":100.5,"flow":0.1}})"
            "\n");
  EXPECT_EQ(prediction_jsonl(of_one_probability()), "{\"index\":0,\"prediction\":1,\"probability\":0.5}\n");
}

TEST(PredictionFile, HasValuesBeyondFloat32) {
  Predictions predictions = of_values();
  predictions.values = doubles({2.5e40, -1e300}, 2);
  EXPECT_THAT(prediction_csv(predictions), ::testing::EndsWith("0,101,,2.5e+40,-1e+300\n"));
  EXPECT_THAT(prediction_jsonl(predictions), ::testing::HasSubstr(R"("prediction":{"level":2.5e+40,"flow":-1e+300})"));
}

TEST(WritePredictions, GoesByTheNamesEnding) {
  const TemporaryFolder folder;
  write_predictions(folder.path() / "a.csv", of_classes());
  EXPECT_EQ(testing::read_text(folder.path() / "a.csv"), prediction_csv(of_classes()));
  write_predictions(folder.path() / "a.jsonl", of_classes());
  EXPECT_EQ(testing::read_text(folder.path() / "a.jsonl"), prediction_jsonl(of_classes()));
  testing::expect_error(ExitCode::kUsage, [] { write_predictions("a.txt", of_classes()); });
}

TEST(WritePredictions, WritesRawOutputsAsNpy) {
  const TemporaryFolder folder;
  write_predictions(folder.path() / "a.npy", of_classes());
  const Array array = read_npy(folder.path() / "a.npy");
  EXPECT_EQ(array.shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(array.type, ElementType::kF32);
  EXPECT_EQ(testing::read_text(folder.path() / "a.npy").size(), 128u + 16u) << "aligned to 64 bytes";
}

// RNNLAB_PYTHON names an interpreter with numpy, if "python3" has none.
TEST(WritePredictions, WritesNpyThatNumpyReads) {
  const char* named = std::getenv("RNNLAB_PYTHON");
  const std::string python = named == nullptr ? "python3" : named;
  if (std::system((python + " -c 'import numpy' 2>/dev/null").c_str()) != 0)
    GTEST_SKIP() << python << " has no numpy: RNNLAB_PYTHON=... names one that has";
  const TemporaryFolder folder;
  write_predictions(folder.path() / "a.npy", of_classes());
  const std::string command = python + " -c \"import numpy; a = numpy.load('" + folder.name("a.npy") +
                              "'); assert a.dtype == 'float32' and a.tolist() == [[1, 0], [2, 0.5]], a\"";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

}  // namespace
}  // namespace rnnlab
