// SPDX-License-Identifier: Apache-2.0
// Runs the layers of a persistent pass at the same time. A kernel that uses half of the GPU leaves the other half to
// the layer above, which reads its results. So the steps are divided into parts, and while a layer works on one part,
// the layer above works on the previous part. Each part costs a start of a kernel, so a pass has only one part if the
// GPU is full or there is only one layer.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "layers/persistent/persistent_trace.h"

namespace rnnlab {

// Returns the parts of `num_steps` steps, in the order in which they are read. part_of_gpu: the part of the GPU that a
// layer's kernel uses.
std::vector<Steps> parts_of_steps(int64_t num_steps, size_t num_layers, double part_of_gpu);

// Return views of these steps: rows of a tensor (T, ...), which may be undefined, or a part of a trace. The state
// before a part of a trace is the last state of the previous part.
at::Tensor rows_of(const at::Tensor& tensor, Direction direction, const Steps& steps);
PersistentTrace part_of(const PersistentTrace& trace, Direction direction, const Steps& steps);

// Returns views for the backward pass, which passes `from_next_step` and `carry` from part to part. Part `index` has
// its own rows of `bias_sums`.
PersistentGradients part_of(const PersistentGradients& gradients, Direction direction, const Steps& steps,
                            size_t index);

// Converts parameters to the type of a pass's states if they have a different type. Memory is allocated first, on the
// current stream; all parameters are converted later, on a stream that is free.
class ParameterConversion {
 public:
  // Returns the parameter, or a tensor that will have its values in this type.
  at::Tensor make_room_for(const at::Tensor& parameter, at::ScalarType type);

  void run() const;

 private:
  std::vector<at::Tensor> from_, to_;
};

}  // namespace rnnlab
