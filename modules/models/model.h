// The one interface of all models: a batch in, unnormalised predictions out. Which loss they meet is training's affair,
// how the recurrent layer computes is the layer's. An image model has none.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <memory>

#include "base/error.h"
#include "data/batches.h"
#include "models/model_settings.h"
#include "recurrent/recurrent_layer.h"

namespace rnnlab {

class Model : public torch::nn::Module {
 public:
  // (B, classes) logits, (B, K) values or logits, or (T, B, vocabulary) logits, on the batch's device.
  virtual at::Tensor forward(const Batch& batch) = 0;

  bool has_recurrent() const { return recurrent_ != nullptr; }

  // Requires has_recurrent().
  const RecurrentLayer& recurrent() const {
    RNNLAB_INVARIANT(has_recurrent(), "the model has no recurrent layer");
    return *recurrent_;
  }

 protected:
  Model() = default;  // without a recurrent layer
  Model(LayerChoice layer, const RecurrentOptions& options);
  RecurrentLayer& recurrent() { return *recurrent_; }
  at::Tensor dropped(const at::Tensor& values, double probability) const;  // in training; as they are in evaluation

 private:
  std::shared_ptr<RecurrentLayer> recurrent_;  // registered as "recurrent", or none
};

// On the CPU, in float32, with weights that are still to be set by initialize() (model_parameters.h).
// UserError kUsage where the model does not fit the data or the layer cannot do what the settings ask.
std::shared_ptr<Model> make_model(const ModelSettings& settings, LayerChoice layer, const DataShape& shape,
                                  ConvolutionKind convolution = ConvolutionKind::kFused);

// The recurrent layer's part of the settings.
RecurrentOptions recurrent_options(const ModelSettings& settings, int64_t input_size);

}  // namespace rnnlab
