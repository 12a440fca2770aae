// Holds all observers of a run, in the order in which they are called: its files, the console, TensorBoard,
// checkpoints, the observers of the request, and the trace.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "experiment/log_observers.h"
#include "experiment/prepared_run.h"
#include "experiment/run_experiment.h"
#include "experiment/tensorboard_observer.h"
#include "experiment/trace_observer.h"

namespace rnnlab {

class RunObservers {
 public:
  // Adds the observers to the run's trainer. `warnings` are stored in the run's checkpoints; `rows` are those of
  // earlier parts of the run.
  RunObservers(PreparedRun& run, const std::filesystem::path& folder, const std::vector<Warning>& warnings,
               const std::vector<EpochRow>& rows, const RunRequest& request, Logger& logger);
  RunObservers(const RunObservers&) = delete;
  RunObservers& operator=(const RunObservers&) = delete;

  // Call this function for a run that diverged.
  void finish();

  const std::vector<EpochRow>& rows() const { return files_.rows(); }

 private:
  void sync();
  void add(PreparedRun& run, Observer& observer);

  FileObserver files_;
  ConsoleObserver console_;
  std::optional<TensorBoardObserver> tensorboard_;
  std::optional<CheckpointObserver> checkpoints_;
  std::optional<TraceObserver> trace_;
  std::vector<std::unique_ptr<Observer>> of_ranks_;  // one for each observer above, if other processes wait for it
};

}  // namespace rnnlab
