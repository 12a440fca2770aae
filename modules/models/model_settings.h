// The settings under `model:`: the network between the data and the loss. The implementation of its recurrent layer
// (`layer:`) and its numbers of inputs and outputs (from the data) are not part of these settings.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/enum_names.h"
#include "config/schema.h"
#include "recurrent/recurrent_options.h"

namespace rnnlab {

// The implementations of an image model's convolutions. They differ only in the computation: from equal parameters
// every kind gives equal results, up to rounding. Each kind adds one optimisation to the previous kind.
enum class ConvolutionKind {
  kPlain,         // torch.nn's: channels first, and a separate kernel for every operation
  kChannelsLast,  // adjacent channels of a pixel, the fastest format for libraries' kernels
  kFusedPool,     // bias, ReLU and pooling in one own kernel
  kFused,         // on a GPU also the first convolution in its pooling's kernel, if it is pooled
};

}  // namespace rnnlab

template <>
struct rnnlab::config::EnumNames<rnnlab::ConvolutionKind> {
  static constexpr std::array<std::pair<rnnlab::ConvolutionKind, std::string_view>, 4> kNames = {{
      {rnnlab::ConvolutionKind::kPlain, "plain"},
      {rnnlab::ConvolutionKind::kChannelsLast, "channels_last"},
      {rnnlab::ConvolutionKind::kFusedPool, "fused_pool"},
      {rnnlab::ConvolutionKind::kFused, "fused"},
  }};
};

namespace rnnlab {

enum class ModelKind { kSequenceClassifier, kSequenceRegressor, kLanguageModel, kImageClassifier };

// How a sequence's outputs become one vector: the outputs after its last step, or their mean over its steps.
enum class Pooling { kLast, kMean };

// pytorch: the distributions of torch.nn. xavier: Glorot and Bengio's uniform kernels and zero biases.
enum class Initialization { kPyTorch, kXavier };

struct ModelSettings {
  ModelKind kind = ModelKind::kSequenceClassifier;
  Cell cell = Cell::kLstm;
  int64_t hidden_size = 128;
  int64_t num_layers = 1;
  bool bidirectional = false;
  double dropout = 0.0;
  ResetGate reset_gate = ResetGate::kAfter;
  Activation activation = Activation::kTanh;
  Candidate candidate = Candidate::kPositive;
  int64_t heads = 1;

  Pooling pooling = Pooling::kLast;
  double output_dropout = 0.0;
  std::vector<int64_t> dense;
  Activation dense_activation = Activation::kRelu;
  double dense_dropout = 0.0;

  int64_t num_convolutions = 2;

  std::optional<int64_t> embedding_size;
  bool tied = false;

  Initialization initialization = Initialization::kPyTorch;
  std::string initial_weights;

  int64_t effective_embedding_size() const { return embedding_size.value_or(hidden_size); }

  static const config::Schema<ModelSettings>& schema();
};

// The recurrent layer's part of the settings, for a layer that reads vectors of `input_size`.
RecurrentOptions recurrent_options(const ModelSettings& settings, int64_t input_size);

}  // namespace rnnlab

namespace rnnlab::config {

template <>
struct EnumNames<ModelKind> {
  static constexpr std::array<std::pair<ModelKind, std::string_view>, 4> kNames = {
      {{ModelKind::kSequenceClassifier, "sequence_classifier"},
       {ModelKind::kSequenceRegressor, "sequence_regressor"},
       {ModelKind::kLanguageModel, "language_model"},
       {ModelKind::kImageClassifier, "image_classifier"}}};
};

template <>
struct EnumNames<Pooling> {
  static constexpr std::array<std::pair<Pooling, std::string_view>, 2> kNames = {
      {{Pooling::kLast, "last"}, {Pooling::kMean, "mean"}}};
};

template <>
struct EnumNames<Initialization> {
  static constexpr std::array<std::pair<Initialization, std::string_view>, 2> kNames = {
      {{Initialization::kPyTorch, "pytorch"}, {Initialization::kXavier, "xavier"}}};
};

}  // namespace rnnlab::config
