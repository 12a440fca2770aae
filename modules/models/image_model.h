// The image classifier for gray images: two or four convolutions with ReLU and zero padding that keeps the size, two
// max poolings of 2 x 2, dense layers with dropout, and an output layer without a non-linearity. Two convolutions: 5 x
// 5 to 32 channels, pooling, 5 x 5 to 64 channels, pooling. With four, a 3 x 3 convolution with the same number of
// channels follows each of the two, before the pooling.
#pragma once

#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <vector>

#include "models/model.h"
#include "models/model_settings.h"

namespace rnnlab {

struct ConvolutionPlan {
  int64_t num_channels;
  int64_t kernel_size;
  bool is_pooled;
};

// Returns the plans of 2 or 4 convolutions, in order.
std::vector<ConvolutionPlan> convolution_plans(int64_t num_convolutions);

// Returns the numbers of an image with `num_channels` channels after both poolings; the largest int64_t on overflow.
int64_t flat_size(int64_t num_channels, const DataShape& shape);

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

}  // namespace rnnlab
