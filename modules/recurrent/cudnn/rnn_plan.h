// cuDNN's forward and backward pass of a recurrent stack at one shape, by one algorithm: the descriptors, the sizes of
// its spaces and the calls. Made once and used at every step; nothing in a pass waits for the device or allocates
// outside LibTorch's allocator, so that a CUDA graph can hold it. Runs on the current device and stream, and knows
// nothing of autograd.
#pragma once

#include "recurrent/cudnn/rnn_descriptor.h"

namespace rnnlab {

// All contiguous, on one device, in the shape's type.
struct RnnOperands {
  at::Tensor input;    // (T, B, I)
  at::Tensor hidden;   // (L * D, B, H)
  at::Tensor cell;     // the same, LSTM only
  at::Tensor weights;  // cuDNN's weight space, one dimension
};

struct RnnOutputs {
  at::Tensor output;   // (T, B, D * H), zero beyond each length
  at::Tensor hidden;   // (L * D, B, H)
  at::Tensor cell;     // the same, LSTM only
  at::Tensor reserve;  // what the backward pass needs, bytes; undefined after Passes::kForward. That pass writes to it
};

// Of the loss, by what they are named after; undefined means zero.
struct RnnUpstream {
  at::Tensor output, hidden, cell;
};

struct RnnGradients {
  at::Tensor input, hidden, cell;
  at::Tensor weights;  // as RnnOperands::weights; undefined where not asked for
};

enum class WeightGradient { kWanted, kUnwanted };

class RnnPlan {
 public:
  // lengths: (B) int64 on the CPU, or undefined where every sequence is whole. weights: where a weight space lies that
  // is laid out as `layout`. UserError (failure_of) where cuDNN refuses; InvariantError where its layout is another.
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
  cudnnTensorDescriptor_t cell() const;  // of its state; LSTM only
  at::Tensor workspace() const;
  at::Tensor weight_gradient(const RnnOperands& operands, const RnnOutputs& outputs, const at::Tensor& workspace) const;

  RnnDescriptor rnn_;
  WeightLayout layout_;
  CudnnSequence input_, output_;
  CudnnTensor state_;
  at::Tensor lengths_;  // (B) int32 on the device
  at::Tensor padding_;  // (T, B, 1) bool on the device, true beyond each length; undefined where all are whole
  size_t weight_bytes_ = 0, workspace_bytes_ = 0, reserve_bytes_ = 0;
};

}  // namespace rnnlab
