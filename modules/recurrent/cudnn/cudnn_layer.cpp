#include "recurrent/cudnn/cudnn_layer.h"

#include <ATen/autocast_mode.h>
#include <c10/cuda/CUDAGuard.h>

#include "base/error.h"
#include "recurrent/cudnn/capture.h"
#include "recurrent/cudnn/cudnn_function.h"
#include "recurrent/cudnn_algorithm.h"
#include "recurrent/layer_groups.h"
#include "recurrent/operator_log.h"

namespace rnnlab {
namespace {

at::ScalarType type_for(const at::Tensor& weight) {
  return at::autocast::is_autocast_enabled(at::kCUDA) ? at::autocast::get_autocast_dtype(at::kCUDA)
                                                      : weight.scalar_type();
}

at::Tensor as_operand(const at::Tensor& tensor, at::ScalarType type) {
  return tensor.defined() ? tensor.to(type).contiguous() : tensor;
}

void report(const PlannedPass& pass) {
  report_path([&]() -> ExecutionPath {
    ExecutionPath path = {fmt::format("cuDNN called directly, {} algorithm ({})", words_for(pass.plan->algorithm()),
                                      precision_of(pass.plan->shape())),
                          {}};
    if (!pass.why.empty()) path.notes.push_back(pass.why);
    return path;
  });
}

}  // namespace

CudnnLayer::CudnnLayer(const RecurrentOptions& options)
    : RecurrentLayer(options),
      groups_(layer_groups(options)),
      plans_(groups_.size(), PlanCache(options.cudnn_algorithm)) {
  register_uniform_parameters();
}

RecurrentResult CudnnLayer::run(const at::Tensor& input, const RecurrentState& initial, const at::Tensor& lengths) {
  if (const auto reason = refusal(kind(), input.is_cuda() ? Processor::kGpu : Processor::kCpu))
    throw_error(ExitCode::kUsage, "{}", *reason);
  const c10::cuda::CUDAGuard device(input.device());
  if (!space_.holds(weights())) gather_weights();
  const at::ScalarType type = type_for(weights().front());
  const c10::impl::ExcludeDispatchKeyGuard without_autocast(at::DispatchKey::AutocastCUDA);
  const at::Tensor buffer = space_.buffer().to(type);  // itself but under autocast
  const double dropout = is_training() ? options().dropout : 0;
  return run_groups(
      groups_, dropout, as_operand(input, type), {as_operand(initial.hidden, type), as_operand(initial.cell, type)},
      [&](size_t group, const at::Tensor& sequence, const RecurrentState& state) {
        return run_group(group, {sequence, state.hidden, state.cell, space_.of_group(buffer, group)}, lengths);
      });
}

RecurrentResult CudnnLayer::run_group(size_t group, const RnnOperands& operands, const at::Tensor& lengths) {
  const size_t count = weights().size() / groups_.size();
  const auto mine = at::TensorList(weights()).slice(group * count, count);
  const RnnShape shape = shape_of(groups_[group], operands.input, passes_of(operands, mine));
  const PlannedPass pass = plans_[group].find_or_make(shape, lengths, operands.weights, space_.layout(group));
  report(pass);
  return run_plan(pass.plan, operands, mine);
}

void CudnnLayer::gather_weights() {
  space_ = WeightSpace();
  for (PlanCache& plans : plans_) plans.clear();
  if (!weights().front().is_cuda()) return;
  if (is_capturing())
    throw_error(ExitCode::kUsage,
                "a parameter of layer: cudnn was given other memory before the CUDA graph that is captured now: run a "
                "step first");
  space_.adopt(groups_, weights());
}

void CudnnLayer::to(torch::Device device, torch::Dtype dtype, bool non_blocking) {
  RecurrentLayer::to(device, dtype, non_blocking);
  gather_weights();
}

void CudnnLayer::to(torch::Dtype dtype, bool non_blocking) {
  RecurrentLayer::to(dtype, non_blocking);
  gather_weights();
}

void CudnnLayer::to(torch::Device device, bool non_blocking) {
  RecurrentLayer::to(device, non_blocking);
  gather_weights();
}

}  // namespace rnnlab
