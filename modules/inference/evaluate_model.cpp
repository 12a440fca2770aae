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
  RNNLAB_INVARIANT(batches, "nothing to evaluate on");
  const Objective objective = objective_of(trained);
  BatchLoop loop(*batches, 1, evaluation_work(*trained.model, objective, options.precision), Replay::kNever);
  const auto began = std::chrono::steady_clock::now();
  const Totals totals = evaluate(*trained.model, *batches, loop, options.device);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
  return {objective.metrics(totals), samples.size(), seconds.count()};
}

}  // namespace rnnlab
