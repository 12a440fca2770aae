// SPDX-License-Identifier: Apache-2.0
// Tests scales of a series' or a window's own: data.scale_by.
#include <fmt/format.h>

#include <cmath>

#include "csv_data.h"
#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;

class Scales : public CsvData {
 protected:
  Scales() : CsvData("features: [x]\ntarget: [x]\nwindow: 2\n") {}

  static std::vector<double> whole_values(const at::Tensor& values, const Samples& samples, const FittedData& data) {
    return values_of<double>(in_units_of_targets(values, data, samples).contiguous());
  }

  // Two series of which one is a thousand times the other. The last of six rows of each is the validation part.
  void write_shops(double last = 6) const {
    std::string text = "shop,x\n";
    for (const auto& [shop, factor] : {std::pair("a", 1.0), {"b", 1000.0}})
      for (const double value : {1., 4., 2., 5., 3., last}) text += fmt::format("{},{}\n", shop, factor * value);
    write("a.csv", text);
  }
};

constexpr const char* kBySeries = "group: shop\nvalid_fraction: 0.2\nscale_by: series\n";

TEST_F(Scales, OfASeriesMakeSeriesOfDifferentSizesAlike) {
  write_shops();
  const Dataset data = load(kBySeries);
  const int64_t half = data.train.size() / 2;
  EXPECT_THAT(values_of<float>(data.train.inputs.narrow(0, 0, half)),
              Pointwise(FloatNear(1e-6F), values_of<float>(data.train.inputs.narrow(0, half, half))));
  EXPECT_THAT(values_of<float>(data.train.targets.narrow(0, 0, half)),
              Pointwise(FloatNear(1e-6F), values_of<float>(data.train.targets.narrow(0, half, half))));
  ASSERT_EQ(data.series_scales.size(), 3u);
  EXPECT_EQ(data.series_scales[0].name, "");
  EXPECT_EQ(data.series_scales[2].name, "b");
  EXPECT_EQ(data.series_scales[2].targets.at(0).offset, 3000);
  EXPECT_NEAR(data.series_scales[1].features.at(0).scale, std::sqrt(2.), 1e-12);
  EXPECT_THAT(whole_values(data.valid.targets, data.valid, data), Pointwise(DoubleNear(1e-3), {6., 6000.}));
  EXPECT_THAT(whole_values(data.naive_forecasts.at(0).values, data.valid, data),
              Pointwise(DoubleNear(1e-3), {3., 3000.}));
}

TEST_F(Scales, OfASeriesAreThoseOfItsTrainingPart) {
  write_shops();
  const Dataset data = load(kBySeries);
  write_shops(-1e6);
  const Dataset other = load(kBySeries);
  EXPECT_TRUE(data.train.inputs.equal(other.train.inputs));
  EXPECT_TRUE(data.train.targets.equal(other.train.targets));
  EXPECT_TRUE(data.valid.inputs.equal(other.valid.inputs));
}

TEST_F(Scales, OfASeriesAreKeptAndUnknownSeriesHaveThatOfTheWhole) {
  write_shops();
  const Dataset data = load(kBySeries);
  write("a.csv", "shop,x\nb,1000\nb,4000\nb,2000\nc,1\nc,2\nc,3\n");
  const InferenceData used = use(kBySeries, data);
  EXPECT_EQ(used.samples.target_units.size(0), 4);
  EXPECT_EQ(used.samples.target_units[0].item<double>(), data.series_scales[2].targets[0].scale);
  EXPECT_EQ(used.samples.target_units[2].item<double>(), data.series_scales[0].targets[0].scale);
  expect_golden(used.notes);
}

