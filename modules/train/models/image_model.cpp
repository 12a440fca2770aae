// SPDX-License-Identifier: Apache-2.0
// The image classifier for gray images: two or four convolutions with ReLU and zero padding that keeps the size, two
// max poolings of 2 x 2, dense layers with dropout, and an output layer without a non-linearity. Two convolutions: 5 x
// 5 to 32 channels, pooling, 5 x 5 to 64 channels, pooling. With four, a 3 x 3 convolution with the same number of
// channels follows each of the two, before the pooling.
#include <ATen/ops/conv2d.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>
#include <fmt/format.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <vector>

#include "base/error.h"
#include "base/numbers.h"
#include "layers/device/gpu_support.h"
#include "layers/device/number_types.h"
#include "layers/dropout.h"
#include "layers/execution_path.h"
#include "train/models/model.h"
#include "train/models/model_graph.h"
#include "train/models/operations.h"

namespace rnnlab {
namespace {

struct ConvolutionPlan {
  int64_t num_channels;
  int64_t kernel_size;
  bool is_pooled;
};

// Returns the plans of 2 or 4 convolutions, in order.
std::vector<ConvolutionPlan> convolution_plans(int64_t num_convolutions) {
  if (num_convolutions == 2) return {{32, 5, true}, {64, 5, true}};
  return {{32, 5, false}, {32, 3, true}, {64, 5, false}, {64, 3, true}};
}

// Returns the numbers of an image with `num_channels` channels after both poolings; the largest int64_t on overflow.
int64_t flat_size(int64_t num_channels, const DataShape& shape) {
  return saturating_multiply(num_channels,
                             saturating_multiply(shape.sequence_length / 2 / 2, shape.input_size / 2 / 2));
}

constexpr int64_t kSmallestSide = 4;  // two poolings reduce this side to one pixel

void require_images(const DataShape& shape) {
  if (shape.has_lengths)
    throw_error(ExitCode::kUsage,
                "model.kind: image_classifier needs images of one size, but these samples have different lengths; use "
                "sequence_classifier");
  if (shape.target_per_step)
    throw_error(ExitCode::kUsage,
                "model.kind: image_classifier has one target for each image, but data.target_per is step; use "
                "sequence_classifier");
  if (shape.sequence_length < kSmallestSide || shape.input_size < kSmallestSide)
    throw_error(
        ExitCode::kUsage,
        "model.kind: image_classifier pools twice and needs images of at least {0} x {0} pixels, but these are {1} "
        "x {2}; use sequence_classifier",
        kSmallestSide, shape.sequence_length, shape.input_size);
}

torch::nn::Conv2d make_convolution(int64_t num_inputs, const ConvolutionPlan& plan) {
  return torch::nn::Conv2d(
      torch::nn::Conv2dOptions(num_inputs, plan.num_channels, plan.kernel_size).padding(plan.kernel_size / 2));
}

// Returns the images of a time-major batch as (B, 1, rows, columns). With one channel both memory formats have the same
// numbers in the same order; the strides tell libraries which format is meant.
at::Tensor as_images(const at::Tensor& batch_inputs, bool is_channels_last) {
  const at::Tensor images = batch_inputs.transpose(0, 1).contiguous();
  return is_channels_last ? images.unsqueeze(-1).permute({0, 3, 1, 2}) : images.unsqueeze(1);
}

at::Tensor convolve(const torch::nn::Conv2d& layer, const at::Tensor& values, const at::Tensor& bias) {
  const int64_t padding = layer->weight.size(2) / 2;
  return at::conv2d(values, layer->weight, bias, /*stride=*/1, padding);
}

ExecutionPath path_without_own_kernels(c10::Device device) {
  const Gpu gpu = gpu_of(device);
  return {"LibTorch's operators for bias, ReLU and pooling",
          {fmt::format("this build has no own kernels for compute capability {} ({}); to get them {}",
                       text_of(gpu.capability), gpu.name, kernels::how_to_get_code(gpu.capability))}};
}

void report_missing_kernels(c10::Device device) {
  report_path([&] { return path_without_own_kernels(device); });
  report_fallback([&] {
    const ExecutionPath path = path_without_own_kernels(device);
    return PathFallback{"convolution", path.path, path.notes.front()};
  });
}

class ImageModel : public Model {
 public:
  // Throws UserError kUsage if the samples are not images of one size, or are too small for two poolings.
  ImageModel(const ModelSettings& settings, ConvolutionKind kind, const DataShape& shape);

