// SPDX-License-Identifier: Apache-2.0
#include "train/models/sequence_parts.h"

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tanh.h>
#include <fmt/format.h>

#include <limits>
#include <string>
#include <utility>

#include "data/dataset.h"

namespace rnnlab {
namespace {

// Returns (T, B, 1): true at the steps beyond the lengths.
at::Tensor beyond(const at::Tensor& lengths, int64_t num_steps, c10::Device device) {
  return are_within(lengths, num_steps).logical_not().t().unsqueeze(2).to(device, /*non_blocking=*/true);
}

torch::nn::Conv1d make_convolution(int64_t inputs, int64_t outputs, const ModelSettings& settings) {
  return torch::nn::Conv1d(
      torch::nn::Conv1dOptions(inputs, outputs, settings.front_kernel_size).stride(settings.front_stride));
}

}  // namespace

ConvolutionFront::ConvolutionFront(const ModelSettings& settings, int64_t input_size) : stride_(settings.front_stride) {
  for (const int64_t size : settings.front) {
    const std::string name = fmt::format("convolution{}", convolutions_.size());
    convolutions_.emplace_back(register_module(name, make_convolution(input_size, size, settings)));
    input_size = size;
  }
}

std::pair<at::Tensor, at::Tensor> ConvolutionFront::forward(at::Tensor steps, at::Tensor lengths) {
  for (torch::nn::Conv1d& convolution : convolutions_) {
    if (lengths.defined()) steps = steps.masked_fill(beyond(lengths, steps.size(0), steps.device()), 0);
    const int64_t before = convolution->options.kernel_size()->at(0) - stride_;
    steps = at::constant_pad_nd(steps.permute({1, 2, 0}), {before, stride_ - 1});  // (B, channels, steps)
    steps = at::relu(convolution(steps)).permute({2, 0, 1});
    if (lengths.defined()) lengths = (lengths + (stride_ - 1)).floor_divide(stride_);
  }
  return {steps.contiguous(), lengths};
}

AttentionPooling::AttentionPooling(int64_t width)
    : hidden_(register_module("hidden", torch::nn::Linear(width, width))),
      score_(register_module("score", torch::nn::Linear(torch::nn::LinearOptions(width, 1).bias(false)))) {}

at::Tensor AttentionPooling::weights(const at::Tensor& outputs, const at::Tensor& lengths) {
  at::Tensor scores = score_(at::tanh(hidden_(outputs)));
  if (lengths.defined())
    scores =
        scores.masked_fill(beyond(lengths, outputs.size(0), outputs.device()), -std::numeric_limits<float>::infinity());
  return at::softmax(scores, 0, at::promote_types(scores.scalar_type(), at::kFloat)).squeeze(2);
}

at::Tensor AttentionPooling::forward(const at::Tensor& outputs, const at::Tensor& lengths) {
  return (outputs * weights(outputs, lengths).unsqueeze(2)).sum(0).to(outputs.scalar_type());
}

void draw_front(ModelGraph& graph, const ModelSettings& settings) {
  for (size_t i = 0; i < settings.front.size(); ++i) {
    const std::string scope = fmt::format("front/convolution{}", i), parameter = fmt::format("front.convolution{}", i);
    const int64_t size = settings.front[i];
    const ModelGraph::Shape steps = {blocks_of(graph.shape().front(), settings.front_stride), kAnyBatchSize, size};
    const std::string weight =
        graph.add_parameter(scope, parameter + ".weight", {size, graph.width(), settings.front_kernel_size});
    graph.add(scope + "/convolution", "Conv1D", steps,
              {weight, graph.add_parameter(scope, parameter + ".bias", {size})});
    graph.add(scope + "/relu", "ReLU", steps);
  }
}

void draw_attention(ModelGraph& graph) {
  const int64_t width = graph.width(), num_steps = graph.shape().front();
  const std::string weight = graph.add_parameter("attention/hidden", "attention.hidden.weight", {width, width});
  const std::string bias = graph.add_parameter("attention/hidden", "attention.hidden.bias", {width});
  const std::string score = graph.add_parameter("attention/score", "attention.score.weight", {1, width});
  graph.add("attention/weights", "Attention", {num_steps, kAnyBatchSize, width}, {weight, bias, score});
}

}  // namespace rnnlab
