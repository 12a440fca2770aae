// SPDX-License-Identifier: Apache-2.0
// Receives the gradients of a layer's parameters while the layer's backward pass still computes others. So a process
// can send the gradients of upper layers to other processes while lower layers compute, and without copying them first.
//
// Left out: gradients that autograd adds up over several passes. A sink gives no place for those.
#pragma once

#include <ATen/core/Tensor.h>

#include <span>

namespace rnnlab {

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
