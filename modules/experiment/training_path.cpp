#include "experiment/training_path.h"

#include <algorithm>
#include <set>

#include "experiment/first_batch.h"
#include "training/evaluate.h"
#include "training/train_step.h"

namespace rnnlab {
namespace {

TrainerOptions with_batch_size(TrainerOptions options, int64_t size) {
  options.settings.batch_size = size;
  return options;
}

// Of batches of `size`, the last of which may be smaller.
std::set<int64_t> sizes_of_batches(const Samples& samples, int64_t size) {
  std::set<int64_t> sizes = {std::min(size, samples.size()), samples.size() % size};
  sizes.erase(0);
  return sizes;
}

}  // namespace

ExecutionPath observe_training_path(Model& model, const Dataset& dataset, const TrainerOptions& options) {
  const Batch batch = first_batch(dataset.train, options);
  const Objective objective(options.settings.loss, dataset, options.device);
  model.train();
  ExecutionPath path = observe_execution_path([&] { backpropagate(model, batch, objective, options.precision); });
  model.zero_grad();
  return path;
}

void load_kernels(Model& model, const Dataset& dataset, const TrainerOptions& options) {
  const Objective objective(options.settings.loss, dataset, options.device);
  model.train();
  for (const int64_t size : sizes_of_batches(dataset.train, options.settings.batch_size))
    backpropagate(model, first_batch(dataset.train, with_batch_size(options, size)), objective, options.precision);
  model.zero_grad();
  model.eval();
  for (const int64_t size : sizes_of_batches(dataset.valid, options.settings.valid_batch_size)) {
    const Batch batch = first_batch(dataset.valid, with_batch_size(options, size));
    evaluation_work(model, objective, options.precision)(std::span(&batch, 1), 0);
  }
  model.train();
}

}  // namespace rnnlab
