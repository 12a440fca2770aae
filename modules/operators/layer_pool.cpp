// SPDX-License-Identifier: Apache-2.0
#include "operators/layer_pool.h"

#include <c10/core/GradMode.h>

#include <algorithm>

#include "base/error.h"

namespace rnnlab::operators {
namespace {

bool shares_memory(const at::Tensor& mine, const at::Tensor& theirs) {
  return mine.const_data_ptr() == theirs.const_data_ptr() && mine.scalar_type() == theirs.scalar_type() &&
         mine.device() == theirs.device() && mine.sizes() == theirs.sizes() && mine.strides() == theirs.strides();
}

bool has_weights(const RecurrentLayer& layer, at::TensorList weights) {
  return std::ranges::equal(layer.parameters(/*recurse=*/false), weights, shares_memory);
}

void share_weights(const RecurrentLayer& layer, at::TensorList weights) {
  std::vector<at::Tensor> parameters = layer.parameters(/*recurse=*/false);
  for (size_t i = 0; i < parameters.size(); ++i)
    if (!shares_memory(parameters[i], weights[i])) parameters[i].set_data(weights[i].detach());
}

void copy_values(RecurrentLayer& layer, at::TensorList weights) {
  const at::Tensor& first = weights.front();
  std::vector<at::Tensor> parameters = layer.parameters(/*recurse=*/false);
  if (parameters.front().device() != first.device() || parameters.front().scalar_type() != first.scalar_type())
    layer.to(first.device(), first.scalar_type());
  for (size_t i = 0; i < parameters.size(); ++i) parameters[i].copy_(weights[i]);
}

void give_weights(RecurrentLayer& layer, at::TensorList weights) {
  const c10::AutoGradMode no_gradient(false);
  if (weights.front().is_cuda() && layer.keeps_weights_in_one_piece())
    copy_values(layer, weights);
  else
    share_weights(layer, weights);
}

void check_weights(const LayerRequest& request) {
  const std::vector<ParameterSpec> specs = parameter_specs(request.options);
  if (specs.size() != request.weights.size())
    throw_error(ExitCode::kUsage, "{} weights were given, but the layer has {}", request.weights.size(), specs.size());
  for (size_t i = 0; i < specs.size(); ++i)
    if (request.weights[i].sizes() != at::IntArrayRef(specs[i].shape))
      throw_error(ExitCode::kUsage, "{} has the shape ({}), wanted ({})", specs[i].name,
                  fmt::join(request.weights[i].sizes(), ", "), fmt::join(specs[i].shape, ", "));
}

}  // namespace

LayerPool& LayerPool::instance() {
  static LayerPool* const pool = new LayerPool;  // never destroyed, because autograd may still hold layers at exit
  return *pool;
}

LayerInUse LayerPool::take(int64_t owner, const LayerRequest& request) {
  check_weights(request);
  const std::scoped_lock lock(mutex_);
  std::vector<Entry>& mine = entries_[owner];
  const auto usable = [&](Entry& entry) {
    return entry.layer->kind() == request.kind && entry.layer->options() == request.options &&
           (entry.in_use.expired() || has_weights(*entry.layer, request.weights));
  };
  auto found = std::ranges::find_if(mine, usable);
  if (found == mine.end()) found = mine.insert(mine.end(), {make_layer(request.kind, request.options), {}});
  give_weights(*found->layer, request.weights);
  LayerInUse in_use = found->in_use.lock();
  if (in_use == nullptr) {
    // A control block of its own counts the uses; it keeps the layer alive.
    in_use = LayerInUse(found->layer.get(), [layer = found->layer](RecurrentLayer*) {});
    found->in_use = in_use;
  }
  return in_use;
}

void LayerPool::release(int64_t owner) {
  const std::scoped_lock lock(mutex_);
  entries_.erase(owner);
}

}  // namespace rnnlab::operators
