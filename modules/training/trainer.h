// The training loop. It owns the run's progress (TrainingState) and nothing else that lasts: files, tables and progress
// bars are observers'. On a GPU the host only queues work: it waits for the device at an epoch's edges, and about every
// ten seconds within long epochs to look for NaN. Where several processes train together (TrainerOptions::ranks), each
// has a trainer: all make the same updates from parts of the same batches, and stop after the same step.
#pragma once

#include <c10/core/Device.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "data/batches.h"
#include "distributed/ranks.h"
#include "models/model.h"
#include "system/epoch_witness.h"
#include "training/batch_loop.h"
#include "training/device_memory.h"
#include "training/observer.h"
#include "training/precision.h"
#include "training/schedule.h"
#include "training/snapshot.h"
#include "training/stopping.h"
#include "training/train_step.h"
#include "training/training_settings.h"

namespace rnnlab {

// What a trainer is told, and what follows from it before the first step: which batches, and how many steps they make.

struct TrainerOptions {
  TrainingSettings settings;
  uint64_t seed = 0;  // of batch order and dropout
  c10::Device device = c10::Device(c10::kCPU);
  Precision precision = Precision::kFp32;
  Placement placement = Placement::kAutomatic;
  Ranks* ranks = nullptr;  // that train this run with this process, each a part of every batch; null: none
};

Batches make_train_batches(const Samples& train, const TrainerOptions& options);

// In their own order; nothing where there are no samples.
std::optional<Batches> make_valid_batches(const Samples& valid, const TrainerOptions& options);

// UserError kUsage where the steps are more than can be counted.
RunPlan make_plan(const TrainingSettings& settings, const Batches& train, const std::optional<Batches>& valid);

Replay replay(const TrainerOptions& options);

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

  // Where the run stands, for a later restore(). Between two steps: from an observer's on_step, where it looks at that
  // step, on_epoch_end or on_run_end. Waits for the device. UserError kDiverged where anything in it is not finite.
  Snapshot snapshot();

  // Before run(): it then goes on from there, and ends with the weights of a run that was never stopped, bit for bit
  // where the mode is deterministic. The snapshot must be of the same model, data and settings, without a fault
  // (fault_of); bounds may be others. Where one of these is reached already, state() is stopped from here on, and run()
  // only ends the epoch that the snapshot was taken within.
  void restore(Snapshot snapshot);

  struct ExchangeAlone {
    double seconds = 0;
    int64_t num_bytes = 0;  // of a rank's message
  };
  // With ranks, before run(), on all of them: what one exchange of gradients takes by itself. On a GPU, where each step
  // only queues its own, epochs tell it times their steps.
  ExchangeAlone measure_exchange();

  const TrainingState& state() const { return state_; }
  bool epoch_is_over() const { return epoch_is_over_; }
  // Why the steps are not CUDA graphs although training.cuda_graph asks for them; "" where they are, or nobody asked.
  const std::string& why_no_graphs() const { return train_loop_.refusal(); }
  const Optimizer& optimizer() const { return step_.optimizer(); }
  std::vector<NamedTensor> optimizer_state() const { return step_.state(); }  // with the loss scale's; not copies
  const RunPlan& plan() const { return plan_; }
  Placement placement() const { return train_batches_.placement(); }  // of the training samples: never kAutomatic
  at::Tensor order(int64_t epoch) const { return train_batches_.order(epoch); }  // Batches::order
  double run_seconds() const;  // of run() so far, and of the parts of the run before this one

 private:
  using Clock = std::chrono::steady_clock;

  bool has_ranks() const { return options_.ranks != nullptr; }
  bool has_exchange() const { return has_ranks() || options_.settings.shards; }
  void wait_for_device() const;
  void begin_epoch();
  void begin_new_epoch();
  void go_on_with_epoch();
  void train_epoch();
  void train_steps();
  bool train_next_steps();
  int64_t most_steps_at_once() const;
  std::vector<double> next_learning_rates(int64_t count) const;
  void count_step(int64_t num_samples);
  void validate(EpochRow& row);
  void end_epoch();

  EpochRow training_row() const;
  void read_record();
  void read_record_if_due();
  [[noreturn]] void fail_at(const StepRow& row, int64_t step) const;
  void report_step();
  void stop_at_signal();
  void stop_at_requests();
  void stop_where_a_rank_asks(const std::vector<double>& requests);
  void agree_to_stop();
  double own_request() const;
  void stop_at_bounds();
  void stop_at_seconds();
  bool are_seconds_over() const;
  void stop_where_done();
  bool should_validate() const;
  bool is_within_restored_epoch() const { return restored_ && !epoch_is_over_; }
  bool has_next_epoch() const;
  bool is_whole() const { return tally_.steps == plan_.steps_per_epoch; }
  double latest_loss() const;
  double epoch_seconds() const;

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

  // Of the epoch that began last.
  EpochTally tally_;
  int64_t unreported_steps_ = 0;  // that are queued, and that observers have not been told yet
  bool epoch_is_over_ = true;
  bool epoch_was_resumed_ = false;                   // it was begun before the run was stopped
  std::optional<Clock::time_point> training_since_;  // the steps of an epoch are under way
  DeviceSpan device_span_;                           // of them, by the device's own clock
  EpochWitness witness_;                             // of them, by the operating system
  EpochEvidence evidence_;
  std::optional<double> exchange_seconds_;

  std::optional<double> seconds_of_exchange_;  // on a GPU, by itself
  std::optional<double> last_loss_;
  std::optional<GeneratorStates> restored_;  // until the run goes on
  double seconds_before_ = 0.0;              // the run was stopped
  int64_t first_epoch_ = 1;                  // since then
  Clock::time_point run_began_ = Clock::now();
  Clock::time_point record_read_;
};

}  // namespace rnnlab
