// The tensors of a file, taken one by one by who knows what to expect; in the end none may be left.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/safetensors.h"
#include "checkpoint/tensor_view.h"
#include "training/named_tensor.h"

namespace rnnlab {

// LibTorch's tensors as the bytes that checkpoints hold, and back.

// What the tensor is, without its numbers.
TensorSpec spec_of(const NamedTensor& tensor);
std::vector<TensorSpec> specs_of(const std::vector<NamedTensor>& tensors);

// Over the tensor's own memory, which must outlive it: contiguous, on the CPU.
TensorView view_of(const NamedTensor& tensor);
std::vector<TensorView> views_of(const std::vector<NamedTensor>& tensors);

// A copy.
NamedTensor to_tensor(const TensorView& view);
std::vector<NamedTensor> to_tensors(const std::vector<TensorView>& views);

class TensorReader {
 public:
  explicit TensorReader(const TensorFile& file);  // which must outlive it

  const TensorFile& file() const { return file_; }
  bool has(std::string_view name) const { return views_.contains(name); }
  bool has_under(std::string_view prefix) const;  // a tensor whose name begins so

  // The sizes of a tensor that has so many of them, each above zero. UserError kCheckpoint where there is none such.
  std::vector<int64_t> sizes_of(const std::string& name, size_t num_dimensions) const;

  // A copy of a float32 tensor of this shape. UserError kCheckpoint where it is not there or is something else.
  at::Tensor take(const std::string& name, const std::vector<int64_t>& shape);

  // UserError kCheckpoint names the first that nobody took.
  void require_all_taken() const;

 private:
  const TensorView* find(std::string_view name) const;

  const TensorFile& file_;
  std::map<std::string_view, const TensorView*> views_;
  std::set<std::string> taken_;
};

}  // namespace rnnlab
