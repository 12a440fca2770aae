// SPDX-License-Identifier: Apache-2.0
#include "data/split.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/expect_error.h"
#include "data/load_dataset.h"
#include "data/windows.h"
#include "data_test.h"
#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<int64_t> repeated(const std::vector<int64_t>& counts) {
  std::vector<int64_t> classes;
  int64_t next_class = 0;
  for (const int64_t count : counts) classes.insert(classes.end(), static_cast<size_t>(count), next_class++);
  return classes;
}

RowSplit stratified(const std::vector<int64_t>& classes, std::optional<int64_t> num_valid, int64_t num_test = 0,
                    int64_t seed = 1) {
  const SplitRequest request{
      .how = Split::kRandom, .num_valid = num_valid, .seed = seed, .num_test = num_test, .is_stratified = true};
  return split_rows(std::ssize(classes), request, "data", classes);
}

std::vector<int64_t> counts_in(const std::vector<int64_t>& rows, const std::vector<int64_t>& classes) {
  std::vector<int64_t> counts(static_cast<size_t>(std::ranges::max(classes) + 1));
  for (const int64_t row : rows) ++counts[static_cast<size_t>(classes[static_cast<size_t>(row)])];
  return counts;
}

TEST(StratifiedSplit, GivesEachPartTheSharesOfTheClasses) {
  const std::vector<int64_t> classes = repeated({60, 30, 10});
  for (const int64_t seed : {1, 2, 3}) {
    const RowSplit split = stratified(classes, 20, 10, seed);
    EXPECT_THAT(counts_in(split.train, classes), ElementsAre(42, 21, 7)) << seed;
    EXPECT_THAT(counts_in(split.valid, classes), ElementsAre(12, 6, 2)) << seed;
    EXPECT_THAT(counts_in(split.test, classes), ElementsAre(6, 3, 1)) << seed;
  }
  EXPECT_EQ(stratified(classes, 20).valid, stratified(classes, 20).valid);
  EXPECT_NE(stratified(classes, 20, 0, 1).valid, stratified(classes, 20, 0, 2).valid);
}

TEST(StratifiedSplit, HasEachRowInOnePart) {
  const std::vector<int64_t> classes = repeated({5, 1, 7, 3, 1});
  const RowSplit split = stratified(classes, 4, 3);
  std::vector<int64_t> all = split.train;
  for (const auto* part : {&split.valid, &split.test}) all.insert(all.end(), part->begin(), part->end());
  std::ranges::sort(all);
  std::vector<int64_t> rows(classes.size());
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int64_t>(i);
  EXPECT_EQ(all, rows);
  EXPECT_EQ(split.valid.size(), 4u);
  EXPECT_EQ(split.test.size(), 3u);
}

// 10 classes of 5 rows: 5 rows validate, each of a different class.
TEST(StratifiedSplit, TakesRemaindersOfDifferentClasses) {
  const std::vector<int64_t> classes = repeated(std::vector<int64_t>(10, 5));
  const RowSplit split = stratified(classes, std::nullopt);
  EXPECT_EQ(split.valid.size(), 5u);
  EXPECT_EQ(std::ranges::max(counts_in(split.valid, classes)), 1);
  EXPECT_EQ(std::ranges::min(counts_in(split.train, classes)), 4);
}

TEST(StratifiedSplit, KeepsARowOfEachClassForTraining) {
  for (const int64_t seed : {1, 2, 3, 4, 5}) {
    const std::vector<int64_t> classes = repeated({20, 1, 1, 2});
    EXPECT_THAT(counts_in(stratified(classes, 6, 6, seed).train, classes), Not(Contains(0))) << seed;
  }
  EXPECT_EQ(stratified({0, 1, 2, 3}, 2).train.size(), 2u) << "there are not enough rows for it";
}

TEST(StratifiedSplit, IsThePlainSplitOfASingleClass) {
  const SplitRequest request{.how = Split::kRandom, .num_valid = 3, .num_test = 2, .is_stratified = true};
  const std::vector<int64_t> classes(10, 0);
  EXPECT_EQ(split_rows(10, request, "data", classes).valid, split_rows(10, request, "data").valid);
}

