#include "inference/evaluate_model.h"

#include "base/error.h"
#include "training/evaluate.h"

namespace rnnlab {

Objective objective_of(const TrainedModel& trained) {
  Dataset dataset;
  static_cast<FittedData&>(dataset) = trained.data;
  return {trained.experiment.training.loss, dataset, trained.device};
}

std::set<int64_t> untimed_batches(const Batches& batches) { return {0, batches.batches_per_epoch() - 1}; }

ModelEvaluation evaluate_model(const TrainedModel& trained, const Samples& samples, int64_t num_passes) {
  const TrainerOptions options = trained.options();
  auto batches = make_valid_batches(samples, options);
  RNNLAB_INVARIANT(batches, "nothing to evaluate on");
  const Objective objective = objective_of(trained);
  BatchLoop loop(*batches, 1, evaluation_work(*trained.model, objective, options.precision), Replay::kNever);
  for (const int64_t batch : untimed_batches(*batches)) {
    batches->start_epoch(0, batch);
    loop.next();
  }
  Totals totals;
  const PassTimes times = time_passes(options.device, samples.size(), num_passes,
                                      [&] { totals = evaluate(*trained.model, *batches, loop, options.device); });
  return {objective.metrics(totals), times};
}

}  // namespace rnnlab
