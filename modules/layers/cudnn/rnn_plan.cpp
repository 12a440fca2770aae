// SPDX-License-Identifier: Apache-2.0
#include "layers/cudnn/rnn_plan.h"

#include <ATen/cudnn/Handle.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros_like.h>

#include "base/error.h"
#include "layers/cells/cell.h"

namespace rnnlab {
namespace {

const void* address_of(const at::Tensor& tensor) { return tensor.defined() ? tensor.const_data_ptr() : nullptr; }
void* mutable_address_of(const at::Tensor& tensor) { return tensor.defined() ? tensor.mutable_data_ptr() : nullptr; }

const int32_t* lengths_at(const at::Tensor& lengths) { return lengths.const_data_ptr<int32_t>(); }

size_t bytes_of(const at::Tensor& tensor) { return tensor.defined() ? tensor.nbytes() : 0; }

// cuDNN requires contiguous gradients, but autograd may pass an expanded one.
at::Tensor contiguous_or_zeros(const at::Tensor& gradient, const at::Tensor& like) {
  return gradient.defined() ? gradient.contiguous() : at::zeros_like(like);
}
at::Tensor contiguous_if_defined(const at::Tensor& gradient) {
  return gradient.defined() ? gradient.contiguous() : gradient;
}
at::Tensor empty_if_defined(const at::Tensor& like) { return like.defined() ? at::empty_like(like) : like; }

SequenceLengths kind_of(const at::Tensor& lengths) {
  return lengths.defined() ? SequenceLengths::kVaried : SequenceLengths::kWhole;
}

}  // namespace

RnnPlan::RnnPlan(const RnnShape& shape, CudnnAlgorithm algorithm, const at::Tensor& lengths, const at::Tensor& weights,
                 const WeightLayout& layout)
    : rnn_(shape, algorithm, kind_of(lengths)), layout_(layout), weight_bytes_(rnn_.weight_bytes()) {
  RNNLAB_INVARIANT(rnn_.weight_layout(weights.const_data_ptr()) == layout,
                   fmt::format("cuDNN's weight layout for {} with algorithm {} differs from the layer's",
                               text_of(shape), config::name_of(algorithm)));
  RNNLAB_INVARIANT(weights.nbytes() == weight_bytes_, "the weight space does not have the size that cuDNN requires");
  const at::Tensor host_lengths =
      lengths.defined() ? lengths.to(at::kInt).contiguous() : at::full({shape.batch_size}, shape.num_steps, at::kInt);
  lengths_ = host_lengths.to(weights.device());
  if (lengths.defined())
    padding_ = at::arange(shape.num_steps, at::kInt).unsqueeze(1).ge(host_lengths).unsqueeze(2).to(weights.device());
  describe_sequences(host_lengths);
  measure_spaces();
}

void RnnPlan::describe_sequences(const at::Tensor& lengths) {
  const RnnShape& s = shape();
  double zero = 0;  // zero bits in every type
  void* padding = padding_.defined() ? &zero : nullptr;
  const auto describe = [&](const CudnnSequence& sequence, int64_t width) {
    rnn_.check(cudnnSetRNNDataDescriptor(sequence.get(), rnn_.data_type(), CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED,
                                         static_cast<int>(s.num_steps), static_cast<int>(s.batch_size),
                                         static_cast<int>(width), lengths_at(lengths), padding),
               "cudnnSetRNNDataDescriptor");
  };
  describe(input_, s.input_size);
  describe(output_, s.num_directions * s.hidden_size);

  const auto batch_size = static_cast<int>(s.batch_size), hidden_size = static_cast<int>(s.hidden_size);
  const int sizes[] = {static_cast<int>(s.num_layers * s.num_directions), batch_size, hidden_size};
  const int strides[] = {batch_size * hidden_size, hidden_size, 1};
  rnn_.check(cudnnSetTensorNdDescriptor(state_.get(), rnn_.data_type(), 3, sizes, strides),
             "cudnnSetTensorNdDescriptor");
}

void RnnPlan::measure_spaces() {
  const bool trains = shape().passes == Passes::kForwardAndBackward;
  rnn_.check(cudnnGetRNNTempSpaceSizes(at::native::getCudnnHandle(), rnn_.get(),
                                       trains ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE, input_.get(),
                                       &workspace_bytes_, trains ? &reserve_bytes_ : nullptr),
             "cudnnGetRNNTempSpaceSizes");
}

cudnnTensorDescriptor_t RnnPlan::cell() const { return has_cell_state(shape().cell) ? state_.get() : nullptr; }

at::Tensor RnnPlan::workspace() const {
  return at::empty({static_cast<int64_t>(workspace_bytes_)}, lengths_.options().dtype(at::kByte));
}

RnnOutputs RnnPlan::forward(const RnnOperands& operands) const {
  const RnnShape& s = shape();
  const bool trains = s.passes == Passes::kForwardAndBackward;
  RnnOutputs outputs;
  outputs.output = at::empty({s.num_steps, s.batch_size, s.num_directions * s.hidden_size}, operands.input.options());
  outputs.hidden = at::empty_like(operands.hidden);
  outputs.cell = empty_if_defined(operands.cell);
  if (trains) outputs.reserve = at::empty({static_cast<int64_t>(reserve_bytes_)}, lengths_.options().dtype(at::kByte));
  const at::Tensor space = workspace();
  rnn_.check(cudnnRNNForward(
                 at::native::getCudnnHandle(), rnn_.get(), trains ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE,
                 lengths_at(lengths_), input_.get(), address_of(operands.input), output_.get(),
                 mutable_address_of(outputs.output), state_.get(), address_of(operands.hidden),
                 mutable_address_of(outputs.hidden), cell(), address_of(operands.cell),
                 mutable_address_of(outputs.cell), weight_bytes_, address_of(operands.weights), workspace_bytes_,
                 mutable_address_of(space), bytes_of(outputs.reserve), mutable_address_of(outputs.reserve)),
             "cudnnRNNForward");
  return outputs;
}

// cuDNN computes the weights' gradient from the reserve space after the pass for the data, so that pass always runs.
RnnGradients RnnPlan::backward(const RnnOperands& operands, const RnnOutputs& outputs, const RnnUpstream& upstream,
                               WeightGradient weight_gradient_wanted) const {
  const at::Tensor d_output = contiguous_or_zeros(upstream.output, outputs.output);
  const at::Tensor d_hidden = contiguous_if_defined(upstream.hidden), d_cell = contiguous_if_defined(upstream.cell);
  RnnGradients gradients = {at::empty_like(operands.input), at::empty_like(operands.hidden),
                            empty_if_defined(operands.cell), at::Tensor()};
  const at::Tensor space = workspace();
  rnn_.check(cudnnRNNBackwardData_v8(
                 at::native::getCudnnHandle(), rnn_.get(), lengths_at(lengths_), output_.get(),
                 address_of(outputs.output), address_of(d_output), input_.get(), mutable_address_of(gradients.input),
                 state_.get(), address_of(operands.hidden), address_of(d_hidden), mutable_address_of(gradients.hidden),
                 cell(), address_of(operands.cell), address_of(d_cell), mutable_address_of(gradients.cell),
                 weight_bytes_, address_of(operands.weights), workspace_bytes_, mutable_address_of(space),
                 bytes_of(outputs.reserve), mutable_address_of(outputs.reserve)),
             "cudnnRNNBackwardData_v8");
  if (padding_.defined()) gradients.input.masked_fill_(padding_, 0);
  if (weight_gradient_wanted == WeightGradient::kWanted) gradients.weights = weight_gradient(operands, outputs, space);
  return gradients;
}

at::Tensor RnnPlan::weight_gradient(const RnnOperands& operands, const RnnOutputs& outputs,
                                    const at::Tensor& space) const {
  at::Tensor gradient = at::zeros_like(operands.weights);  // cuDNN adds to it
  rnn_.check(cudnnRNNBackwardWeights_v8(
                 at::native::getCudnnHandle(), rnn_.get(), CUDNN_WGRAD_MODE_ADD, lengths_at(lengths_), input_.get(),
                 address_of(operands.input), state_.get(), address_of(operands.hidden), output_.get(),
                 address_of(outputs.output), weight_bytes_, mutable_address_of(gradient), workspace_bytes_,
                 mutable_address_of(space), bytes_of(outputs.reserve), mutable_address_of(outputs.reserve)),
             "cudnnRNNBackwardWeights_v8");
  return gradient;
}

}  // namespace rnnlab
