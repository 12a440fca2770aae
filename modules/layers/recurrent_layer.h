// SPDX-License-Identifier: Apache-2.0
// Defines the interface of all recurrent layers: a sequence and an initial state in, outputs and a final state out. All
// implementations have the same parameters (parameters.h), so weights can be copied between layers of the same options,
// and give the same results except for rounding. Layers differ only in how they compute.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "layers/layer_kind.h"
#include "layers/parameters.h"
#include "layers/segments.h"

namespace rnnlab {

// T steps, B sequences, I inputs, H hidden units, L layers, D directions.
struct RecurrentState {
  at::Tensor hidden;              // (L * D, B, H), layer by layer, forward before reverse; undefined means zeros
  std::vector<at::Tensor> inner;  // the other states of the cell in the order of its record, in the same shape

  // cell: the second state, an LSTM's cell state; undefined means that it is not given.
  RecurrentState(at::Tensor hidden_states = {}, const at::Tensor& cell = {}) : hidden(std::move(hidden_states)) {
    if (cell.defined()) inner.push_back(cell);
  }

  // Returns the second state, or an undefined tensor.
  at::Tensor cell() const { return inner.empty() ? at::Tensor() : inner.front(); }
};

struct RecurrentResult {
  at::Tensor output;  // (T, B, D * H), or (B, T, D * H) if batch_first; zero beyond each sequence's length
  // These tensors may be views of data that the backward pass needs. Copy them before you change or store them.
  RecurrentState state;  // after the last step of each sequence in reading order

  // If they were asked for, the states after each step in the order of the cell's record, each (L * D, T, B, H), or (L
  // * D, B, T, H) if batch_first, at the step's position and zero beyond each sequence's length.
  std::vector<at::Tensor> all_states = {};
};

// Which states a pass returns; those of the last step always.
enum class StatesOf { kLastStep, kEveryStep };

class RecurrentLayer : public torch::nn::Module {
 public:
  // input: (T, B, I), or (B, T, I) if batch_first, in the type and on the device of the parameters (any floating type
  // under autocast). lengths: (B) int64 on the CPU, each from 1 to T, in any order; undefined if every sequence is
  // whole. Beyond its length a sequence's input is not read and its state does not change; the reverse direction starts
  // at its last step. starts: bool on the input's device, (T, B), or (B, T) if batch_first: the states are zero before
  // these steps, and no gradient passes over their beginning (segments.h). Starts and the states of every step are only
  // for layers whose record has these features. Throws InvariantError for invalid arguments. Under autocast products
  // are computed in its type, and the implementation determines the type of the results.
  RecurrentResult forward(const at::Tensor& input, const RecurrentState& initial = {}, const at::Tensor& lengths = {},
                          const at::Tensor& starts = {}, StatesOf states = StatesOf::kLastStep);

  // Works like forward for an input whose steps are rows of a table; the input itself need not be built. table: (V, I);
  // tokens: int64, (T, B), or (B, T) if batch_first, each below V.
  RecurrentResult forward_tokens(const at::Tensor& table, const at::Tensor& tokens, const RecurrentState& initial = {},
                                 const at::Tensor& lengths = {}, const at::Tensor& starts = {});

  // Returns whether final states are separate results. A gradient of the final states alone then takes less time than a
  // gradient of the output's last step, which has zeros for all other steps.
  virtual bool has_own_final_states() const { return false; }

  // Registers the parameters and draws their values. make_layer calls this function once.
  virtual void draw_weights() { register_uniform_parameters(); }

  // Lets the following passes compute with these tensors, in the order of parameter_specs and in its shapes, on one
  // device and in one floating type. Gradients arrive at them. Only a layer without parameters of its own has such
  // weights; with none, it cannot run.
  void use_weights(std::vector<at::Tensor> weights);

  // Sets who receives gradients during the backward pass of later calls of forward(); null: nobody. `sink` must outlive
  // these passes. Layers that compute all gradients at once do not use it.
  void set_gradient_sink(GradientSink* sink) { gradient_sink_ = sink; }

  const RecurrentOptions& options() const { return options_; }
  virtual LayerKind kind() const = 0;

