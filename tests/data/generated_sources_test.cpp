// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/bincount.h>

#include "base/expect_error.h"
#include "data/load_dataset.h"
#include "data_test.h"
#include "golden.h"

namespace rnnlab {
namespace {

Dataset load(const std::string& yaml) { return load_dataset(parse_settings(yaml)); }

TEST(LoadDigits, AreImagesByRows) {
  const Dataset data = load("num_train: 30\nnum_valid: 10");
  EXPECT_EQ(data.train.inputs.sizes(), at::IntArrayRef({30, 28, 28}));
  EXPECT_EQ(data.train.inputs.min().item<float>(), 0);
  EXPECT_GT(data.train.inputs.max().item<float>(), .5f);
  EXPECT_LE(data.train.inputs.max().item<float>(), 1);
  expect_golden(data.description);
}

TEST(LoadDigits, AreAPureFunctionOfTheSeed) {
  const std::string first = load("num_train: 20\nnum_valid: 10").fingerprint;
  EXPECT_EQ(load("num_train: 20\nnum_valid: 10").fingerprint, first);
  EXPECT_NE(load("num_train: 20\nnum_valid: 10\nseed: 2").fingerprint, first);
}

TEST(LoadDigits, DoNotChangeWithTheirNumber) {
  const Dataset few = load("num_train: 20\nnum_valid: 10");
  const Dataset more = load("num_train: 40\nnum_valid: 10");
  EXPECT_TRUE(more.train.inputs.narrow(0, 0, 20).equal(few.train.inputs));
  EXPECT_TRUE(more.valid.inputs.equal(few.valid.inputs));
}

TEST(LoadSynthetic, HasTheShapeAskedFor) {
  const Dataset data = load(
      "source: synthetic\nnum_train: 256\nnum_valid: 64\nsequence_length: 50\nnum_features: 500\nlabels: gaussian");
  EXPECT_EQ(data.train.inputs.sizes(), at::IntArrayRef({256, 50, 500}));
  EXPECT_EQ(data.train.targets.sizes(), at::IntArrayRef({256, 1}));
  EXPECT_EQ(data.valid.size(), 64);
  EXPECT_EQ(data.shape.task, Task::kRegression);
  EXPECT_NEAR(data.train.inputs.mean().item<double>(), 0, .01);
  EXPECT_NEAR(data.train.inputs.std().item<double>(), 1, .01);
  EXPECT_NEAR(data.train.targets.std().item<double>(), 1, .25);
}

TEST(LoadSynthetic, HasClassesOfLikeSizeInBothParts) {
  const Dataset data = load("source: synthetic\nnum_train: 2000\nnum_valid: 2000\nnum_classes: 4\nnum_features: 3");
  for (const Samples* part : {&data.train, &data.valid}) {
    const at::Tensor counts = part->targets.bincount();
    ASSERT_EQ(counts.numel(), 4);
    for (int64_t i = 0; i < 4; ++i) EXPECT_NEAR(static_cast<double>(counts[i].item<int64_t>()), 500, 100);
  }
  EXPECT_EQ(data.shape.num_outputs, 4);
}

TEST(LoadSynthetic, HasBinaryLabels) {
  const Dataset data = load("source: synthetic\nlabels: binary");
  EXPECT_EQ(data.shape.task, Task::kBinary);
  EXPECT_EQ(data.train.targets.sizes(), at::IntArrayRef({1024, 1}));
  EXPECT_THAT(values_of<float>(data.train.targets), ::testing::Each(::testing::AnyOf(0, 1)));
}

TEST(LoadSynthetic, ValidatesOnOtherNumbers) {
  const Dataset data = load("source: synthetic\nnum_train: 8\nnum_valid: 8");
  EXPECT_FALSE(data.train.inputs.equal(data.valid.inputs));
}

TEST(LoadGenerated, MakesNoValidationWhereNoneIsWanted) {
  for (const std::string source : {"digits", "synthetic"}) {
    const Dataset data = load("num_train: 4\nnum_valid: 0\nsource: " + source);
    EXPECT_EQ(data.train.size(), 4) << source;
    EXPECT_EQ(data.valid.size(), 0) << source;
  }
}

TEST(LoadSynthetic, RefusesMoreThanAnyMemoryHolds) {
  testing::expect_error(ExitCode::kUsage, [] {
    load("source: synthetic\nnum_train: 1000000000\nsequence_length: 1000000000\nnum_features: 1000000000");
  });
}

}  // namespace
}  // namespace rnnlab
