#include "experiment/watchers.h"

namespace rnnlab {
namespace {

std::optional<TraceObserver> make_trace(const PreparedRun& run, const std::filesystem::path& folder,
                                        const RunRequest& request, Logger& logger) {
  if (!request.trace_steps) return std::nullopt;
  return std::optional<TraceObserver>(
      std::in_place,
      TraceRequest{.file = folder / kTraceFile,
                   .num_steps = *request.trace_steps,
                   .warmup_epochs = run.trainer.state().epoch + run.experiment.training.warmup_epochs,
                   .device = run.device},
      logger);
}

RunFacts facts_of(const PreparedRun& run, const std::vector<Warning>& warnings) {
  return {.experiment = run.experiment,
          .identity = run.identity,
          .software = run.environment.software,
          .data = run.dataset,
          .warnings = warnings};
}

}  // namespace

Watchers::Watchers(PreparedRun& run, const std::filesystem::path& folder, const std::vector<Warning>& warnings,
                   const std::vector<EpochRow>& rows, const RunRequest& request, Logger& logger)
    : files_(folder, rows), console_(logger, request.console), trace_(make_trace(run, folder, request, logger)) {
  if (run.experiment.training.tensorboard) tensorboard_.emplace(folder, run, std::ssize(rows) + 1);
  if (run.experiment.checkpoint.save)
    checkpoints_.emplace(folder, facts_of(run, warnings), run.trainer, [this] { sync(); });
  run.trainer.add_observer(files_);
  run.trainer.add_observer(console_);
  if (tensorboard_) run.trainer.add_observer(*tensorboard_);
  if (checkpoints_) run.trainer.add_observer(*checkpoints_);
  for (Observer* observer : request.observers) run.trainer.add_observer(*observer);
  if (trace_) run.trainer.add_observer(*trace_);
}

void Watchers::finish() {
  files_.sync();
  if (tensorboard_) tensorboard_->fail();
  if (checkpoints_) checkpoints_->finish();
  if (trace_) trace_->finish();
}

void Watchers::sync() {
  files_.sync();
  if (tensorboard_) tensorboard_->sync();
}

}  // namespace rnnlab
