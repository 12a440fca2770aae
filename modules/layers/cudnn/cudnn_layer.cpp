// SPDX-License-Identifier: Apache-2.0
#include "layers/cudnn/cudnn_layer.h"

#include <ATen/autocast_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/custom_class.h>

#include "base/error.h"
#include "layers/device/gpu_support.h"
#include "layers/execution_path.h"
#include "layers/parameters.h"
#include "layers/stacked_layer.h"

namespace rnnlab {
namespace {

// The alignment is in elements; cuDNN's kernels load whole vectors from the beginning of a weight space.
constexpr int64_t kAlignment = 128;

int64_t aligned(int64_t elements) { return (elements + kAlignment - 1) / kAlignment * kAlignment; }

// The layout is the same for every algorithm and number of steps; plans check this.
WeightLayout layout_of(const RecurrentOptions& group, const at::TensorOptions& where) {
  const RnnShape shape = shape_of(group, at::empty({1, 1, group.input_size}, where), Passes::kForward);
  const RnnDescriptor rnn(shape, CudnnAlgorithm::kStandard, SequenceLengths::kWhole);
  const at::Tensor space = at::empty({static_cast<int64_t>(rnn.weight_bytes())}, where.dtype(at::kByte));
  return rnn.weight_layout(space.const_data_ptr());
}

// Returns views of `flat`, which has the layout `layout`, with these shapes.
std::vector<at::Tensor> views_of(const at::Tensor& flat, const WeightLayout& layout,
                                 const std::vector<std::vector<int64_t>>& shapes) {
  RNNLAB_INVARIANT(layout.offsets.size() == shapes.size(), "the layout must have an offset for each parameter");
  std::vector<at::Tensor> views;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const int64_t num_elements = c10::multiply_integers(shapes[i]);
    views.push_back(flat.narrow(0, layout.offsets[i], num_elements).view(shapes[i]));
  }
  return views;
}

}  // namespace

WeightSpace::WeightSpace(const std::vector<RecurrentOptions>& groups, const at::TensorOptions& where) : where_(where) {
  const c10::cuda::CUDAGuard device(where.device());
  for (const RecurrentOptions& group : groups) {
    places_.push_back({layout_of(group, where), {}, num_elements_});
    for (const ParameterSpec& spec : parameter_specs(group)) places_.back().shapes.push_back(spec.shape);
    num_elements_ += aligned(places_.back().layout.num_elements);
  }
}

std::vector<at::Tensor> WeightSpace::take_copy(const std::vector<at::Tensor>& weights) {
  const c10::AutoGradMode no_gradient(false);
  const c10::cuda::CUDAGuard device(where_.device());
  buffer_ = at::zeros({num_elements_}, where_);
  std::vector<at::Tensor> views;
  for (size_t group = 0; group < places_.size(); ++group)
    for (at::Tensor& view : views_of(of_group(buffer_, group), layout(group), places_[group].shapes)) {
      view.copy_(weights[views.size()]);
      views.push_back(std::move(view));
    }
  return views;
}

void WeightSpace::adopt(const std::vector<at::Tensor>& weights) {
  const std::vector<at::Tensor> views = take_copy(weights);
  addresses_.clear();
  for (size_t i = 0; i < views.size(); ++i) {
    weights[i].set_data(views[i]);
    addresses_.push_back(weights[i].const_data_ptr());
  }
}

bool WeightSpace::fits(const at::Tensor& weight) const {
  return !places_.empty() && where_.device() == weight.device() && where_.dtype() == weight.dtype();
}

bool WeightSpace::holds(const std::vector<at::Tensor>& weights) const {
  if (addresses_.size() != weights.size()) return false;
  for (size_t i = 0; i < weights.size(); ++i)
    if (weights[i].const_data_ptr() != addresses_[i] || weights[i].scalar_type() != buffer_.scalar_type()) return false;
  return true;
}

at::Tensor WeightSpace::of_group(const at::Tensor& buffer, size_t group) const {
  return buffer.narrow(0, places_[group].first, places_[group].layout.num_elements);
}

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Holds the data for the backward pass that are not tensors.
struct SavedPlan : torch::CustomClassHolder {
  std::shared_ptr<const RnnPlan> plan;
  at::ScalarType gradient_type = at::kFloat;
  std::vector<std::vector<int64_t>> weight_shapes;
};

// The order of the tensors that the forward pass saves; only a cell with a cell state has kCell.
enum Saved : size_t { kInput, kHidden, kSpace, kOutput, kReserve, kCell };

// This is the order of the arguments of the forward pass. The weights follow, and the cell state is last.
enum Taken : size_t { kTakenInput, kTakenHidden, kTakenSpace, kFirstTakenWeight };

