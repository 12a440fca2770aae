#include "training/step_end.h"

#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <torch/cuda.h>

#include <cmath>
#include <limits>

namespace rnnlab {
namespace {

using ::testing::ElementsAre;

std::vector<at::Device> devices() {
  std::vector<at::Device> all = {at::Device(at::kCPU)};
  if (torch::cuda::is_available()) all.emplace_back(at::kCUDA, 0);
  return all;
}

struct Ended {
  std::vector<float> row;
  float found_inf = 0;
  float clip_scale = 0;
};

// Of gradients with norms of 5 and `norm`.
Ended end_with(at::Device device, float loss, float norm, const at::Tensor& skipped = {}, float found_inf = 0) {
  const auto scalar = [&](float value) {
    return at::scalar_tensor(value, at::TensorOptions().dtype(at::kFloat).device(device));
  };
  const std::vector<at::Tensor> gradients = {at::tensor({3.0F, -4.0F}).to(device), at::tensor({norm}).to(device)};
  at::Tensor flag = scalar(found_inf);
  const auto end = end_of_step(gradients, {scalar(loss), scalar(0.25F), scalar(7.0F), 10},
                               skipped.defined() ? skipped.to(device) : skipped, flag, /*max_norm=*/6.5);
  EXPECT_EQ(end.step.count, 10);
  const at::Tensor row = end.step.row.cpu();
  return {{row.const_data_ptr<float>(), row.const_data_ptr<float>() + row.numel()},
          flag.item<float>(),
          end.clip_scale.item<float>()};
}

TEST(EndOfStep, TellsItsNumbersAndByHowMuchToClip) {
  for (const at::Device device : devices()) {
    const Ended end = end_with(device, 0.5F, 12.0F);
    EXPECT_THAT(end.row, ElementsAre(0.5F, 0.25F, 7.0F, 0.0F, 5.0F, 12.0F)) << device;
    EXPECT_EQ(end.found_inf, 0.0F) << device;
    EXPECT_FLOAT_EQ(end.clip_scale, 0.5F) << device;
    EXPECT_EQ(end_with(device, 0.5F, 1.0F).clip_scale, 1.0F) << device;
  }
}

TEST(EndOfStep, RaisesItsFlagForALossOrANormThatIsNotFiniteAndNeverLowersIt) {
  for (const at::Device device : devices()) {
    EXPECT_EQ(end_with(device, NAN, 12.0F).found_inf, 1.0F) << device;
    EXPECT_EQ(end_with(device, 0.5F, std::numeric_limits<float>::infinity()).found_inf, 1.0F) << device;
    EXPECT_EQ(end_with(device, 0.5F, 12.0F, {}, /*found_inf=*/1.0F).found_inf, 1.0F) << device;
  }
}

TEST(EndOfStep, CountsNoNormsOfASkippedStep) {
  for (const at::Device device : devices()) {
    const Ended end = end_with(device, 0.5F, NAN, at::scalar_tensor(1.0F));
    EXPECT_THAT(end.row, ElementsAre(0.5F, 0.25F, 7.0F, 1.0F, 0.0F, 0.0F)) << device;
    EXPECT_EQ(end.found_inf, 0.0F) << device;
    EXPECT_THAT(end_with(device, 0.5F, 12.0F, at::scalar_tensor(0.0F)).row,
                ElementsAre(0.5F, 0.25F, 7.0F, 0.0F, 5.0F, 12.0F))
        << device;
  }
}

TEST(EndOfStep, HasNoScaleWithoutClipping) {
  at::Tensor flag = at::zeros({}, at::kFloat);
  const at::Tensor one = at::scalar_tensor(1.0F);
  EXPECT_FALSE(end_of_step({at::tensor({3.0F})}, {one, one, one, 1}, {}, flag, std::nullopt).clip_scale.defined());
}

}  // namespace
}  // namespace rnnlab
