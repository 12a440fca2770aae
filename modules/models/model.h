// The interface of all models: a batch is the input, unnormalised predictions are the output. The loss belongs to
// training, and the computation of the recurrent layer to the layer. An image model does not have a recurrent layer.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <memory>
#include <vector>

#include "base/error.h"
#include "data/batches.h"
#include "models/model_settings.h"
#include "recurrent/parameters.h"
#include "recurrent/recurrent_layer.h"

namespace rnnlab {

class Model : public torch::nn::Module {
 public:
  // Returns (B, classes) logits, (B, K) values or logits, or (T, B, vocabulary) logits, on the batch's device.
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
  at::Tensor dropped(const at::Tensor& values, double probability) const;  // dropout in training only

 private:
  std::shared_ptr<RecurrentLayer> recurrent_;  // registered as "recurrent"; null if the model has no recurrent layer
};

// Returns the parameters of the model that make_model would make, in its order; int64_t's maximum for an overflow.
std::vector<ParameterSpec> parameter_specs(const ModelSettings& settings, const DataShape& shape);

// Returns the bytes of float32 parameters; the largest int64_t on overflow.
int64_t bytes_of(const std::vector<ParameterSpec>& specs);

// Creates a model on the CPU, in float32; initialize() (model_parameters.h) must set its weights. Throws UserError
// kUsage if the model does not fit the data or the layer does not support the settings.
std::shared_ptr<Model> make_model(const ModelSettings& settings, LayerChoice layer, const DataShape& shape,
                                  ConvolutionKind convolution = ConvolutionKind::kFused);

}  // namespace rnnlab