TEST(Split, TakesTheTestPartByFraction) {
  const SplitRequest request{
      .how = Split::kOrdered, .num_valid = std::nullopt, .valid_fraction = 0.25, .test_fraction = 0.2};
  const RowSplit split = split_rows(10, request, "data");
  EXPECT_THAT(split.train, ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(split.valid, ElementsAre(6, 7)) << "a quarter of the other 8";
  EXPECT_THAT(split.test, ElementsAre(8, 9));
}

TEST(ClassCounts, AreListedForFewClassesAndARangeForMany) {
  expect_golden(text_of({{"training", {8, 9}}, {"validation", {1, 2}}}, {"lily", "rose"}));
  expect_golden(
      text_of({{"training", std::vector<int64_t>(12, 4)}, {"validation", {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0}}}, {}));
}

TEST(ClassCounts, TellOfClassesThatAPartLacks) {
  EXPECT_THAT(notes_on_lacking_classes({{"training", {8, 9}}, {"validation", {1, 2}}}, {}), IsEmpty());
  expect_golden(notes_on_lacking_classes({{"training", {8, 0}}, {"validation", {0, 1}}}, {"a", "b"}));
  expect_golden(notes_on_lacking_classes({{"training", {8, 0}}}, {}));
}

// ---- sources ----

class StratifiedSources : public DataTest {
 protected:
  Dataset load(const std::string& yaml) const {
    return load_dataset(parse_settings(fmt::format(fmt::runtime(yaml), folder().string())));
  }

  static std::vector<int64_t> counts_of(const at::Tensor& classes) {
    const std::vector<int64_t> values = values_of<int64_t>(classes);
    return count_classes("", values, std::ranges::max(values) + 1).counts;
  }
};

constexpr int kNumRows = 60;

TEST_F(StratifiedSources, AreCsvTables) {
  std::string text = "x,kind\n";
  for (int i = 0; i < kNumRows; ++i) text += fmt::format("{},{}\n", i, i < 40 ? "rose" : "lily");
  write("a.csv", text);
  const std::string yaml =
      "source: csv\npath: {}/a.csv\nfeatures: [x]\ntarget: [kind]\nnum_valid: 12\nnum_test: 6\nnormalize: none\n";
  const Dataset data = load(yaml);
  EXPECT_THAT(counts_of(data.valid.targets), ElementsAre(4, 8));
  EXPECT_THAT(counts_of(data.train.targets), ElementsAre(14, 28));
  expect_golden(data.notes);
  const DataSettings settings = parse_settings(fmt::format(fmt::runtime(yaml), folder().string()));
  const InferenceData test = load_for_inference(settings, data, DataPart::kTest, Targets::kRequired);
  EXPECT_THAT(counts_of(test.samples.targets), ElementsAre(2, 4));
  EXPECT_EQ(values_of<float>(load_for_inference(settings, data, DataPart::kValid, Targets::kRequired).samples.inputs),
            values_of<float>(data.valid.inputs));
}

// The class 'c' is only in the test part of the series.
TEST_F(StratifiedSources, AreNotSeriesWhoseTestPartIsCountedToo) {
  write("a.csv", "x,kind\n1,a\n2,b\n3,a\n4,b\n5,a\n6,b\n7,a\n8,b\n9,c\n10,c\n11,c\n");
  const std::string csv =
      "source: csv\npath: {}/a.csv\nfeatures: [x]\ntarget: [kind]\ntask: classification\nwindow: 2\nnum_valid: 2\n";
  EXPECT_THAT(load(csv + "num_test: 3\n").notes, Contains(HasSubstr("class 'c', which has 3 samples")));
  EXPECT_THAT(load(csv + "num_test: 1\ninputs_from: part\n").notes,
              Contains(HasSubstr("class 'c', which has 1 sample")));
}

TEST_F(StratifiedSources, AreBinaryTargets) {
  std::string text = "x,y\n";
  for (int i = 0; i < kNumRows; ++i) text += fmt::format("{},{}\n", i, i < 45 ? 0 : 1);
  write("a.csv", text);
  const Dataset data = load("source: csv\npath: {}/a.csv\nfeatures: [x]\ntarget: [y]\ntask: binary\nnum_valid: 12\n");
  EXPECT_EQ(data.valid.targets.sum().item<float>(), 3);
  expect_golden(data.notes);
}

TEST_F(StratifiedSources, AreArrays) {
  std::vector<float> inputs(kNumRows);
  std::vector<int64_t> classes;
  for (int64_t i = 0; i < kNumRows; ++i) classes.push_back(i % 3 == 0 ? 1 : 0);
  write_npy("x.npy", "<f4", "60, 1", inputs);
  write_npy("y.npy", "<i8", "60,", classes);
  const Dataset data =
      load("source: npy\npath: {}\ntrain_inputs: x.npy\ntrain_targets: y.npy\nnum_valid: 6\ntest_fraction: 0.1\n");
  EXPECT_THAT(counts_of(data.valid.targets), ElementsAre(4, 2));
  EXPECT_THAT(counts_of(data.train.targets), ElementsAre(32, 16));
  EXPECT_THAT(data.notes, Contains(HasSubstr("'0' 32 + 4 + 4, '1' 16 + 2 + 2")));
}

TEST_F(StratifiedSources, AreSeriesOfTs) {
  std::string text = "@univariate true\n@classLabel true a b\n@data\n";
  for (int i = 0; i < 20; ++i) text += fmt::format("{},2:{}\n", i, i < 10 ? "a" : "b");
  write("a.ts", text);
  const Dataset data = load("source: ts\npath: {}/a.ts\nnum_valid: 4\n");
  EXPECT_THAT(counts_of(data.valid.targets), ElementsAre(2, 2));
}

// A trained model may be used with another file for validation, although its run is stratified.
TEST_F(StratifiedSources, AreNotThoseWithAFileForValidation) {
  write("a.csv", "x,kind\n1,a\n2,b\n3,a\n4,b\n");
  write("b.csv", "x,kind\n1,a\n2,b\n");
  const std::string csv = "source: csv\npath: {}\ntrain_file: a.csv\ntarget: [kind]\nstratify: true\n";
  const std::string files = csv + "valid_file: b.csv\n";
  expect_golden(error_of(ExitCode::kUsage, [&] { load(files); }));
  const Dataset data = load(csv + "num_valid: 2\n");
  const DataSettings other = parse_settings(fmt::format(fmt::runtime(files), folder().string()));
  EXPECT_EQ(load_for_inference(other, data, DataPart::kValid, Targets::kRequired).samples.size(), 2);
}

TEST_F(StratifiedSources, AreSplitWithoutClassesIfThatIsWanted) {
  std::string text = "x,kind\n";
  for (int i = 0; i < kNumRows; ++i) text += fmt::format("{},{}\n", i, i < 40 ? "rose" : "lily");
  write("a.csv", text);
  const std::string csv =
      "source: csv\npath: {}/a.csv\nfeatures: [x]\ntarget: [kind]\nnum_valid: 12\nnormalize: none\n";
  const std::vector<float> plain = values_of<float>(load(csv + "stratify: false\n").valid.inputs);
  const SplitRequest request{.how = Split::kRandom, .num_valid = 12};
  EXPECT_EQ(std::vector<int64_t>(plain.begin(), plain.end()), split_rows(kNumRows, request, "").valid);
}

TEST(StratifyKey, IsForRandomSplitsOfClasses) {
  const auto parse = [](const std::string& more) {
    parse_settings("source: csv\npath: a.csv\nstratify: true\n" + more);
  };
  for (const char* more : {"target: [x]\n", "target: [x]\ntask: binary\n"}) EXPECT_NO_THROW(parse(more));
  for (const char* more : {"target: [x]\nsplit: ordered\n", "target: [x]\ntask: regression\n",
                           "target: [x, y]\ntask: binary\n", "target: [x]\ntarget_per: step\ngroup: g\n"})
    testing::expect_error(ExitCode::kUsage, [&] { parse(more); });
}

// Runs of versions without the keys keep their split.
TEST(ChooseSplit, RecordsWhatAVersionDoes) {
  DataSettings rows = parse_settings("source: csv\npath: a.csv\ntarget: [x]\n"), before = rows;
  choose_split(rows);
  choose_split_of_earlier_versions(before);
  EXPECT_EQ(rows.stratify, true);
  EXPECT_EQ(before.stratify, false);
  EXPECT_FALSE(rows.inputs_from || before.inputs_from) << "nothing has a window";
  DataSettings series = parse_settings("source: csv\npath: a.csv\ntarget: [x]\nwindow: 3\n");
  before = series;
  choose_split(series);
  choose_split_of_earlier_versions(before);
  EXPECT_EQ(series.inputs_from, InputsFrom::kSeries);
  EXPECT_EQ(before.inputs_from, InputsFrom::kPart);
  EXPECT_FALSE(series.stratify || before.stratify) << "a series is split in order";
  DataSettings chosen = rows;
  choose_split_of_earlier_versions(chosen);
  EXPECT_EQ(chosen.stratify, true) << "what a run records stays";
  DataSettings digits;
  choose_split(digits);
  EXPECT_FALSE(digits.stratify || digits.inputs_from);
}

}  // namespace
}  // namespace rnnlab
