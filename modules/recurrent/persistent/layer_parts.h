// Layers of a persistent pass side by side. A kernel that keeps half of the GPU busy leaves the other half to the layer
// above, which reads its results: the steps are cut into parts, and while a layer works on one, the layer above works
// on the one before. Each part costs a start of a kernel, so where the GPU is full, or there is nothing to put beside
// it, a pass has one part.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "recurrent/unrolled/step_runner.h"

namespace rnnlab {

// The steps of `num_steps`, in the order in which they are read. part_of_gpu: what a layer's kernel keeps busy.
std::vector<Steps> parts_of_steps(int64_t num_steps, size_t num_layers, double part_of_gpu);

// Views of what belongs to these steps: rows of a tensor (T, ...), which may be undefined; of a trace, where the state
// before them is the last one of the part before.
at::Tensor rows_of(const at::Tensor& tensor, Direction direction, const Steps& steps);
LayerTrace part_of(const LayerTrace& trace, Direction direction, const Steps& steps);

// The same for the backward pass, which hands `from_next_step` and `carry` on from part to part. Rows of `bias_sums`
// are part `index`'s own.
LayerGradients part_of(const LayerGradients& gradients, Direction direction, const Steps& steps, size_t index);

// Parameters that a pass reads in the type of its states, where they have another: room for them first, on the current
// stream, and the conversion of all of them later, on the stream that has time for it.

class ParameterConversion {
 public:
  // The parameter, or what will have its values in that type.
  at::Tensor make_room_for(const at::Tensor& parameter, at::ScalarType type);

  void run() const;

 private:
  std::vector<at::Tensor> from_, to_;
};

}  // namespace rnnlab