c10::IValue saved_plan(const std::shared_ptr<const RnnPlan>& plan, at::TensorList weights) {
  auto saved = c10::make_intrusive<SavedPlan>();
  saved->plan = plan;
  saved->gradient_type = weights.front().scalar_type();
  for (const at::Tensor& weight : weights) saved->weight_shapes.push_back(weight.sizes().vec());
  return c10::IValue::make_capsule(std::move(saved));
}

c10::intrusive_ptr<SavedPlan> saved_plan(const AutogradContext& context) {
  return c10::static_intrusive_pointer_cast<SavedPlan>(context.saved_data.at("plan").toCapsule());
}

WeightGradient weight_gradient_of(const AutogradContext& context, size_t num_weights) {
  for (size_t i = 0; i < num_weights; ++i)
    if (context.needs_input_grad(kFirstTakenWeight + i)) return WeightGradient::kWanted;
  return WeightGradient::kUnwanted;
}

class CudnnFunction : public torch::autograd::Function<CudnnFunction> {
 public:
  static variable_list forward(AutogradContext* context, const std::shared_ptr<const RnnPlan>& plan,
                               const at::Tensor& input, const at::Tensor& hidden, const at::Tensor& space,
                               at::TensorList weights, const std::optional<at::Tensor>& cell) {
    const RnnOutputs outputs = plan->forward({input, hidden, cell.value_or(at::Tensor()), space});
    context->set_materialize_grads(false);
    context->saved_data["plan"] = saved_plan(plan, weights);
    variable_list saved = {input, hidden, space, outputs.output, outputs.reserve};
    if (cell) saved.push_back(*cell);
    // If the space is the weights' own memory, autograd must detect a change of the weights before the backward pass.
    const bool is_own_memory = weights.front().scalar_type() == space.scalar_type();
    if (is_own_memory) saved.insert(saved.end(), weights.begin(), weights.end());
    context->save_for_backward(std::move(saved));
    if (!cell) return {outputs.output, outputs.hidden};
    return {outputs.output, outputs.hidden, outputs.cell};
  }

  static variable_list backward(AutogradContext* context, const variable_list& upstream) {
    const auto call = saved_plan(*context);
    const variable_list saved = context->get_saved_variables();
    const bool has_cell = has_cell_state(call->plan->shape().cell);
    RnnOperands operands = {saved[kInput], saved[kHidden], {}, saved[kSpace]};
    RnnOutputs outputs = {saved[kOutput], {}, {}, saved[kReserve]};
    RnnUpstream given = {upstream[0], upstream[1], {}};
    if (has_cell) operands.cell = saved[kCell];
    if (has_cell) given.cell = upstream[2];
    // The pass writes to the reserve space, but a kept graph may be run backward again.
    if (torch::autograd::get_current_graph_task_keep_graph()) outputs.reserve = outputs.reserve.clone();

    const size_t num_weights = call->weight_shapes.size();
    const RnnGradients gradients =
        call->plan->backward(operands, outputs, given, weight_gradient_of(*context, num_weights));
    variable_list results = {
        {}, gradients.input, gradients.hidden, {}};  // the plan and the weight space have no gradient
    for (at::Tensor& weight : weight_gradients(*call, gradients.weights)) results.push_back(std::move(weight));
    results.push_back(gradients.cell);
    return results;
  }

 private:
  // Returns views of one buffer in the weights' type.
  static variable_list weight_gradients(const SavedPlan& call, const at::Tensor& flat) {
    if (!flat.defined()) return variable_list(call.weight_shapes.size());
    return views_of(flat.to(call.gradient_type), call.plan->weight_layout(), call.weight_shapes);
  }
};

bool needs_gradient(const RnnOperands& operands, at::TensorList weights) {
  if (!at::GradMode::is_enabled()) return false;
  const auto requires_gradient = [](const at::Tensor& x) { return x.defined() && x.requires_grad(); };
  return requires_gradient(operands.input) || requires_gradient(operands.hidden) || requires_gradient(operands.cell) ||
         std::any_of(weights.begin(), weights.end(), requires_gradient);
}

// Returns kForward if no tensor needs a gradient or gradients are off, in any mode of the layer.
Passes passes_of(const RnnOperands& operands, at::TensorList weights) {
  return needs_gradient(operands, weights) ? Passes::kForwardAndBackward : Passes::kForward;
}

// Runs a plan's passes as one differentiable function of the input, the initial state and the weights. The values of
// the weights are those in cuDNN's weight space; the parameters are passed only to receive their gradients, which are
// views of one buffer and are converted to the parameters' type. operands: as RnnPlan requires; gradients are computed
// for input and states. The plan must have been made for passes_of(operands, weights).
RecurrentResult run_plan(const std::shared_ptr<const RnnPlan>& plan, const RnnOperands& operands,
                         at::TensorList weights) {
  if (plan->shape().passes == Passes::kForward) {
    const RnnOutputs outputs = plan->forward(operands);
    return {outputs.output, {outputs.hidden, outputs.cell}};
  }
  const auto cell = operands.cell.defined() ? std::optional(operands.cell) : std::nullopt;
  const variable_list results =
      CudnnFunction::apply(plan, operands.input, operands.hidden, operands.weights, weights, cell);
  return {results[0], {results[1], results.size() > 2 ? results[2] : at::Tensor()}};
}

