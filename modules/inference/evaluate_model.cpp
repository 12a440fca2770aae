#include "inference/evaluate_model.h"

#include <chrono>

#include "base/error.h"
#include "training/evaluate.h"

namespace rnnlab {

Objective objective_of(const TrainedModel& trained) {
  Dataset dataset;
  static_cast<FittedData&>(dataset) = trained.data;
  return {trained.experiment.training.loss, dataset, trained.device};
}

ModelEvaluation evaluate_model(const TrainedModel& trained, const Samples& samples) {
  const TrainerOptions options = trained.options();
  auto batches = make_valid_batches(samples, options);
  if (!batches)
    throw_error(ExitCode::kData, "there are no samples to evaluate on: data.num_valid is 0; use part train");
  const Objective objective = objective_of(trained);
  BatchLoop loop(*batches, 1, evaluation_work(*trained.model, objective, options.precision), Replay::kNever);
  const auto began = std::chrono::steady_clock::now();
  const Totals totals = evaluate(*trained.model, *batches, loop, options.device);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
  return {objective.metrics(totals), samples.size(), seconds.count()};
}

}  // namespace rnnlab