 protected:
  explicit RecurrentLayer(const RecurrentOptions& options);

  // Registers the tensor that `make` returns for each specification.
  void register_parameters(const std::function<at::Tensor(const ParameterSpec&)>& make);

  // Registers float32 tensors on the CPU, drawn from U(-1/sqrt(H), 1/sqrt(H)).
  void register_uniform_parameters();

  // Returns the tensors of register_parameters in order, which stay the same tensors if the module moves, or those of
  // use_weights.
  const std::vector<at::Tensor>& weights() const { return weights_; }
  bool has_own_weights() const { return !parameters_.is_empty(); }

  GradientSink* gradient_sink() const { return gradient_sink_; }  // may be null

  // Computes the layer. input: (T, B, I). initial: checked, with all states of the cell; a state is undefined if it was
  // not given and begins_without_states. segments: checked. The result has T first.
  virtual RecurrentResult run(const at::Tensor& input, const RecurrentState& initial, const Segments& segments,
                              StatesOf states) = 0;

  // Returns whether run treats undefined initial states as zeros, which then need not be allocated.
  virtual bool begins_without_states() const { return false; }

  // reads_tokens returns whether the layer has a special way to read rows of this table; run_tokens uses it. tokens:
  // (T, B), every sequence whole and without starts.
  virtual bool reads_tokens(const at::Tensor& /*table*/, int64_t /*num_tokens*/) const { return false; }
  virtual RecurrentResult run_tokens(const at::Tensor& table, const at::Tensor& tokens, const RecurrentState& initial);

 private:
  RecurrentState complete(const RecurrentState& initial, int64_t batch_size) const;
  RecurrentResult in_layout(RecurrentResult result) const;
  Segments checked(const at::Tensor& input, const at::Tensor& lengths, const at::Tensor& starts) const;

  RecurrentOptions options_;
  std::vector<at::Tensor> weights_;
  GradientSink* gradient_sink_ = nullptr;
};

// Implements LayerInfo::make for a class that is constructed from the options.
template <class Layer>
std::shared_ptr<RecurrentLayer> make_layer_of(const RecurrentOptions& options) {
  return std::make_shared<Layer>(options);
}

// Returns a layer with weights and biases drawn from U(-1/sqrt(H), 1/sqrt(H)), as in PyTorch, in float32 on the CPU.
// Throws UserError kUsage if the kind does not support the options.
std::shared_ptr<RecurrentLayer> make_layer(LayerKind kind, const RecurrentOptions& options);

// Works like make_layer, but the layer has no parameters, and no random numbers are drawn. Give it weights
// (use_weights) before each pass.
std::shared_ptr<RecurrentLayer> make_layer_without_weights(LayerKind kind, const RecurrentOptions& options);

// Copies every parameter by name and converts type and device. If the layers have different names or shapes, copies
// nothing and throws InvariantError with the parameter.
void copy_weights(const RecurrentLayer& from, RecurrentLayer& to);

// This is the name of the range that forward() opens for profilers and for execution_path.h. The range's single input
// is the number of cell steps, T * L * D.
inline constexpr const char* kForwardRange = "rnnlab::RecurrentLayer::forward";

// ---- tokens ----

// Looks up rows of a table by token, like at::embedding. table: (V, I); tokens: any shape S, int64 -> (S, I). On a GPU
// the gradient is a product if the table has few rows and there are many tokens: LibTorch sorts the tokens instead,
// which for 65 characters takes ten times as long. The rows have the type of autocast if it is on, because their reader
// would convert them. Not differentiable twice on a GPU.
at::Tensor embedding_lookup(const at::Tensor& table, const at::Tensor& tokens);

// Returns whether a product with one_hot_of_tokens is faster and its memory is at most 256 MB.
bool gains_by_one_hot(int64_t num_rows, int64_t num_tokens);

// Returns (V, N): 1 if the n-th of N tokens is the row's token, otherwise 0. Products read it by rows, whose length N
// is more suitable for kernels than V.
at::Tensor one_hot_of_tokens(const at::Tensor& tokens, int64_t num_rows, const at::TensorOptions& options);

}  // namespace rnnlab
