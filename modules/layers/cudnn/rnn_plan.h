// SPDX-License-Identifier: Apache-2.0
// Runs cuDNN's forward and backward pass of a recurrent stack for one shape, with one algorithm. A plan holds the
// descriptors and the sizes of its spaces, is made once and used at every step. A pass does not wait for the device and
// allocates only through LibTorch's allocator, so a CUDA graph can hold it. A pass runs on the current device and
// stream. Autograd is left out.
#pragma once

#include "layers/cudnn/rnn_descriptor.h"

namespace rnnlab {

// All tensors are contiguous, on one device, in the shape's type.
struct RnnOperands {
  at::Tensor input;    // (T, B, I)
  at::Tensor hidden;   // (L * D, B, H)
  at::Tensor cell;     // (L * D, B, H), LSTM only
  at::Tensor weights;  // cuDNN's weight space, one dimension
};

struct RnnOutputs {
  at::Tensor output;   // (T, B, D * H), zero beyond each length
  at::Tensor hidden;   // (L * D, B, H)
  at::Tensor cell;     // (L * D, B, H), LSTM only
  at::Tensor reserve;  // bytes for the backward pass, which writes to it; undefined after Passes::kForward
};

// Holds gradients of the loss by the outputs of these names; an undefined tensor means zero.
struct RnnUpstream {
  at::Tensor output, hidden, cell;
};

struct RnnGradients {
  at::Tensor input, hidden, cell;
  at::Tensor weights;  // in the form of RnnOperands::weights; undefined if unwanted
};

enum class WeightGradient { kWanted, kUnwanted };

class RnnPlan {
 public:
  // lengths: (B) int64 on the CPU, or undefined if every sequence is whole. weights: a weight space in the layout
  // `layout`, for its address. Throws UserError (failure_of) if cuDNN rejects the shape, InvariantError if its layout
  // differs.
  RnnPlan(const RnnShape& shape, CudnnAlgorithm algorithm, const at::Tensor& lengths, const at::Tensor& weights,
          const WeightLayout& layout);

  const RnnShape& shape() const { return rnn_.shape(); }
  CudnnAlgorithm algorithm() const { return rnn_.algorithm(); }
  const WeightLayout& weight_layout() const { return layout_; }

  RnnOutputs forward(const RnnOperands& operands) const;
  RnnGradients backward(const RnnOperands& operands, const RnnOutputs& outputs, const RnnUpstream& upstream,
                        WeightGradient weight_gradient) const;

 private:
  void describe_sequences(const at::Tensor& lengths);
  void measure_spaces();
  cudnnTensorDescriptor_t cell() const;  // descriptor of the cell state; LSTM only
  at::Tensor workspace() const;
  at::Tensor weight_gradient(const RnnOperands& operands, const RnnOutputs& outputs, const at::Tensor& workspace) const;

  RnnDescriptor rnn_;
  WeightLayout layout_;
  CudnnSequence input_, output_;
  CudnnTensor state_;
  at::Tensor lengths_;  // (B) int32 on the device
  at::Tensor padding_;  // (T, B, 1) bool on the device, true beyond each length; undefined if all are whole
  size_t weight_bytes_ = 0, workspace_bytes_ = 0, reserve_bytes_ = 0;
};

}  // namespace rnnlab
