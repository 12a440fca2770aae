// SPDX-License-Identifier: Apache-2.0
// Which rows are in the folds of a back-test, and that no fold sees a value that it must forecast.
#include <ATen/TensorOperators.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/expect_error.h"
#include "csv_data.h"
#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;

using Rows = std::vector<int64_t>;

RowSplit ordered(int64_t num_rows, int64_t fold, std::optional<int64_t> num_valid, int64_t num_test = 0) {
  const SplitRequest request{.num_valid = num_valid, .num_test = num_test, .num_folds = 3, .fold = fold};
  return split_rows(num_rows, request, "data");
}

TEST(RollingOrigin, ValidatesTheLastBlocksOneAfterTheOther) {
  EXPECT_EQ(ordered(10, 1, 2).train, (Rows{0, 1, 2, 3}));
  EXPECT_EQ(ordered(10, 1, 2).valid, (Rows{4, 5}));
  EXPECT_EQ(ordered(10, 2, 2).train, (Rows{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(ordered(10, 2, 2).valid, (Rows{6, 7}));
  EXPECT_EQ(ordered(10, 3, 2).valid, (Rows{8, 9}));
  EXPECT_EQ(ordered(20, 3, std::nullopt).valid, (Rows{18, 19})) << "a tenth";
}

// The last fold has the parts of a single split.
TEST(RollingOrigin, LeavesOutTheTestPart) {
  EXPECT_EQ(ordered(10, 3, 2, 1).valid, (Rows{7, 8}));
  for (const int64_t fold : {1, 2, 3}) EXPECT_EQ(ordered(10, fold, 2, 1).test, (Rows{9}));
  const RowSplit last = ordered(10, 3, 2, 1), single = split_rows(10, {.num_valid = 2, .num_test = 1}, "data");
  EXPECT_EQ(last.train, single.train);
  EXPECT_EQ(last.valid, single.valid);
}

TEST(RollingOrigin, NeedsRowsForTheFirstFoldInEachFold) {
  for (const int64_t fold : {1, 2, 3}) {
    EXPECT_EQ(ordered(7, fold, 2).valid.size(), 2u);
    testing::expect_error(ExitCode::kData, [&] { ordered(6, fold, 2); });
  }
  testing::expect_error(ExitCode::kData, [] { ordered(4, 1, 1, 1); });
  testing::expect_error(ExitCode::kData, [] { ordered(1, 1, std::nullopt); });
}

RowSplit random_fold(int64_t num_rows, int64_t fold, const Rows& classes = {}, int64_t num_test = 0) {
  const SplitRequest request{.how = Split::kRandom,
                             .num_valid = std::nullopt,
                             .num_test = num_test,
                             .is_stratified = true,
                             .num_folds = 4,
                             .fold = fold};
  return split_rows(num_rows, request, "data", classes);
}

// Returns the samples that validate in one of three random folds.
std::set<int64_t> validating(int64_t num_rows, int64_t fold) {
  const SplitRequest request{.how = Split::kRandom, .num_valid = std::nullopt, .num_folds = 3, .fold = fold};
  const Rows rows = split_rows(num_rows, request, "data").valid;
  return {rows.begin(), rows.end()};
}

TEST(RandomFolds, ValidateEachRowOnce) {
  std::multiset<int64_t> validated;
  for (const int64_t fold : {1, 2, 3, 4}) {
    const RowSplit split = random_fold(14, fold, {}, 3);
    EXPECT_EQ(split.test, random_fold(14, 1, {}, 3).test);
    std::set<int64_t> all(split.train.begin(), split.train.end());
    for (const auto* part : {&split.valid, &split.test}) all.insert(part->begin(), part->end());
    EXPECT_EQ(all.size(), 14u);
    EXPECT_EQ(split.train.size() + split.valid.size(), 11u);
    validated.insert(split.valid.begin(), split.valid.end());
  }
  EXPECT_EQ(validated.size(), 11u);
  EXPECT_EQ(std::set(validated.begin(), validated.end()).size(), 11u);
}

TEST(RandomFolds, HaveTheSharesOfTheClasses) {
  Rows classes(40);
  for (size_t i = 0; i < classes.size(); ++i) classes[i] = i < 24 ? 0 : i < 36 ? 1 : 2;
  for (const int64_t fold : {1, 2, 3, 4}) {
    Rows counts(3);
    for (const int64_t row : random_fold(40, fold, classes).valid)
      ++counts[static_cast<size_t>(classes[static_cast<size_t>(row)])];
    EXPECT_THAT(counts, ElementsAre(6, 3, 1)) << fold;
  }
}

TEST(RandomFolds, NeedARowEach) {
  EXPECT_EQ(random_fold(4, 4).valid.size(), 1u);
  testing::expect_error(ExitCode::kData, [] { random_fold(3, 1); });
}

// ---- settings ----

using FoldSettings = CsvData;

TEST_F(FoldSettings, RefuseWhatContradictsThem) {
  const std::string series = "target: [a]\nwindow: 2\n", rows = "target: [a]\ntask: regression\n";
  for (const std::string& more :
       {series + "folds: 1", series + "fold: 1", series + "folds: 2\nfold: 3", series + "folds: 5\nvalid_fraction: 0.2",
        series + "folds: 2\nnum_valid: 0", rows + "folds: 2\nnum_valid: 5", rows + "folds: 2\nvalid_fraction: 0.5",
        series + "folds: 2\ntrain_file: a.csv\nvalid_file: b.csv"})
    expect_golden(usage_error(more));
  expect_golden(error_of(ExitCode::kUsage, [] { parse_settings("source: text\nfolds: 3\n"); }));
  EXPECT_EQ(settings(series + "folds: 5\nvalid_fraction: 0.19").folds, 5);
  EXPECT_EQ(settings(series + "folds: 5\nnum_valid: 3").num_valid, 3);
}

// ---- no leak ----

// Everything that a model is given or compared with, to the last bit.
struct Seen {
  at::Tensor train_inputs, train_targets, valid_inputs;
  std::vector<double> fitted;
  std::vector<std::string> texts;

  explicit Seen(const Dataset& data)
      : train_inputs(data.train.inputs), train_targets(data.train.targets), valid_inputs(data.valid.inputs) {
    for (const auto* scales : {&data.feature_scales, &data.target_scales})
      for (const ColumnScale& scale : *scales) fitted.insert(fitted.end(), {scale.offset, scale.scale});
    for (const auto& [name, mean] : data.column_means) fitted.push_back(mean);
    for (const double error : data.naive_errors) fitted.push_back(error);
    for (const CategoryColumn& column : data.categories)
      texts.insert(texts.end(), column.values.begin(), column.values.end());
  }
};

void expect_equal_training(const Dataset& a, const Dataset& b) {
  const Seen first(a), second(b);
  EXPECT_TRUE(at::equal(first.train_inputs, second.train_inputs));
  EXPECT_TRUE(at::equal(first.train_targets, second.train_targets));
  EXPECT_EQ(first.fitted, second.fitted);
  EXPECT_EQ(first.texts, second.texts);
}

void expect_equal_folds(const Dataset& a, const Dataset& b) {
  expect_equal_training(a, b);
  EXPECT_EQ(a.fingerprint, b.fingerprint);
  ASSERT_EQ(a.naive_forecasts.size(), b.naive_forecasts.size());
  for (size_t i = 0; i < a.naive_forecasts.size(); ++i)
    EXPECT_TRUE(at::equal(a.naive_forecasts[i].values, b.naive_forecasts[i].values)) << a.naive_forecasts[i].name;
}

class FoldsOfSeries : public CsvData {
 protected:
  // Columns: a number with a hole, the target, a number that is known ahead, and a text. The values of the rows from
  // `changed` on are others, but not what is known ahead in the rows that are forecast.
  std::string rows_of(const std::string& name, int64_t count, int64_t changed) const {
    std::string text;
    for (int64_t row = 0; row < count; ++row) {
      const bool is_other = row >= changed;
      const int64_t a = is_other ? 900 - row : row * row % 17;
      text += fmt::format("{},2026-01-{:02},{},{},{},{}\n", name, row + 1, row == 2 ? "" : std::to_string(a),
                          is_other ? 5000 + 3 * row : 7 * row % 11, row % 3,
                          is_other  ? "new"
                          : row % 2 ? "x"
                                    : "y");
    }
    return text;
  }
  void write_series(int64_t changed) const { write("a.csv", kHeader + rows_of("s", 20, changed)); }
  Dataset load_fold(int64_t fold, const std::string& more = "") const {
    return load(fmt::format("{}folds: 3\nnum_valid: 4\nfold: {}\n{}", kColumns, fold, more));
  }

  const std::string kHeader = "shop,day,a,y,k,c\n";
  const std::string kColumns =
      "features: [a, y]\ntarget: [y]\nknown: [k]\ncategories: [c]\nmissing: mean\nwindow: 3\nseason: 2\n";
};

// Of 20 rows the folds validate the rows 8 to 11, 12 to 15 and 16 to 19.
TEST_F(FoldsOfSeries, TrainOnTheRowsBeforeTheirBlock) {
  write_series(20);
  for (const int64_t fold : {1, 2, 3}) {
    const Dataset data = load_fold(fold);
    EXPECT_EQ(data.train.size(), 8 + 4 * (fold - 1) - 3);
    EXPECT_EQ(data.valid.size(), 4);
  }
}

TEST_F(FoldsOfSeries, SeeNoLaterValue) {
  for (const char* more :
       {"", "target_as: change\n", "target_as: seasonal_change\n", "normalize: minmax\n", "gaps: split\n"})
    for (const int64_t fold : {1, 2}) {
      const int64_t end = 8 + 4 * fold;
      write_series(20);
      const Dataset before = load_fold(fold, more);
      write_series(end);
      expect_equal_folds(before, load_fold(fold, more));
    }
}

TEST_F(FoldsOfSeries, TrainWithoutTheValuesOfTheirBlock) {
  for (const char* more : {"", "target_as: change\n", "test_fraction: 0\n"})
    for (const int64_t fold : {1, 2, 3}) {
      write_series(20);
      const Dataset before = load_fold(fold, more);
      write_series(8 + 4 * (fold - 1));
      const Dataset after = load_fold(fold, more);
      expect_equal_training(before, after);
      EXPECT_FALSE(at::equal(before.valid.targets, after.valid.targets));
    }
}

TEST_F(FoldsOfSeries, SayHowManyRowsTheyNeed) {
  write("a.csv", kHeader + rows_of("s", 15, 15));
  for (const int64_t fold : {1, 2, 3})
    expect_golden(load_error(fmt::format("{}folds: 3\nnum_valid: 4\nfold: {}\n", kColumns, fold)));
  write("a.csv", kHeader + rows_of("s", 16, 16));
  EXPECT_EQ(load_fold(1).train.size(), 1);
  expect_golden(load_error(fmt::format("{}folds: 3\nnum_valid: 4\nnum_test: 2\nfold: 1\n", kColumns)));
}

class FoldsOfGroups : public FoldsOfSeries {
 protected:
  // The second series has the last 10 days alone.
  void write_groups(int64_t changed) const {
    write("a.csv", kHeader + rows_of("s", 20, changed) + rows_of("t", 10, std::max<int64_t>(changed - 10, 0)));
  }
  Dataset load_fold(int64_t fold) const { return FoldsOfSeries::load_fold(fold, "group: shop\n"); }
};

// The series t has 10 rows, of which the folds validate those from -2, 2 and 6 on: it is in the last fold only.
TEST_F(FoldsOfGroups, LeaveOutASeriesUntilItHasRowsBeforeItsBlock) {
  write_groups(20);
  EXPECT_EQ(load_fold(1).valid.size(), 4);
  EXPECT_EQ(load_fold(2).train.size(), 9);
  EXPECT_EQ(load_fold(2).valid.size(), 4);
  EXPECT_EQ(load_fold(3).valid.size(), 8);
  EXPECT_EQ(load_fold(3).train.size(), 13 + 3);
  expect_golden(load_fold(2).notes);
}

TEST_F(FoldsOfGroups, SeeNoLaterValueOfAnySeries) {
  for (const int64_t fold : {1, 2, 3}) {
    write_groups(20);
    const Dataset before = load_fold(fold);
    write_groups(8 + 4 * fold);
    expect_equal_folds(before, load_fold(fold));
    write_groups(8 + 4 * (fold - 1));
    expect_equal_training(before, load_fold(fold));
  }
}

TEST_F(FoldsOfGroups, NeedASeriesWithRowsForAllFolds) {
  write("a.csv", kHeader + rows_of("s", 15, 15) + rows_of("t", 9, 9));
  expect_golden(load_error(kColumns + "group: shop\nfolds: 3\nnum_valid: 4\nfold: 3\n"));
  expect_golden(load_error(kColumns + "group: shop\nfolds: 3\nvalid_fraction: 0.3\ntest_fraction: 0.1\nfold: 3\n"));
}

// ---- tables, arrays and sequences ----

class FoldsOfRows : public CsvData {
 protected:
  // Writes 12 rows of two numbers and a target; those in `changed` have others.
  void write_rows(const std::set<int64_t>& changed) const {
    std::string text = "a,b,y\n";
    for (int64_t row = 0; row < 12; ++row) {
      const int64_t other = changed.contains(row) ? 1000 * (row + 1) : 0;
      text += fmt::format("{},{},{}\n", row * row % 7 + other, row == 5 ? "" : std::to_string(3 * row + other),
                          row % 5 + other);
    }
    write("a.csv", text);
  }
  Dataset load_fold(int64_t fold, const std::string& more = "") const {
    return load(fmt::format("target: [y]\ntask: regression\nmissing: mean\nfolds: 3\nfold: {}\n{}", fold, more));
  }
};

TEST_F(FoldsOfRows, TrainWithoutTheRowsThatValidate) {
  for (const int64_t fold : {1, 2, 3}) {
    write_rows({});
    const Dataset before = load_fold(fold);
    EXPECT_EQ(before.valid.size(), 4);
    write_rows(validating(12, fold));
    const Dataset after = load_fold(fold);
    expect_equal_training(before, after);
    EXPECT_FALSE(at::equal(before.valid.inputs, after.valid.inputs));
  }
}

TEST_F(FoldsOfRows, SeeNoLaterRowOfAnOrderedSplit) {
  const std::string more = "split: ordered\nnum_valid: 2\n";
  for (const int64_t fold : {1, 2, 3}) {
    std::set<int64_t> block_and_later, later;
    for (int64_t row = 6 + 2 * (fold - 1); row < 12; ++row) block_and_later.insert(row);
    for (int64_t row = 6 + 2 * fold; row < 12; ++row) later.insert(row);
    write_rows({});
    const Dataset before = load_fold(fold, more);
    write_rows(later);
    expect_equal_folds(before, load_fold(fold, more));
    write_rows(block_and_later);
    expect_equal_training(before, load_fold(fold, more));
  }
}

// A sentence validates in one fold, with all of its rows.
TEST_F(FoldsOfRows, KeepWholeGroupsTogether) {
  std::string text = "sentence,word,y\n";
  for (int64_t row = 0; row < 24; ++row) text += fmt::format("{},{},{}\n", row / 4, row, row);
  write("a.csv", text);
  std::multiset<float> validated;
  for (const int64_t fold : {1, 2, 3}) {
    const Dataset data = load(fmt::format(
        "target: [y]\nfeatures: [word]\ntask: regression\nnormalize: none\ntarget_per: step\ngroup: sentence\nfolds: "
        "3\nfold: {}\n",
        fold));
    EXPECT_EQ(data.train.size(), 4);
    EXPECT_EQ(data.valid.size(), 2);
    std::set<int64_t> groups;
    for (const float word : values_of<float>(data.valid.targets)) {
      validated.insert(word);
      groups.insert(static_cast<int64_t>(word) / 4);
    }
    EXPECT_EQ(groups.size(), 2u);
  }
  EXPECT_EQ(validated.size(), 24u);
  EXPECT_EQ(std::set(validated.begin(), validated.end()).size(), 24u);
}

using FoldsOfArrays = DataTest;

TEST_F(FoldsOfArrays, TrainWithoutTheSamplesThatValidate) {
  const auto load = [&](int64_t fold, const std::set<int64_t>& changed) {
    std::vector<float> x, y;
    for (int64_t i = 0; i < 9; ++i) {
      const float other = changed.contains(i) ? 100 : 0;
      x.insert(x.end(), {static_cast<float>(i) + other, static_cast<float>(i * i) + other});
      y.push_back(static_cast<float>(i % 4) + other);
    }
    write_npy("x.npy", "<f4", "9, 2", x);
    write_npy("y.npy", "<f4", "9,", y);
    return load_dataset(parse_settings(
        fmt::format("source: npy\npath: {}\ntrain_inputs: x.npy\ntrain_targets: y.npy\nnormalize: standard\nfolds: "
                    "3\nfold: {}\n",
                    folder().string(), fold)));
  };
  for (const int64_t fold : {1, 2, 3}) {
    const Dataset before = load(fold, {});
    EXPECT_EQ(before.valid.size(), 3);
    expect_equal_training(before, load(fold, validating(9, fold)));
  }
}

// A model of a fold is evaluated on the part that validated, and on the test part, which no fold has.
TEST_F(FoldsOfSeries, HaveTheirPartsAgainWhenTheModelIsUsed) {
  write_series(20);
  const std::string more = kColumns + "folds: 3\nnum_valid: 4\nnum_test: 2\nfold: 1\n";
  const Dataset data = load(more);
  EXPECT_TRUE(at::equal(use(more, data, DataPart::kValid, Targets::kRequired).samples.inputs, data.valid.inputs));
  EXPECT_TRUE(at::equal(use(more, data, DataPart::kTrain, Targets::kRequired).samples.inputs, data.train.inputs));
  EXPECT_EQ(use(more, data, DataPart::kTest, Targets::kRequired).samples.size(), 2);
}

}  // namespace
}  // namespace rnnlab
