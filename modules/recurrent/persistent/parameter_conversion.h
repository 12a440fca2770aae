// Parameters that a pass reads in the type of its states, where they have another: room for them first, on the current
// stream, and the conversion of all of them later, on the stream that has time for it.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace rnnlab {

class ParameterConversion {
 public:
  // The parameter, or what will have its values in that type.
  at::Tensor make_room_for(const at::Tensor& parameter, at::ScalarType type);

  void run() const;

 private:
  std::vector<at::Tensor> from_, to_;
};

}  // namespace rnnlab
