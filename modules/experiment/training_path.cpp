#include "experiment/training_path.h"

#include "training/train_step.h"

namespace rnnlab {
namespace {

Batch first_batch(const Samples& train, const TrainerOptions& options) {
  const int64_t size = std::min(options.settings.batch_size, train.size());
  const auto first = [size](const at::Tensor& tensor) { return tensor.defined() ? tensor.narrow(0, 0, size) : tensor; };
  const Samples samples{first(train.inputs), first(train.targets), first(train.lengths)};
  Batches batches(samples, {.batch_size = size, .order = Order::kSequential}, options.device);
  batches.start_epoch(0);
  return batches.next().value();
}

}  // namespace

ExecutionPath observe_training_path(Model& model, const Dataset& dataset, const TrainerOptions& options) {
  const Batch batch = first_batch(dataset.train, options);
  const Objective objective(options.settings.loss, dataset, options.device);
  model.train();
  ExecutionPath path =
      observe_execution_path([&] { backpropagate(model, batch, objective, options.precision, /*share=*/1.0); });
  model.zero_grad();
  return path;
}

}  // namespace rnnlab
