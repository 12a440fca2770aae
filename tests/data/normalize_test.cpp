// SPDX-License-Identifier: Apache-2.0
#include "data/normalize.h"

#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "data_test.h"
#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;

// Two samples of two steps and two features, the second feature constant.
Samples small() {
  return {at::tensor({0.f, 7.f, 10.f, 7.f, 20.f, 7.f, 30.f, 7.f}).view({2, 2, 2}), at::zeros({2}), {}};
}
Samples outlier() { return {at::tensor({60.f, 7.f, 0.f, 8.f}).view({1, 2, 2}), at::zeros({1}), {}}; }

TEST(Normalize, ScalesEachFeatureToTheTrainingPartsRange) {
  Samples train = small();
  Samples valid = outlier();
  expect_golden(normalize(train, valid, Normalization::kMinMax).note);
  EXPECT_THAT(values_of<float>(train.inputs), ElementsAre(0, 0, 1.f / 3, 0, 2.f / 3, 0, 1, 0));
  EXPECT_THAT(values_of<float>(valid.inputs), ElementsAre(2, 0, 0, 1));  // nothing of it had a say
}

TEST(Normalize, ScalesEachFeatureToTheTrainingPartsMeanAndDeviation) {
  Samples train = small();
  Samples valid = outlier();
  normalize(train, valid, Normalization::kStandard);
  const float deviation = std::sqrt(125.f);  // of 0, 10, 20, 30 around 15
  EXPECT_THAT(values_of<float>(train.inputs),
              ::testing::Pointwise(::testing::FloatEq(), {-15 / deviation, 0.f, -5 / deviation, 0.f, 5 / deviation, 0.f,
                                                          15 / deviation, 0.f}));
  EXPECT_FLOAT_EQ(valid.inputs[0][0][0].item<float>(), 45 / deviation);
}

TEST(Normalize, DividesBytesBy255) {
  Samples train{at::tensor({0.f, 51.f, 255.f}).view({1, 3, 1}), at::zeros({1}), {}};
  Samples valid = train;
  valid.inputs = valid.inputs.clone();
  normalize(train, valid, Normalization::kUnit);
  EXPECT_THAT(values_of<float>(train.inputs), ElementsAre(0, 51.f / 255, 1));
  EXPECT_TRUE(valid.inputs.equal(train.inputs));
}

TEST(Normalize, ScalesEachColumnOfEachImage) {
  Samples train = small();
  Samples valid = outlier();
  normalize(train, valid, Normalization::kColumnMinMax);
  EXPECT_THAT(values_of<float>(train.inputs), ElementsAre(0, 0, 1, 0, 0, 0, 1, 0));
  EXPECT_THAT(values_of<float>(valid.inputs), ElementsAre(1, 0, 0, 1));
}

TEST(Normalize, LeavesWhatLiesBeyondALengthAlone) {
  Samples train{at::tensor({1.f, 3.f, 100.f, 5.f, 100.f, 100.f}).view({2, 3, 1}), at::zeros({2}),
                at::tensor({2, 1}, at::kLong)};
  Samples valid{at::tensor({5.f, 100.f, 100.f}).view({1, 3, 1}), at::zeros({1}), at::tensor({1}, at::kLong)};
  normalize(train, valid, Normalization::kMinMax);
  EXPECT_THAT(values_of<float>(train.inputs), ElementsAre(0, .5f, 100, 1, 100, 100));
  EXPECT_THAT(values_of<float>(valid.inputs), ElementsAre(1, 100, 100));
}

TEST(Normalize, TakesAConstantThatIsNotExactInBinaryForConstant) {
  const std::vector<double> constant(1000, 0.1);
  EXPECT_EQ(fit(constant, Normalization::kStandard).scale, 1);
  EXPECT_EQ(fit(constant, Normalization::kMinMax).scale, 1);
}

TEST(Normalize, KeepsItsPrecisionFarFromZero) {
  const Scaling scaling = fit(std::vector<double>{1e9, 1e9 + 1, 1e9 + 2}, Normalization::kStandard);
  EXPECT_DOUBLE_EQ(scaling.offset, 1e9 + 1);
  EXPECT_DOUBLE_EQ(scaling.scale, std::sqrt(2.0 / 3.0));
}

}  // namespace
}  // namespace rnnlab
