// The training loop. It owns the run's progress (TrainingState) and nothing else that lasts: files, tables and progress
// bars are observers'. On a GPU the host only queues work: it waits for the device at an epoch's edges, and about every
// ten seconds within long epochs to look for NaN.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "data/batches.h"
#include "models/model.h"
#include "training/batch_loop.h"
#include "training/early_stopping.h"
#include "training/observer.h"
#include "training/schedule.h"
#include "training/train_step.h"

namespace rnnlab {

struct TrainerOptions {
  TrainingSettings settings;
  uint64_t seed = 0;  // of batch order and dropout
  c10::Device device = c10::Device(c10::kCPU);
  Precision precision = Precision::kFp32;
  Placement placement = Placement::kAutomatic;
};

class Trainer {
 public:
  // Moves `model` to the device. Model, dataset and observers must outlive the trainer. A dataset without validation
  // samples trains without validation.
  Trainer(Model& model, const Dataset& dataset, const TrainerOptions& options);

  void add_observer(Observer& observer) { observers_.push_back(&observer); }

  // Until a bound, early stopping or a signal (StopSignalGuard, stop_signal.h) ends it; once. UserError kDiverged at
  // NaN or Inf. An epoch that is cut short gets its row too, marked as warm-up so that its time is not counted; after a
  // signal it is not validated.
  const TrainingState& run();

  const TrainingState& state() const { return state_; }
  // Why the steps are not CUDA graphs although training.cuda_graph asks for them; "" where they are, or nobody asked.
  const std::string& why_no_graphs() const { return train_loop_.refusal(); }
  const Optimizer& optimizer() const { return step_.optimizer(); }
  const RunPlan& plan() const { return plan_; }
  Placement placement() const { return train_batches_.placement(); }  // of the training samples: never kAutomatic

 private:
  using Clock = std::chrono::steady_clock;

  // What one epoch of training adds up to.
  struct EpochTally {
    Totals totals;
    int64_t skipped_steps = 0;
    double gradient_norm_sum = 0.0;  // of the others
    double learning_rate = 0.0;
    int64_t steps = 0;
    int64_t samples = 0;
    double seconds = 0.0;
  };

  void begin_epoch();
  void train_epoch();
  void train_steps();
  bool train_one_step();
  void validate(EpochRow& row);
  void end_epoch();

  EpochRow training_row() const;
  void read_record();
  void read_record_if_due();
  [[noreturn]] void fail_at(const StepRow& row, int64_t step) const;
  void report_step();
  void stop_at_signal();
  void stop_at_bounds();
  bool should_validate() const;

  Model& model_;
  const Dataset& dataset_;
  TrainerOptions options_;
  Objective objective_;
  Batches train_batches_;
  std::optional<Batches> valid_batches_;
  RunPlan plan_;
  Schedule schedule_;
  EarlyStopping early_stopping_;
  TrainStep step_;
  StepRecord record_;
  BatchLoop train_loop_;
  std::optional<BatchLoop> valid_loop_;
  TrainingState state_;
  std::vector<Observer*> observers_;

  EpochTally tally_;
  std::optional<double> last_loss_;
  Clock::time_point run_began_;
  Clock::time_point epoch_began_;
  Clock::time_point record_read_;
};

}  // namespace rnnlab
