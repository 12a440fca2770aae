#include "models/added_parts.h"

#include <ATen/ops/empty.h>

#include "models/kernels/add_parts.h"
#include "recurrent/gpu_support.h"
#include "recurrent/run_kernels.h"

namespace rnnlab {

at::Tensor added_parts(const at::Tensor& parts) {
  if (parts.size(0) == 1) return parts[0];
  if (parts.scalar_type() != at::kFloat || !has_own_kernels(parts.device())) return parts.sum(0);
  const at::Tensor sums = at::empty({parts.size(1)}, parts.options());
  run_kernels(kernels::AddParts{.parts = parts.const_data_ptr<float>(),
                                .num_parts = static_cast<uint32_t>(parts.size(0)),
                                .size = static_cast<uint32_t>(parts.size(1)),
                                .sums = sums.mutable_data_ptr<float>()},
              parts);
  return sums;
}

}  // namespace rnnlab