TEST_F(Scales, OfAWindowAreThoseOfItsOwnValues) {
  write("a.csv", "x\n1\n3\n7\n5\n9\n9\n8\n");
  const Dataset data = load("num_valid: 0\nscale_by: window\n");
  EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(-1, 1, -1, 1, 1, -1, -1, 1, 0, 0));
  EXPECT_THAT(values_of<double>(data.train.target_bases), ElementsAre(2, 5, 6, 7, 9));
  const auto units = values_of<double>(data.train.target_units);
  EXPECT_THAT(std::vector(units.begin(), units.end() - 1), ElementsAre(1, 2, 1, 2));
  EXPECT_EQ(units.back(), data.series_scales.at(0).targets.at(0).scale) << "the values of the window are equal";
  EXPECT_THAT(whole_values(data.train.targets, data.train, data), Pointwise(DoubleNear(1e-5), {7., 5., 9., 9., 8.}));
}

// The target of the first window changes, and the row is not one of its window.
TEST_F(Scales, OfAWindowReadNoTarget) {
  const std::string keys = "num_valid: 1\nnum_train: 1\nscale_by: window\nhorizon: [1, 2]\nnormalize: minmax\n";
  write("a.csv", "x\n1\n3\n7\n5\n4\n6\n");
  const Dataset data = load(keys);
  write("a.csv", "x\n1\n3\n7\n5\n4\n-1e9\n");
  const Dataset other = load(keys);
  EXPECT_TRUE(data.valid.inputs.equal(other.valid.inputs));
  EXPECT_TRUE(data.valid.target_bases.equal(other.valid.target_bases));
  EXPECT_TRUE(data.valid.target_units.equal(other.valid.target_units));
  EXPECT_TRUE(data.train.targets.equal(other.train.targets));
}

TEST_F(Scales, WorkWithChanges) {
  write("a.csv", "x\n1\n3\n7\n5\n9\n12\n8\n");
  const std::string keys = "num_valid: 0\nscale_by: window\ntarget_as: change\n";
  const Dataset data = load(keys);
  EXPECT_THAT(values_of<double>(data.train.target_bases), ElementsAre(3, 7, 5, 9, 12));
  EXPECT_THAT(values_of<double>(data.train.target_units), ElementsAre(1, 2, 1, 2, 1.5));
  EXPECT_THAT(whole_values(data.train.targets, data.train, data), Pointwise(DoubleNear(1e-5), {7., 5., 9., 12., 8.}));
  const InferenceData used = use(keys, data);
  EXPECT_EQ(used.samples.size(), 6);
  EXPECT_TRUE(used.samples.inputs.narrow(0, 0, 5).equal(data.train.inputs));
}

TEST_F(Scales, AreThoseOfTheFileForWhatIsKnownAhead) {
  write("a.csv", "x,p\n1,0\n3,0\n7,1\n5,0\n9,1\n");
  const Dataset data = load("known: [p]\nnum_valid: 0\nscale_by: window\nnormalize: minmax\n");
  EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(0, 0, 0, 1, 0, 1, 0, 0, 1, 1, 1, 0, 1, 1, 0, 0, 0, 1));
}

TEST_F(Scales, AreRefusedWhereNothingIsScaled) {
  for (const char* keys : {"scale_by: series\n", "scale_by: window\nnormalize: none\n"})
    expect_golden(usage_error(keys));
  expect_golden(error_of(ExitCode::kUsage, [&] { table("target: [x]\nscale_by: window\n"); }));
}

TEST_F(Scales, OfAWindowNeedTheTargetsBefore) {
  write("a.csv", "x,y\n1,1\n2,2\n3,4\n4,8\n5,16\n");
  const std::string keys = "features: [x]\ntarget: [y]\nwindow: 2\nscale_by: window\nnum_valid: 0\n";
  const Dataset data = load_dataset(table(keys));
  write("a.csv", "x\n1\n2\n3\n");
  expect_golden(
      error_of(ExitCode::kData, [&] { load_for_inference(table(keys), data, DataPart::kAll, Targets::kIfPresent); }));
}

}  // namespace
}  // namespace rnnlab
