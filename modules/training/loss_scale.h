// Dynamic loss scaling for float16 (Micikevicius et al. 2018, arXiv 1710.03740): the loss is multiplied before the
// backward pass so that small gradients do not vanish, and the gradients are divided before they are used. Where one
// overflows, the update is left out and the scale halves; after 2000 good steps in a row it doubles. Lives on the
// device and reads nothing back, so a CUDA graph can hold it.
#pragma once

#include <vector>

#include "training/named_tensor.h"

namespace rnnlab {

class LossScale {
 public:
  explicit LossScale(c10::Device device);

  // () float32, from 65536; a power of two, so that it costs no rounding.
  const at::Tensor& value() const { return value_; }

  // Both its tensors, not copies: "loss_scale.value" and "loss_scale.good_steps".
  std::vector<NamedTensor> state() const;

  // Divides the gradients in place by the scale and then changes it for the next step. () float32: 1 where a gradient
  // overflowed and a smaller scale may mend that, else 0. At a scale of 1 or less an overflow is the gradient's own.
  at::Tensor unscale(at::TensorList gradients);

 private:
  at::Tensor value_;
  at::Tensor good_steps_;  // () int32, in a row
};

}  // namespace rnnlab
