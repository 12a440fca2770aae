#include "experiment/first_batch.h"

#include <algorithm>

namespace rnnlab {

Batch first_batch(const Samples& train, const TrainerOptions& options) {
  const int64_t size = std::min(options.settings.batch_size, train.size());
  const auto first = [size](const at::Tensor& tensor) { return tensor.defined() ? tensor.narrow(0, 0, size) : tensor; };
  const Samples samples{first(train.inputs), first(train.targets), first(train.lengths)};
  Batches batches(samples, {.batch_size = size, .order = Order::kSequential}, options.device);
  batches.start_epoch(0);
  return batches.next().value();
}

}  // namespace rnnlab
