#include "recurrent/cudnn/weight_space.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <c10/cuda/CUDAGuard.h>

#include "base/error.h"
#include "recurrent/parameters.h"

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

}  // namespace

void WeightSpace::adopt(const std::vector<RecurrentOptions>& groups, const std::vector<at::Tensor>& weights) {
  const c10::AutoGradMode no_gradient(false);
  const c10::cuda::CUDAGuard device(weights.front().device());
  const at::TensorOptions where = weights.front().options().requires_grad(false);
  places_.clear();
  int64_t num_elements = 0;
  for (const RecurrentOptions& group : groups) {
    places_.push_back({layout_of(group, where), num_elements});
    num_elements += aligned(places_.back().layout.num_elements);
  }
  buffer_ = at::zeros({num_elements}, where);

  addresses_.clear();
  for (size_t group = 0, first = 0; group < groups.size(); ++group) {
    std::vector<std::vector<int64_t>> shapes;
    for (const ParameterSpec& spec : parameter_specs(groups[group])) shapes.push_back(spec.shape);
    for (const at::Tensor& view : views_of(of_group(buffer_, group), layout(group), shapes)) {
      const at::Tensor& weight = weights[first++];
      view.copy_(weight);
      weight.set_data(view);
      addresses_.push_back(weight.const_data_ptr());
    }
  }
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

std::vector<at::Tensor> views_of(const at::Tensor& flat, const WeightLayout& layout,
                                 const std::vector<std::vector<int64_t>>& shapes) {
  RNNLAB_INVARIANT(layout.offsets.size() == shapes.size(), "a layout of other parameters");
  std::vector<at::Tensor> views;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const int64_t num_elements = c10::multiply_integers(shapes[i]);
    views.push_back(flat.narrow(0, layout.offsets[i], num_elements).view(shapes[i]));
  }
  return views;
}

}  // namespace rnnlab
