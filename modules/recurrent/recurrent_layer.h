// The one interface of all recurrent layers: a sequence and an initial state in, outputs and a final state out. Every
// implementation has the same parameters under PyTorch's names (parameters.h), so weights copy from any layer to any
// other of the same options, and gives the same results to rounding. Layers differ only in how they compute.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "recurrent/layer_kind.h"
#include "recurrent/parameters.h"

namespace rnnlab {

// T steps, B sequences, I inputs, H hidden units, L layers, D directions.
struct RecurrentState {
  at::Tensor hidden;              // (L * D, B, H), layer by layer, forward before reverse; undefined means zeros
  std::vector<at::Tensor> inner;  // the cell's other states in the order of its record (cells/cell.h), likewise

  // cell: the second state, an LSTM's cell state; undefined means that it is not given.
  RecurrentState(at::Tensor hidden_states = {}, const at::Tensor& cell = {}) : hidden(std::move(hidden_states)) {
    if (cell.defined()) inner.push_back(cell);
  }

  // The second state, or an undefined tensor.
  at::Tensor cell() const { return inner.empty() ? at::Tensor() : inner.front(); }
};

struct RecurrentResult {
  at::Tensor output;  // (T, B, D * H), or (B, T, D * H) if batch_first; zero beyond each sequence's length
  // Its tensors may be views of what the backward pass needs: to change them, or to keep them for longer, copy them.
  RecurrentState state;  // after the last step of each sequence in reading order
};

class RecurrentLayer : public torch::nn::Module {
 public:
  // input: (T, B, I), or (B, T, I) if batch_first, in the type and on the device of the parameters (any floating type
  // under autocast). lengths: (B) int64 on the CPU, each from 1 to T, in any order; undefined when every sequence is
  // whole. Beyond its length a sequence's input is not read, its state stands still, and the reverse direction starts
  // at its last step. Throws InvariantError for anything else. Under autocast products run in its type, and the type of
  // the results is the implementation's.
  RecurrentResult forward(const at::Tensor& input, const RecurrentState& initial = {}, const at::Tensor& lengths = {});

  // The same for an input whose steps are rows of a table, which need not exist then. table: (V, I); tokens: int64, (T,
  // B), or (B, T) if batch_first, each below V.
  RecurrentResult forward_tokens(const at::Tensor& table, const at::Tensor& tokens, const RecurrentState& initial = {},
                                 const at::Tensor& lengths = {});

  // Whether final states are results of their own: a gradient of them alone then takes less than one of the output's
  // last step, which has zeros for all other steps.
  virtual bool has_own_final_states() const { return false; }

  const RecurrentOptions& options() const { return options_; }
  virtual LayerKind kind() const = 0;

 protected:
  explicit RecurrentLayer(const RecurrentOptions& options);

  // Registers the tensor that `make` gives for each specification.
  void register_parameters(const std::function<at::Tensor(const ParameterSpec&)>& make);

  // The same, drawn from U(-1/sqrt(H), 1/sqrt(H)), float32 on the CPU.
  void register_uniform_parameters();

  // Of the tensors of register_parameters, in order; they stay the same tensors when the module moves.
  const std::vector<at::Tensor>& weights() const { return weights_; }

  // The work. input: (T, B, I). initial: checked, with all states of the cell; undefined where nothing was given
  // and begins_without_states. lengths: checked, or undefined. Result: T first.
  virtual RecurrentResult run(const at::Tensor& input, const RecurrentState& initial, const at::Tensor& lengths) = 0;

  // Whether run takes undefined initial states for zeros, which nobody has to make then.
  virtual bool begins_without_states() const { return false; }

  // Whether it has a way of its own with rows of this table, and that way: tokens: (T, B), every sequence whole.
  virtual bool reads_tokens(const at::Tensor& /*table*/, int64_t /*num_tokens*/) const { return false; }
  virtual RecurrentResult run_tokens(const at::Tensor& table, const at::Tensor& tokens, const RecurrentState& initial);

 private:
  RecurrentState complete(const RecurrentState& initial, int64_t batch_size) const;

  RecurrentOptions options_;
  std::vector<at::Tensor> weights_;
};

// A layer with weights and biases drawn from U(-1/sqrt(H), 1/sqrt(H)), as PyTorch draws them, in float32 on the CPU.
// UserError kUsage where refusal(kind, options) has a reason.
std::shared_ptr<RecurrentLayer> make_layer(LayerKind kind, const RecurrentOptions& options);

// Copies every parameter by name, converting type and device. InvariantError naming the parameter where the two layers
// do not have the same names and shapes; nothing is copied then.
void copy_weights(const RecurrentLayer& from, RecurrentLayer& to);

// The range that forward() opens for profilers and for execution_path.h; its one input is the number of cell steps, T *
// L * D.
inline constexpr const char* kForwardRange = "rnnlab::RecurrentLayer::forward";

}  // namespace rnnlab
