// SPDX-License-Identifier: Apache-2.0
// Defines the names and shapes of a recurrent layer's parameters, which are equal for every layer kind. For the cells
// of libraries they are PyTorch's, in PyTorch's order. The layer allocates the tensors. Also a tensor with its name,
// and who receives the gradients of parameters.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "layers/cells/cell.h"

namespace rnnlab {

// Holds a tensor with its name in files and messages. A copy of a NamedTensor shares the numbers of the tensor.
struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

enum class Direction { kForward, kReverse };

// Returns the parameters of the cell, each name with the layer's number and direction: layer 0 forward, layer 0
// reverse, layer 1 forward ... The cells of libraries have weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0 ...
std::vector<ParameterSpec> parameter_specs(const RecurrentOptions& options);

// This is the number of parameters of one direction of one layer, for the cells of libraries.
inline constexpr size_t kParametersPerDirection = 4;

// The weights of one direction of one layer, whose rows are those of the gates that read the input, or the hidden
// state.
struct DirectionWeights {
  at::Tensor weight_ih;     // (G * H, I)
  at::Tensor weight_hh;     // (G * H, H), or undefined if no gate reads the hidden state
  at::Tensor bias_ih;       // (G * H)
  at::Tensor bias_hh;       // (G * H), or undefined if the cell has one bias
  at::Tensor vectors = {};  // (V * H): the learned vectors one after the other, or undefined if the cell has none
};

// Returns the type of autocast if autocast is on, otherwise the tensor's type.
at::ScalarType product_type(const at::Tensor& tensor);

// Returns the tensor in the type of autocast if autocast is on, otherwise the tensor itself. Autocast caches the
// conversion of a parameter, but not of its slices, which a loop would convert again at every step.
at::Tensor in_product_type(const at::Tensor& tensor);

// Returns the weights of direction `index` (layer 0 forward, layer 0 reverse, layer 1 forward ...) without a
// conversion. `weights` are those of a layer with this cell, some of whose gates read the input, in the order of
// parameter_specs.
DirectionWeights parameters_of(const CellProgram& cell, const std::vector<at::Tensor>& weights, size_t index);

// Returns the result of parameters_of in product type.
DirectionWeights direction_weights(const CellProgram& cell, const std::vector<at::Tensor>& weights, size_t index);

// Receives the gradients of a layer's parameters while the layer's backward pass still computes others. So a process
// can send the gradients of upper layers to other processes while lower layers compute, and without copying them first.
//
// Left out: gradients that autograd adds up over several passes. A sink gives no place for those.
class GradientSink {
 public:
  virtual ~GradientSink() = default;

  // Returns memory into which the pass writes the gradient of `parameter`, with the parameter's shape, strides and
  // type. Returns an undefined tensor if the pass must allocate the gradient.
  virtual at::Tensor place_of(const at::Tensor& parameter) = 0;

  // The pass calls this function after it has queued all work that writes the gradients of these parameters. The
  // current stream is the one on which that work is queued.
  virtual void on_written(std::span<const at::Tensor> parameters) = 0;
};

}  // namespace rnnlab