at::ScalarType type_for(const at::Tensor& weight) {
  return at::autocast::is_autocast_enabled(at::kCUDA) ? at::autocast::get_autocast_dtype(at::kCUDA)
                                                      : weight.scalar_type();
}

at::Tensor as_operand(const at::Tensor& tensor, at::ScalarType type) {
  return tensor.defined() ? tensor.to(type).contiguous() : tensor;
}

// Frees a pass's copy of the weights at its end; null: there is no copy.
class FreeCopy {
 public:
  explicit FreeCopy(WeightSpace* space) : space_(space) {}
  ~FreeCopy() {
    if (space_ != nullptr) space_->free_copy();
  }
  FreeCopy(const FreeCopy&) = delete;
  FreeCopy& operator=(const FreeCopy&) = delete;

 private:
  WeightSpace* space_;
};

void report(const PlannedPass& pass) {
  report_path([&]() -> ExecutionPath {
    ExecutionPath path = {fmt::format("cuDNN called directly, {} algorithm ({})",
                                      algorithm_text(pass.plan->algorithm()), precision_of(pass.plan->shape())),
                          {}};
    if (!pass.why.empty()) path.notes.push_back(pass.why);
    return path;
  });
}

}  // namespace

CudnnLayer::CudnnLayer(const RecurrentOptions& options)
    : RecurrentLayer(options),
      groups_(layer_groups(options)),
      plans_(groups_.size(), PlanCache(options.cudnn_algorithm)) {}

RecurrentResult CudnnLayer::run(const at::Tensor& input, const RecurrentState& initial, const Segments& segments,
                                StatesOf) {
  const at::Tensor& lengths = segments.lengths;
  require_supported(kind(), {.processor = processor_of(input.device())});
  const c10::cuda::CUDAGuard device(input.device());
  const FreeCopy free_copy(has_own_weights() ? nullptr : &space_);
  prepare_space();
  const at::ScalarType type = type_for(weights().front());
  const c10::impl::ExcludeDispatchKeyGuard without_autocast(at::DispatchKey::AutocastCUDA);
  const at::Tensor buffer = space_.buffer().to(type);  // the buffer itself, except under autocast
  const double dropout = is_training() ? options().dropout : 0;
  return run_groups(
      groups_, dropout, as_operand(input, type), {as_operand(initial.hidden, type), as_operand(initial.cell(), type)},
      [&](size_t group, const at::Tensor& sequence, const RecurrentState& state) {
        return run_group(group, {sequence, state.hidden, state.cell(), space_.of_group(buffer, group)}, lengths);
      });
}

RecurrentResult CudnnLayer::run_group(size_t group, const RnnOperands& operands, const at::Tensor& lengths) {
  const size_t count = weights().size() / groups_.size();
  const auto mine = at::TensorList(weights()).slice(group * count, count);
  const RnnShape shape = shape_of(groups_[group], operands.input, passes_of(operands, mine));
  const PlannedPass pass = plans_[group].find_or_make(shape, lengths, operands.weights, space_.layout(group));
  report(pass);
  const bool wants_other =
      options().cudnn_algorithm != CudnnAlgorithm::kAuto && options().cudnn_algorithm != pass.plan->algorithm();
  if (wants_other)
    report_fallback([&] {
      return PathFallback{"cudnn_algorithm", fmt::format("the {} algorithm", algorithm_text(pass.plan->algorithm())),
                          pass.why};
    });
  return run_plan(pass.plan, operands, mine);
}

// Weights of the caller may be others in each pass, so each pass copies them; plans and layout stay.
void CudnnLayer::prepare_space() {
  if (has_own_weights()) {
    if (!space_.holds(weights())) gather_weights();
    return;
  }
  if (!space_.fits(weights().front())) make_space();
  space_.take_copy(weights());
}

void CudnnLayer::make_space() {
  for (PlanCache& plans : plans_) plans.clear();
  space_ = WeightSpace(groups_, weights().front().options().requires_grad(false));
}

void CudnnLayer::gather_weights() {
  if (!weights().front().is_cuda()) {
    space_ = WeightSpace();
    return;
  }
  if (is_capturing())
    throw_error(
        ExitCode::kUsage,
        "the memory of a parameter of layer: cudnn was replaced before the CUDA graph that is captured now; run a "
        "step before the capture");
  make_space();
  space_.adopt(weights());
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
