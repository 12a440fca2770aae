#include "data/dataset.h"

namespace rnnlab {

int64_t Samples::bytes() const {
  int64_t total = 0;
  for (const at::Tensor& tensor : {inputs, targets, lengths}) {
    if (tensor.defined()) total += static_cast<int64_t>(tensor.nbytes());
  }
  return total;
}

bool Samples::has_target_per_step() const { return targets.dim() == 2 && targets.scalar_type() == at::kLong; }

}  // namespace rnnlab
