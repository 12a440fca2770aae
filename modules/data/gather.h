// Batches on the CPU: the chosen samples, turned time-major in the same pass. The memory is the caller's choice, so
// that a batch can be gathered straight into pinned memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <span>

#include "data/batches.h"
#include "data/dataset.h"

namespace rnnlab {

// An uninitialised, contiguous CPU tensor of this shape and type.
using Allocate = std::function<at::Tensor(at::IntArrayRef shape, at::ScalarType type)>;

at::Tensor allocate_plain(at::IntArrayRef shape, at::ScalarType type);

// Of one sample of a contiguous (N, ...).
int64_t sample_bytes(const at::Tensor& tensor);

// `order` names the samples of the batch; inputs and targets are written to what `allocate` gives for each in turn.
Batch gather_batch(const Samples& samples, std::span<const int64_t> order, const Allocate& allocate = allocate_plain);

}  // namespace rnnlab
