// SPDX-License-Identifier: Apache-2.0
// Implements the training loop. The trainer owns the run's progress (TrainingState) and no other lasting state:
// observers write files, tables and progress bars. On a GPU the host only queues work: it waits for the device at the
// start and end of an epoch, and about every ten seconds within long epochs to check for NaN. If several processes
// train together (TrainerOptions::ranks), each has a trainer: all make the same updates from parts of the same batches,
// and stop after the same step.
#pragma once

#include <c10/core/Device.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "data/batches.h"
#include "train/loop/batch_loop.h"
#include "train/loop/epoch_progress.h"
#include "train/loop/observer.h"
#include "train/loop/optimizer.h"
#include "train/loop/precision.h"
#include "train/loop/score_metrics.h"
#include "train/loop/snapshot.h"
#include "train/loop/stopping.h"
#include "train/loop/train_step.h"
#include "train/loop/training_settings.h"
#include "train/models/model.h"
#include "train/ranks/ranks.h"

namespace rnnlab {

// Holds the options of a trainer. The functions below derive the batches and the number of steps from them.
struct TrainerOptions {
  TrainingSettings settings;
  uint64_t seed = 0;  // for the order of batches and dropout
  c10::Device device = c10::Device(c10::kCPU);
  Precision precision = Precision::kFp32;
  Placement placement = Placement::kAutomatic;
  Ranks* ranks = &sole_rank();           // of all processes of this run, each with a part of every batch
  DistributedSettings distributed = {};  // how they exchange gradients
};

Batches make_train_batches(const Samples& train, const TrainerOptions& options);

// Returns what a run minimises, with training.class_weights. The losses of validation have no weights, so that they can
// be compared. Throws UserError kUsage if the targets that have weights are not classes.
Objective training_objective(const Dataset& dataset, const TrainerOptions& options);

// Returns the validation batches in the order of the samples; nothing if there are no samples.
std::optional<Batches> make_valid_batches(const Samples& valid, const TrainerOptions& options);

// Throws UserError kUsage if the number of steps overflows.
RunPlan make_plan(const TrainingSettings& settings, const Batches& train, const std::optional<Batches>& valid);

Replay replay(const TrainerOptions& options);

// Holds the times of one step and of one validation batch.
struct StepTimes {
  double first_step_seconds = 0;  // the first step also prepares libraries and memory
  double step_seconds = 0;
  std::optional<double> valid_batch_seconds;  // without validation data: nothing
  int64_t num_valid_batches = 0;              // in a validation
};

class Trainer {
 public:
  // Moves `model` to the device. Model, dataset and observers must outlive the trainer. A dataset without validation
  // samples trains without validation.
  Trainer(Model& model, const Dataset& dataset, const TrainerOptions& options);

  void add_observer(Observer& observer) { observers_.push_back(&observer); }

  // Trains until a bound, early stopping or a signal (StopSignalGuard, stop_signal.h) ends the run. Call this function
  // once. Throws UserError kDiverged at NaN or Inf. An interrupted epoch gets a row too, marked as warm-up so that its
  // time is not counted; after a signal this epoch is not validated.
  const TrainingState& run();

  // Trains a few steps on the first batches of the first epoch, and evaluates validation batches, without observers.
  // At least one step and one batch for warm-up come before those whose times are returned. With training.cuda_graph
  // the warm-up contains the capture. The weights change, so run() must not be called afterwards. Throws UserError
  // kDiverged at NaN or Inf in training. The trainer must not have ranks.
  StepTimes measure();

  // Trains one step with each of these learning rates, without observers, until `on_loss` returns false for the loss of
  // a step; begins new epochs as needed. The loss is NaN if it or a gradient is not finite. Weights and the state of
  // the optimiser change, so run() must not be called afterwards. Throws UserError kDiverged if the first loss is not
  // finite. The trainer must not have ranks.
  void try_rates(std::span<const double> rates, const std::function<bool(double rate, double loss)>& on_loss);

