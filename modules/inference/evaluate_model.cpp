#include "inference/evaluate_model.h"

#include "base/error.h"
#include "training/evaluate.h"

namespace rnnlab {

Objective objective_of(const TrainedModel& trained) {
  Dataset dataset;
  static_cast<FittedData&>(dataset) = trained.data;
  return {trained.experiment.training.loss, dataset, trained.device};
}

ModelEvaluation evaluate_model(const TrainedModel& trained, const Samples& samples, int64_t num_passes) {
  const TrainerOptions options = trained.options();
  auto batches = make_valid_batches(samples, options);
  RNNLAB_INVARIANT(batches, "nothing to evaluate on");
  const Objective objective = objective_of(trained);
  BatchLoop loop(*batches, 1, evaluation_work(*trained.model, objective, options.precision), Replay::kNever);
  batches->start_epoch(0);
  loop.next();  // untimed: pass_times.h
  Totals totals;
  const PassTimes times = time_passes(options.device, samples.size(), num_passes,
                                      [&] { totals = evaluate(*trained.model, *batches, loop, options.device); });
  return {objective.metrics(totals), times};
}

}  // namespace rnnlab
