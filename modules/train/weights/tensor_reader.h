// SPDX-License-Identifier: Apache-2.0
// Reads the tensors of a file one by one with their expected shapes, and checks that all tensors were read. Converts
// LibTorch's tensors to the bytes of checkpoints and back.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "layers/parameters.h"
#include "results/checkpoint/safetensors.h"

namespace rnnlab {

// Returns how many numbers the tensors have in all.
int64_t num_values(const std::vector<NamedTensor>& tensors);

// Returns the name, type and shape of the tensor.
TensorSpec spec_of(const NamedTensor& tensor);
std::vector<TensorSpec> specs_of(const std::vector<NamedTensor>& tensors);

// Returns a view of the tensor's own memory, which must outlive the view: contiguous, on the CPU.
TensorView view_of(const NamedTensor& tensor);
std::vector<TensorView> views_of(const std::vector<NamedTensor>& tensors);

// Returns a copy.
NamedTensor to_tensor(const TensorView& view);
std::vector<NamedTensor> to_tensors(const std::vector<TensorView>& views);

// Converts the tensors of a file that are F64, F16 or BF16 to F32, in which all weights are read, and appends a
// sentence about it to `notes`. F16 and BF16 have exact values in F32. Throws UserError kCheckpoint for a finite number
// of F64 that F32 cannot hold.
TensorFile with_float32(const TensorFile& file, std::vector<std::string>& notes);

class TensorReader {
 public:
  explicit TensorReader(const TensorFile& file);  // `file` must outlive the reader

  const TensorFile& file() const { return file_; }
  bool has(std::string_view name) const { return views_.contains(name); }
  bool has_under(std::string_view prefix) const;  // whether a tensor's name begins with `prefix`

  // Returns the sizes of a tensor with `num_dimensions` sizes, each above zero. Throws UserError kCheckpoint if the
  // tensor is missing or has a different shape.
  std::vector<int64_t> sizes_of(const std::string& name, size_t num_dimensions) const;

  // Returns a copy of a float32 tensor of this shape. Throws UserError kCheckpoint if it is missing or different.
  at::Tensor take(const std::string& name, const std::vector<int64_t>& shape);

  // Throws UserError kCheckpoint with the first tensor that take() did not return.
  void require_all_taken() const;

 private:
  const TensorView* find(std::string_view name) const;

  const TensorFile& file_;
  std::map<std::string_view, const TensorView*> views_;
  std::set<std::string> taken_;
};

}  // namespace rnnlab
