#include "experiment/run_observers.h"

#include "results/run_folder.h"

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

// While an observer waits for its disk, the other processes of the run must wait for this one.
class ObserverOfRanks : public Observer {
 public:
  ObserverOfRanks(Ranks& ranks, Observer& observer) : ranks_(ranks), observer_(observer) {}
  void on_run_begin(const RunPlan& plan) override {
    const WritingFiles writing(&ranks_);
    observer_.on_run_begin(plan);
  }
  void on_epoch_begin(const TrainingState& state) override {
    const WritingFiles writing(&ranks_);
    observer_.on_epoch_begin(state);
  }
  void on_step(const StepProgress& progress) override {
    const WritingFiles writing(&ranks_);
    observer_.on_step(progress);
  }
  bool needs_sync_at(int64_t step) const override { return observer_.needs_sync_at(step); }
  void on_epoch_end(const TrainingState& state, const EpochRow& row) override {
    const WritingFiles writing(&ranks_);
    observer_.on_epoch_end(state, row);
  }
  void on_run_end(const TrainingState& state) override {
    const WritingFiles writing(&ranks_);
    observer_.on_run_end(state);
  }

 private:
  Ranks& ranks_;
  Observer& observer_;
};

}  // namespace

RunObservers::RunObservers(PreparedRun& run, const std::filesystem::path& folder, const std::vector<Warning>& warnings,
                           const std::vector<EpochRow>& rows, const RunRequest& request, Logger& logger)
    : files_(folder, rows), console_(logger, request.console), trace_(make_trace(run, folder, request, logger)) {
  if (run.experiment.training.tensorboard) tensorboard_.emplace(folder, run, std::ssize(rows) + 1);
  if (run.experiment.checkpoint.save)
    checkpoints_.emplace(folder, facts_of(run, warnings), run.trainer, [this] { sync(); });
  add(run, files_);
  add(run, console_);
  if (tensorboard_) add(run, *tensorboard_);
  if (checkpoints_) add(run, *checkpoints_);
  for (Observer* observer : request.observers) add(run, *observer);
  if (trace_) add(run, *trace_);
}

void RunObservers::add(PreparedRun& run, Observer& observer) {
  if (run.options.ranks == nullptr) return run.trainer.add_observer(observer);
  of_ranks_.push_back(std::make_unique<ObserverOfRanks>(*run.options.ranks, observer));
  run.trainer.add_observer(*of_ranks_.back());
}

void RunObservers::finish() {
  files_.sync();
  if (tensorboard_) tensorboard_->fail();
  if (checkpoints_) checkpoints_->finish();
  if (trace_) trace_->finish();
}

void RunObservers::sync() {
  files_.sync();
  if (tensorboard_) tensorboard_->sync();
}

}  // namespace rnnlab
