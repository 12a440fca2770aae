#include "recurrent/persistent/parameter_conversion.h"

#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/empty.h>

namespace rnnlab {

at::Tensor ParameterConversion::make_room_for(const at::Tensor& parameter, at::ScalarType type) {
  if (parameter.scalar_type() == type) return parameter;
  from_.push_back(parameter);
  to_.push_back(at::empty(parameter.sizes(), parameter.options().dtype(type).requires_grad(false)));
  return to_.back();
}

// One kernel for all has a block for 65,536 numbers; of one tensor alone that would be few.
void ParameterConversion::run() const {
  if (to_.size() == 1) to_[0].copy_(from_[0]);
  if (to_.size() > 1) at::_foreach_copy_(to_, from_);
}

}  // namespace rnnlab