  // Returns the state of the run for a later restore(). Call this function between two steps: from an observer's
  // on_step if its needs_sync_at() is true for that step, from on_epoch_end or from on_run_end. Waits for the device.
  // Throws UserError kDiverged if a number of the state is not finite.
  Snapshot snapshot();

  // Call this function before run(), which then resumes from the snapshot and ends with the weights of a run that was
  // never stopped, bit for bit in deterministic mode. The snapshot must be of the same model, data and settings, and
  // valid (invalid_reason); the bounds may differ. If a bound is already reached, state() is stopped after this call,
  // and run() only ends the epoch within which the snapshot was taken.
  void restore(Snapshot snapshot);

  // Measures one exchange of gradients without other work; all ranks must call this function, before run(). Returns
  // nothing without an exchange.
  std::optional<GradientExchange::Alone> measure_exchange() { return step_.measure_exchange(); }

  const TrainingState& state() const { return state_; }
  bool epoch_is_over() const { return epoch_.is_over(); }
  // Returns the reason why the steps are not CUDA graphs although training.cuda_graph is set; "" if they are, or if it
  // is not set.
  const std::string& why_no_graphs() const { return train_loop_.fallback_reason(); }
  const Optimizer& optimizer() const { return step_.optimizer(); }
  std::vector<NamedTensor> optimizer_state() const { return step_.state(); }  // includes the loss scale; not copies
  const RunPlan& plan() const { return plan_; }
  Placement placement() const { return train_batches_.placement(); }  // of the training samples: never kAutomatic
  at::Tensor order(int64_t epoch) const { return train_batches_.order(epoch); }  // Batches::order
  double run_seconds() const;  // of this run() so far and of the parts of the run before a resume

 private:
  using Clock = std::chrono::steady_clock;

  void wait_for_device() const;
  void begin_epoch();
  void begin_new_epoch();
  void resume_epoch();
  void train_epoch();
  void train_steps();
  bool train_next_steps();
  int num_warmups() const;
  double seconds_of_first_steps();
  double seconds_of_first_valid_batch();
  void queue_step(double rate);
  double take_loss();
  int64_t most_steps_at_once() const;
  std::vector<double> next_learning_rates(int64_t count) const;
  double learning_rate(int64_t steps_from_now) const;
  void count_step(int64_t num_samples);
  void validate(EpochRow& row);
  void end_epoch();

  EpochRow training_row() const;
  void read_record();
  void read_record_if_due();
  [[noreturn]] void throw_diverged_at(const StepRow& row, int64_t step) const;
  void notify(const std::function<void(Observer&)>& event) const;
  void report_step();
  void stop_at_requests();
  void stop_if_requested(const std::vector<double>& requests);
  void agree_to_stop();
  static double signal_request();
  double own_request() const;
  void stop_at_bounds();
  void stop_at_seconds();
  bool is_time_over() const;
  void stop_if_done();
  bool should_validate() const;
  bool is_within_restored_epoch() const { return restored_ && !epoch_.is_over(); }
  bool has_next_epoch() const;
  bool is_whole() const { return epoch_.tally().steps == plan_.steps_per_epoch; }
  double latest_loss() const;

  Model& model_;
  const Dataset& dataset_;
  TrainerOptions options_;
  Objective objective_;
  Batches train_batches_;
  std::optional<Batches> valid_batches_;
  RunPlan plan_;
  Schedule schedule_;
  EarlyStopping early_stopping_;
  StopTarget stop_target_;
  TrainStep step_;
  StepRecord record_;
  BatchLoop train_loop_;
  ScoreMetrics score_metrics_;  // of validation
  std::optional<BatchLoop> valid_loop_;
  TrainingState state_;
  std::vector<Observer*> observers_;

  EpochProgress epoch_;           // of the epoch that began last
  int64_t unreported_steps_ = 0;  // queued, but not reported to observers yet

  std::optional<double> last_loss_;
  std::optional<GeneratorStates> restored_;  // until the run resumes
  double seconds_before_ = 0.0;              // of the run before it was stopped
  int64_t first_epoch_ = 1;                  // since the resume
  Clock::time_point run_began_ = Clock::now();
  Clock::time_point record_read_;
};

}  // namespace rnnlab