  // Maps batch inputs (rows, B, columns) to (B, classes). Throws UserError kData if the images have a different size.
  at::Tensor forward(const Batch& batch) override;

 private:
  struct Convolution {
    torch::nn::Conv2d layer = nullptr;
    bool is_pooled = false;
  };

  at::Tensor convolved(const at::Tensor& batch_inputs);
  at::Tensor convolved(const at::Tensor& values, size_t number);
  at::Tensor pooled(const at::Tensor& values, size_t number);
  // These functions check for and run one own kernel for the last dense layer and the output layer.
  bool can_end_by_own_kernel() const;
  at::Tensor end_by_own_kernel(const at::Tensor& values);
  at::MemoryFormat format_after(size_t number) const;
  bool is_channels_last() const { return kind_ != ConvolutionKind::kPlain; }

  ModelSettings settings_;
  ConvolutionKind kind_;
  int64_t num_rows_;
  int64_t num_columns_;
  std::vector<Convolution> convolutions_;  // "convolution0", "convolution1" ...
  std::vector<torch::nn::Linear> dense_;   // "dense0", "dense1" ...
  torch::nn::Linear output_ = nullptr;     // "output"
};

ImageModel::ImageModel(const ModelSettings& settings, ConvolutionKind kind, const DataShape& shape)
    : settings_(settings), kind_(kind), num_rows_(shape.sequence_length), num_columns_(shape.input_size) {
  require_images(shape);
  int64_t num_channels = 1;
  for (const ConvolutionPlan& plan : convolution_plans(settings.num_convolutions)) {
    auto layer =
        register_module("convolution" + std::to_string(convolutions_.size()), make_convolution(num_channels, plan));
    if (is_channels_last()) layer->weight.set_data(layer->weight.contiguous(at::MemoryFormat::ChannelsLast));
    convolutions_.push_back({layer, plan.is_pooled});
    num_channels = plan.num_channels;
  }
  int64_t width = flat_size(num_channels, shape);
  for (const int64_t size : settings.dense) {
    dense_.emplace_back(register_module("dense" + std::to_string(dense_.size()), torch::nn::Linear(width, size)));
    width = size;
  }
  output_ = register_module("output", torch::nn::Linear(width, shape.num_outputs));
}

at::Tensor ImageModel::forward(const Batch& batch) {
  if (batch.inputs.size(0) != num_rows_ || batch.inputs.size(2) != num_columns_)
    throw_error(ExitCode::kData, "the model reads images of {} x {} pixels, but these are {} x {}", num_rows_,
                num_columns_, batch.inputs.size(0), batch.inputs.size(2));
  at::Tensor values = convolved(batch.inputs).flatten(1);
  const bool has_own_end = kind_ == ConvolutionKind::kFused && can_end_by_own_kernel();
  for (auto& layer : dense_) {
    if (has_own_end && layer.ptr() == dense_.back().ptr()) return end_by_own_kernel(values);
    values = activate(settings_.dense_activation, layer(values));
    if (is_training() && settings_.dense_dropout > 0.0) values = apply_dropout(values, settings_.dense_dropout);
  }
  return output_(values);
}

bool ImageModel::can_end_by_own_kernel() const {
  return !dense_.empty() && settings_.dense_activation == Activation::kRelu &&
         can_run_dense_head(dense_.back()->bias, output_->weight);
}

at::Tensor ImageModel::end_by_own_kernel(const at::Tensor& values) {
  report_path([] { return ExecutionPath{"own kernel for the dense layer's ReLU, dropout and output", {}}; });
  return dense_end(values, dense_.back(), output_, {.hidden = is_training() ? settings_.dense_dropout : 0.0});
}

at::Tensor ImageModel::convolved(const at::Tensor& batch_inputs) {
  const auto& [first, is_pooled] = convolutions_.front();
  const bool is_own = kind_ == ConvolutionKind::kFused && is_pooled;
  const bool starts_own = is_own && can_run_first_convolution(batch_inputs, first->weight);
  at::Tensor values;
  if (starts_own) {
    report_path([] { return ExecutionPath{"own kernel for the first convolution, ReLU and pooling", {}}; });
    values =
        first_convolution(batch_inputs, first->weight, first->bias, type_of_products(batch_inputs), format_after(0));
  } else {
    values = as_images(batch_inputs, is_channels_last());
  }
  for (size_t number = starts_own ? 1 : 0; number < convolutions_.size(); ++number) values = convolved(values, number);
  return values;
}

at::Tensor ImageModel::convolved(const at::Tensor& values, size_t number) {
  const auto& [layer, is_pooled] = convolutions_[number];
  if (is_pooled) return pooled(values, number);
  return at::relu(convolve(layer, values, layer->bias));
}

at::Tensor ImageModel::pooled(const at::Tensor& values, size_t number) {
  const torch::nn::Conv2d& layer = convolutions_[number].layer;
  const bool is_own = kind_ == ConvolutionKind::kFusedPool || kind_ == ConvolutionKind::kFused;
  const bool can_be_own = can_run_bias_relu_pool(values);
  if (is_own && !can_be_own) report_missing_kernels(values.device());
  if (!is_own || !can_be_own) return at::max_pool2d(at::relu(convolve(layer, values, layer->bias)), /*kernel_size=*/2);
  report_path([] { return ExecutionPath{"own kernel for bias, ReLU and pooling", {}}; });
  return bias_relu_pool(convolve(layer, values, {}), layer->bias, format_after(number));
}

// The last result is flattened, so it is channels first: the dense weights then have one meaning for every kind.
at::MemoryFormat ImageModel::format_after(size_t number) const {
  const bool is_last = number + 1 == convolutions_.size();
  return is_last ? at::MemoryFormat::Contiguous : at::MemoryFormat::ChannelsLast;
}

void draw_image_model(ModelGraph& graph, const ModelSettings& settings, const DataShape& shape) {
  int64_t num_channels = 1, num_rows = shape.sequence_length, num_columns = shape.input_size;
  graph.add("images", "Input", {kAnyBatchSize, num_channels, num_rows, num_columns});
  int64_t number = 0;
  for (const ConvolutionPlan& plan : convolution_plans(settings.num_convolutions)) {
    const std::string scope = fmt::format("convolution{}", number++);
    const ModelGraph::Shape outputs = {kAnyBatchSize, plan.num_channels, num_rows, num_columns};
    const ModelGraph::Shape weight = {plan.num_channels, num_channels, plan.kernel_size, plan.kernel_size};
    graph.add(scope + "/convolution", "Convolution2D", outputs,
              {graph.add_parameter(scope, scope + ".weight", weight)});
    graph.add(scope + "/bias_add", "Add", outputs, {graph.add_parameter(scope, scope + ".bias", {plan.num_channels})});
    graph.add(scope + "/relu", "ReLU", outputs);
    num_channels = plan.num_channels;
    if (!plan.is_pooled) continue;
    num_rows /= 2;
    num_columns /= 2;
    graph.add(scope + "/pool", "MaxPool2D(2)", {kAnyBatchSize, num_channels, num_rows, num_columns});
  }
  graph.add("flatten", "Flatten", {kAnyBatchSize, flat_size(num_channels, shape)});
  graph.add_dense_layers(settings);
  graph.add_linear("output", shape.num_outputs);
}

// Counts the outputs of every pooling, which the next layer needs.
int64_t num_pooled_values(const ModelSettings& settings, const DataShape& shape, int64_t /*num_steps*/,
                          int64_t num_samples) {
  int64_t count = 0, num_rows = shape.sequence_length, num_columns = shape.input_size;
  for (const ConvolutionPlan& plan : convolution_plans(settings.num_convolutions)) {
    if (!plan.is_pooled) continue;
    num_rows /= 2;
    num_columns /= 2;
    const int64_t of_image = saturating_multiply(plan.num_channels, saturating_multiply(num_rows, num_columns));
    count = saturating_add(count, saturating_multiply(num_samples, of_image));
  }
  return count;
}

std::shared_ptr<Model> make_image_model(const ModelSettings& settings, LayerChoice /*layer*/, const DataShape& shape,
                                        ConvolutionKind convolution) {
  return std::make_shared<ImageModel>(settings, convolution, shape);
}

}  // namespace

const ModelInfo& image_classifier_info() {
  static const ModelInfo info = {.description = "classes of gray images, by convolutions",
                                 .input = ModelInput::kImages,
                                 .tasks = {Task::kClassification},
                                 .keys = {"num_convolutions", "dense", "dense_activation", "dense_dropout"},
                                 .draw = draw_image_model,
                                 .num_kept_values = num_pooled_values,
                                 .make = make_image_model};
  return info;
}

}  // namespace rnnlab
