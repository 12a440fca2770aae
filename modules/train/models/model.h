// SPDX-License-Identifier: Apache-2.0
// The interface of all models: a batch is the input, unnormalised predictions are the output. The loss belongs to
// training, and the computation of the recurrent layer to the layer. An image model does not have a recurrent layer.
// Also a model's parameters: their shapes before the model exists, their initial values, their digest, and the table at
// the start of a run's log.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/batches.h"
#include "layers/parameters.h"
#include "layers/recurrent_layer.h"
#include "train/models/model_settings.h"

namespace rnnlab {

// What a model computes from a piece of longer sequences.
struct Continuation {
  at::Tensor outputs;    // (T, B, outputs of the model): after each step of the piece
  RecurrentState state;  // after its last step
};

class Model : public torch::nn::Module {
 public:
  // Returns (B, classes) logits or (B, K) values or logits; for targets of each step (T, B, classes) or (T, B, K). On
  // the batch's device.
  virtual at::Tensor forward(const Batch& batch) = 0;

  // Reads a piece of longer sequences, (T, B, F) or (T, B) tokens, after `state`; an empty state begins them. The
  // output of a step is what forward() has for a sequence that ends with this step. Requires that
  // ModelInfo::why_not_continued has no reason against it.
  virtual Continuation continue_from(const RecurrentState& state, const at::Tensor& inputs);

  bool has_recurrent() const { return recurrent_ != nullptr; }

  // Requires has_recurrent().
  const RecurrentLayer& recurrent() const {
    RNNLAB_INVARIANT(has_recurrent(), "the model has no recurrent layer");
    return *recurrent_;
  }

  // Makes each forward pass of training begin with the states after the pass before it: row b of a batch continues row
  // b of the batch before. No gradient flows back through these states. They are zeros before the first pass. Requires
  // can_carry_states(). Source: truncated backpropagation through time (Williams and Peng 1990).
  void carry_states(int64_t batch_size);
  virtual bool can_carry_states() const { return false; }

  // Sets the carried states to zeros, as at the beginning of a text.
  void forget_states();

  // Returns the carried states, (L * D, B, H) float32 each, in the order of the cell's record; they are not copies.
  // Empty without carry_states().
  const std::vector<at::Tensor>& carried_states() const { return carried_; }

 protected:
  Model() = default;  // without a recurrent layer
  Model(LayerChoice layer, const RecurrentOptions& options);
  RecurrentLayer& recurrent() { return *recurrent_; }

  // Registers a further network of recurrent layers by this name, computed as `layer` says.
  std::shared_ptr<RecurrentLayer> add_recurrent(const char* name, LayerChoice layer, const RecurrentOptions& options);

  at::Tensor dropped(const at::Tensor& values, double probability) const;  // dropout in training only

  // Returns the carried states for a pass of training, else no states; and stores the states after such a pass.
  RecurrentState initial_states() const;
  void store_states(const RecurrentState& states);

 private:
  std::shared_ptr<RecurrentLayer> recurrent_;  // registered as "recurrent"; null if the model has no recurrent layer
  std::vector<at::Tensor> carried_;
};

// Returns the parameters of the model that make_model would make, in its order; int64_t's maximum for an overflow.
std::vector<ParameterSpec> parameter_specs(const ModelSettings& settings, const DataShape& shape);

// Returns the bytes of float32 parameters; the largest int64_t on overflow.
int64_t bytes_of(const std::vector<ParameterSpec>& specs);

// Creates a model on the CPU, in float32; initialize() must set its weights. Throws UserError
// kUsage if the model does not fit the data or the layer does not support the settings.
std::shared_ptr<Model> make_model(const ModelSettings& settings, LayerChoice layer, const DataShape& shape,
                                  ConvolutionKind convolution = ConvolutionKind::kFused);

// Returns the SHA-256 over every parameter's name, shape and float32 values, ordered by name. It is equal on every
// device and for every layer kind.
std::string weights_sha256(const Model& model);

// Returns one line "name  shape  parameters" for each parameter, and the total with its bytes.
std::string parameter_table(const Model& model);

int64_t num_parameters(const Model& model);

// Overwrites every parameter in place, on every device and for every type, with initial weights drawn in float32 on the
// CPU. They are a pure function of (seed, parameter name, shape), so every layer kind and every device starts from
// equal weights, and adding a layer does not change the weights of existing layers.
//   pytorch  weights and biases U(-a, a) with a = 1 / sqrt(hidden_size) in recurrent layers and 1 / sqrt(inputs) in
//            dense layers and convolutions; embedding N(0, 1), but a tied embedding is drawn as the output layer.
//   xavier   weights U(-a, a) with a = sqrt(6 / (inputs + outputs)); biases 0. The outputs of a recurrent kernel are
//            those of all its gates, as in Keras.
//   keras    as xavier, but recurrent weights have orthonormal columns over all gates of a head (Saxe, McClelland and
//            Ganguli 2013), the forget gate of lstm and lstm_peephole has the bias 1 (Gers, Schmidhuber and Cummins
//            2000; Jozefowicz, Zaremba and Sutskever 2015), and embeddings U(-0.05, 0.05).
void initialize(Model& model, Initialization initialization, uint64_t seed);

}  // namespace rnnlab
