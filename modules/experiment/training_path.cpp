#include "experiment/training_path.h"

#include "experiment/first_batch.h"
#include "training/train_step.h"

namespace rnnlab {
ExecutionPath observe_training_path(Model& model, const Dataset& dataset, const TrainerOptions& options) {
  const Batch batch = first_batch(dataset.train, options);
  const Objective objective(options.settings.loss, dataset, options.device);
  model.train();
  ExecutionPath path = observe_execution_path([&] { backpropagate(model, batch, objective, options.precision); });
  model.zero_grad();
  return path;
}

}  // namespace rnnlab
