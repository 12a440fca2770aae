#include "training/loss_scale.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/_amp_update_scale.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

namespace rnnlab {
namespace {

constexpr double kFirst = 65536;
constexpr double kGrowth = 2;
constexpr double kBackoff = 0.5;
constexpr int64_t kGoodStepsToGrow = 2000;

}  // namespace

LossScale::LossScale(c10::Device device)
    : value_(at::full({}, kFirst, at::TensorOptions().dtype(at::kFloat).device(device))),
      good_steps_(at::zeros({}, value_.options().dtype(at::kInt))) {}

std::vector<NamedTensor> LossScale::state() const {
  return {{"loss_scale.value", value_}, {"loss_scale.good_steps", good_steps_}};
}

at::Tensor LossScale::unscale(at::TensorList gradients) {
  at::Tensor overflow = at::zeros({}, value_.options());
  at::_amp_foreach_non_finite_check_and_unscale_(gradients, overflow, value_.reciprocal());
  const at::Tensor mendable = overflow * value_.gt(1);
  at::_amp_update_scale_(value_, good_steps_, overflow, kGrowth, kBackoff, kGoodStepsToGrow);
  return mendable;
}

}  // namespace rnnlab
