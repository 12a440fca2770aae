// SPDX-License-Identifier: Apache-2.0
// The progress of one epoch of training: how many steps are done, their sums, and their times by several clocks. All of
// it makes the epoch's row, which several processes combine.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Event.h>

#include <chrono>
#include <optional>
#include <span>

#include "base/system/counters.h"
#include "results/epoch_row.h"
#include "train/loop/objective.h"
#include "train/loop/score_metrics.h"
#include "train/loop/snapshot.h"
#include "train/ranks/ranks.h"

namespace rnnlab {

// Measures the time between two moments by a GPU's own clock, with events in its queue. The result is right whether or
// not the host waited, so it is an independent check of the host's clock.
class DeviceTimer {
 public:
  explicit DeviceTimer(c10::Device device);

  // These functions record events on the current stream and do not wait.
  void start();
  void stop();

  // Returns the seconds between the two events, and waits for them. Nothing on a CPU, which has only the host's clock.
  std::optional<double> seconds() const;

 private:
  c10::Device device_;
  std::optional<c10::Event> start_, stop_;
};

class EpochProgress {
 public:
  explicit EpochProgress(c10::Device device);

  // Begins a new epoch.
  void begin();

  // Takes the progress of an epoch from a snapshot. If that epoch is not over, resume() continues it.
  void restore(const EpochTally& tally, bool is_over);
  void resume() { was_resumed_ = true; }

  // Call start_clocks() before the first step of this process, end_device_clock() after the last step was queued, and
  // stop_clocks() when the device has done all steps. `seconds_waited` is the time that was spent waiting for batches.
  void start_clocks();
  void end_device_clock() { device_timer_.stop(); }
  void stop_clocks(double seconds_waited);

  // Returns the seconds of training until now, also those before the run was stopped.
  double seconds() const;

  void count_step(int64_t num_samples, double learning_rate);
  void add(const StepRow& row);
  void set_exchange_seconds(std::optional<double> seconds) { exchange_seconds_ = seconds; }
  void set_over(bool is_over) { is_over_ = is_over; }

  bool is_over() const { return is_over_; }          // trained, validated and reported to the observers
  bool was_resumed() const { return was_resumed_; }  // the epoch began before the run was stopped
  const EpochTally& tally() const { return tally_; }

  // Returns the counts of the epoch until now, for a checkpoint. `seconds_waited` is as of stop_clocks(), which is
  // called later.
  EpochTally tally_now(double seconds_waited) const;

  // Returns the row of the epoch: the metrics and times of its training. An epoch that was resumed has no times of
  // other clocks than the host's, because they began with the resume.
  EpochRow training_row(const Objective& objective) const;

 private:
  using Clock = std::chrono::steady_clock;

  EpochTally tally_;
  bool is_over_ = true;
  bool was_resumed_ = false;
  std::optional<Clock::time_point> training_since_;  // set while the clocks run
  DeviceTimer device_timer_;
  EpochCounters witness_;
  EpochMeasurements evidence_;
  std::optional<double> exchange_seconds_;
};

// Put metrics, by their names in the list, into the columns of a row that it has for them.
void put_training_metrics(const MetricValues& metrics, EpochRow& row);
void put_validation_metrics(const MetricValues& metrics, EpochRow& row);
void put_validation_metrics(const MetricResults& results, EpochRow& row);

// Returns the row of an epoch that several processes trained. Losses and metrics are the same in all `rows`, one of
// each rank; times differ. The result is `own` with what EpochColumn::over_ranks says of each column, and the times of
// the slowest and of the fastest rank. A process waits for slower ones in the exchange, so ranks are ordered by their
// time outside of the exchange. If a row lacks the time of the exchange, all of train_seconds counts.
EpochRow combined_row(const EpochRow& own, std::span<const EpochRow> rows);

// Gathers the rows of all ranks and returns combined_row() of them. All ranks must call this function.
EpochRow row_over_ranks(Ranks& ranks, const EpochRow& own);

}  // namespace rnnlab
