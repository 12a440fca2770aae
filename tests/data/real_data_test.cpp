// SPDX-License-Identifier: Apache-2.0
// Tests the real MNIST and Tiny Shakespeare, if $RNNLAB_DATA has them.
#include <ATen/ops/bincount.h>

#include "data/load_dataset.h"
#include "data_test.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;

class RealData : public DataTest {
 protected:
  void SetUp() override {
    if (real_data().empty()) GTEST_SKIP() << "needs the real data in $RNNLAB_DATA";
    setenv("RNNLAB_DATA", real_data().c_str(), 1);
  }
};

TEST_F(RealData, MnistIsWhatItIsKnownToBe) {
  const Dataset data = load_dataset(parse_settings("source: mnist"));
  EXPECT_EQ(data.train.inputs.sizes(), at::IntArrayRef({60000, 28, 28}));
  EXPECT_EQ(data.valid.inputs.sizes(), at::IntArrayRef({10000, 28, 28}));
  EXPECT_NEAR(data.train.inputs.mean().item<double>(), 0.1307, 0.0001);
  EXPECT_NEAR(data.train.inputs.std().item<double>(), 0.3081, 0.0001);
  EXPECT_THAT(values_of<int64_t>(data.train.targets.bincount()),
              ElementsAre(5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949));
}

TEST_F(RealData, MnistIsScaledByTheColumnsOfEachImage) {
  const Dataset data = load_dataset(parse_settings("source: mnist\nnum_train: 500\nnormalize: column_minmax"));
  const at::Tensor greatest = data.train.inputs.amax(1);  // of each image's columns: 1, or 0 where a column is empty
  EXPECT_TRUE(greatest.eq(1).logical_or(greatest.eq(0)).all().item<bool>());
  EXPECT_EQ(data.train.inputs.min().item<float>(), 0);
}

TEST_F(RealData, TinyShakespeareHas65Characters) {
  const Dataset data = load_dataset(parse_settings("source: text\nsequence_length: 100"));
  EXPECT_EQ(data.shape.num_outputs, 65);
  EXPECT_EQ(data.train.size() + data.valid.size(), (1115394 - 1) / 100);
  EXPECT_EQ(data.valid.size(), 1115);
  std::string begin;
  for (int64_t t = 0; t < 14; ++t) {
    begin += data.vocabulary[static_cast<size_t>(data.train.inputs[0][t].item<int64_t>())];
  }
  EXPECT_EQ(begin, "First Citizen:");
}

}  // namespace
}  // namespace rnnlab
