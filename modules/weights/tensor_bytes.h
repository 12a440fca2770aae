// LibTorch's tensors as the bytes that checkpoints hold, and back.
#pragma once

#include <vector>

#include "checkpoint/tensor_view.h"
#include "training/named_tensor.h"

namespace rnnlab {

// What the tensor is, without its numbers.
TensorSpec spec_of(const NamedTensor& tensor);
std::vector<TensorSpec> specs_of(const std::vector<NamedTensor>& tensors);

// Over the tensor's own memory, which must outlive it: contiguous, on the CPU.
TensorView view_of(const NamedTensor& tensor);
std::vector<TensorView> views_of(const std::vector<NamedTensor>& tensors);

// A copy.
NamedTensor to_tensor(const TensorView& view);
std::vector<NamedTensor> to_tensors(const std::vector<TensorView>& views);

}  // namespace rnnlab
