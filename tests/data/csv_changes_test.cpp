// SPDX-License-Identifier: Apache-2.0
// Tests targets that are changes from the last value of a window: data.target_as: change.
#include "csv_data.h"
#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

class Changes : public CsvData {
 protected:
  Changes() : CsvData("target: [y]\nwindow: 2\ntarget_as: change\n") {}

  static std::vector<double> whole_values(const at::Tensor& values, const Samples& samples, const FittedData& data) {
    return values_of<double>(in_units_of_targets(values, data, samples).contiguous());
  }
};

TEST_F(Changes, AreWhatTargetsHaveMoreThanTheLastValue) {
  write("a.csv", "y\n1\n2\n4\n8\n16\n");
  const Dataset data = load("horizon: [1, 2]\nnormalize: none\nnum_valid: 0\n");
  EXPECT_THAT(values_of<float>(data.train.targets), ElementsAre(2, 6, 4, 12));
  EXPECT_THAT(values_of<double>(data.train.target_bases), ElementsAre(2, 2, 4, 4));
  EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(1, 2, 2, 4));
}

TEST_F(Changes, HaveAScaleForEachHorizonOfTheTrainingPart) {
  write("a.csv", "y\n0\n1\n2\n4\n6\n7\n50\n-90\n");
  const Dataset data = load("horizon: [1, 2]\nnormalize: minmax\nnum_valid: 1\nnum_train: 2\n");
  ASSERT_EQ(data.target_scales.size(), 2u);
  EXPECT_EQ(data.target_scales[0].offset, 1);  // the changes of the training part are 1 and 2, then 3 and 4
  EXPECT_EQ(data.target_scales[0].scale, 1);
  EXPECT_EQ(data.target_scales[1].offset, 3);
  EXPECT_EQ(data.target_scales[1].scale, 1);
  EXPECT_THAT(values_of<float>(data.train.targets), ElementsAre(0, 0, 1, 1));
}

TEST_F(Changes, AreWholeValuesAgainInTheUnitsOfTheTargets) {
  write("a.csv", "y\n3\n1\n4\n1\n5\n9\n2\n6\n5\n3\n");
  const Dataset data = load("horizon: 2\nnum_valid: 2\n");
  EXPECT_THAT(whole_values(data.valid.targets, data.valid, data), Pointwise(DoubleNear(1e-6), {5., 3.}));
  ASSERT_EQ(data.naive_forecasts.size(), 1u);
  EXPECT_THAT(whole_values(data.naive_forecasts[0].values, data.valid, data), Pointwise(DoubleNear(1e-6), {2., 6.}));
}

TEST_F(Changes, OfASeasonAreWholeValuesToo) {
  write("a.csv", "y\n3\n1\n4\n1\n5\n9\n2\n6\n5\n3\n");
  const Dataset data = load("season: 3\nnum_valid: 2\n");
  ASSERT_EQ(data.naive_forecasts.size(), 2u);
  EXPECT_THAT(whole_values(data.naive_forecasts[1].values, data.valid, data), Pointwise(DoubleNear(1e-6), {9., 2.}));
}

TEST_F(Changes, MayBeFromTheValueOneSeasonBefore) {
  write("a.csv", "y\n1\n2\n3\n11\n13\n15\n24\n27\n30\n");
  const std::string keys =
      "target: [y]\nwindow: 3\nseason: 3\ntarget_as: seasonal_change\nhorizon: [1, 4]\nnormalize: none\nnum_valid: 0\n";
  const Dataset data = load_dataset(table(keys));
  EXPECT_THAT(values_of<double>(data.train.target_bases), ElementsAre(1, 1, 2, 2, 3, 3));
  EXPECT_THAT(values_of<float>(data.train.targets), ElementsAre(10, 23, 11, 25, 12, 27));
  const InferenceData used = load_for_inference(table(keys), data, DataPart::kAll, Targets::kIfPresent);
  EXPECT_THAT(values_of<double>(used.samples.target_bases[6]), ElementsAre(24, 24));  // after the end
  expect_golden(
      error_of(ExitCode::kUsage, [&] { table("target: [y]\nwindow: 3\nseason: 4\ntarget_as: seasonal_change\n"); }));
}

TEST_F(Changes, CountFromTheLatestKnownValue) {
  write("a.csv", "x,y\n1,10\n2,20\n3,\n4,40\n5,50\n");
  const Dataset data = load("features: [x]\nnormalize: none\nmissing: drop\nnum_valid: 0\n");
  EXPECT_THAT(values_of<double>(data.train.target_bases), ElementsAre(20, 40));
  EXPECT_THAT(values_of<float>(data.train.targets), ElementsAre(20, 10));
}

TEST_F(Changes, AreAddedToTheLastValueAfterTheEnd) {
  write("a.csv", "y\n1\n2\n4\n8\n16\n");
  const Dataset data = load("normalize: none\nnum_valid: 0\n");
  const InferenceData used = use("", data);
  ASSERT_EQ(used.samples.size(), 4);
  EXPECT_THAT(values_of<double>(used.samples.target_bases), ElementsAre(2, 4, 8, 16));
}

TEST_F(Changes, NeedTheValuesBefore) {
  write("a.csv", "x,y\n1,1\n2,2\n3,4\n4,8\n5,16\n");
  const Dataset data = load("features: [x]\nnum_valid: 0\n");
  write("a.csv", "x\n1\n2\n3\n");
  expect_golden(error_of(ExitCode::kData, [&] { use("features: [x]\n", data); }));
}

TEST_F(Changes, AreRefusedWhereNothingChanges) {
  for (const char* keys : {"target: [y]\n", "target: [y]\nwindow: 2\ntask: classification\n",
                           "target: [y]\nwindow: 2\ntarget_per: step\n"})
    expect_golden(error_of(ExitCode::kUsage, [&] { table(std::string(keys) + "target_as: change\n"); }));
}

}  // namespace
}  // namespace rnnlab
