// SPDX-License-Identifier: Apache-2.0
#include "train/loop/epoch_progress.h"

#include <ATen/ops/empty.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "layers/device/gpu_device.h"
#include "train/loop/device_rates.h"

namespace rnnlab {

namespace {

void mark(std::optional<c10::Event>& event, c10::Device device) {
  if (!event) event.emplace(device.type(), c10::EventFlag::BACKEND_DEFAULT);  // PYTORCH_DEFAULT has no time
  event->record(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
}

}  // namespace

DeviceTimer::DeviceTimer(c10::Device device) : device_(device) {}

void DeviceTimer::start() {
  if (device_.is_cuda()) mark(start_, device_);
}

void DeviceTimer::stop() {
  if (device_.is_cuda()) mark(stop_, device_);
}

std::optional<double> DeviceTimer::seconds() const {
  constexpr double kSecondsPerMillisecond = 1e-3;
  if (!start_ || !stop_) return std::nullopt;
  stop_->synchronize();
  return start_->elapsedTime(*stop_) * kSecondsPerMillisecond;
}

EpochProgress::EpochProgress(c10::Device device)
    : device_timer_(device), witness_(device.is_cuda() ? uuid_of_gpu(device) : "") {}

void EpochProgress::begin() {
  tally_ = {};
  is_over_ = was_resumed_ = false;
}

void EpochProgress::restore(const EpochTally& tally, bool is_over) {
  tally_ = tally;
  is_over_ = is_over;
}

void EpochProgress::start_clocks() {
  witness_.start();
  device_timer_.start();
  training_since_ = Clock::now();
}

void EpochProgress::stop_clocks(double seconds_waited) {
  tally_.seconds = seconds();
  evidence_ = witness_.stop();
  tally_.data_seconds += seconds_waited;
  training_since_.reset();
}

double EpochProgress::seconds() const {
  return tally_.seconds + (training_since_ ? seconds_since(*training_since_) : 0.0);
}

void EpochProgress::count_step(int64_t num_samples, double learning_rate) {
  tally_.learning_rate = learning_rate;
  ++tally_.steps;
  tally_.samples += num_samples;
}

namespace {

double norm_of(const std::vector<double>& norms) {
  return std::sqrt(std::inner_product(norms.begin(), norms.end(), norms.begin(), 0.0));
}

void put_evidence(const EpochMeasurements& evidence, EpochRow& row) {
  row.cpu_seconds = evidence.cpu_seconds;
  row.boot_seconds = evidence.boot_seconds;
  row.steal_seconds = evidence.steal_seconds;
  row.throttled_seconds = evidence.throttled_seconds;
  row.voluntary_switches = evidence.voluntary_switches;
  row.forced_switches = evidence.forced_switches;
  row.gpu_joules = evidence.gpu_joules;
  row.cpu_joules = evidence.cpu_joules;
}

}  // namespace

void EpochProgress::add(const StepRow& row) {
  add_row(row, tally_.totals);
  tally_.skipped_steps += row.skipped ? 1 : 0;
  tally_.gradient_norm_sum += norm_of(row.gradient_norms);
}

EpochTally EpochProgress::tally_now(double seconds_waited) const {
  EpochTally tally = tally_;
  tally.seconds = seconds();
  if (training_since_) tally.data_seconds += seconds_waited;
  return tally;
}

EpochRow EpochProgress::training_row(const Objective& objective) const {
  EpochRow row;
  put_training_metrics(objective.metrics(tally_.totals), row);
  row.learning_rate = tally_.learning_rate;
  if (tally_.skipped_steps < tally_.steps)
    row.gradient_norm = tally_.gradient_norm_sum / static_cast<double>(tally_.steps - tally_.skipped_steps);
  row.train_seconds = tally_.seconds;
  row.data_seconds = tally_.data_seconds;
  if (!was_resumed_) {
    row.device_seconds = device_timer_.seconds();
    row.exchange_seconds = exchange_seconds_;
    put_evidence(evidence_, row);
  }
  row.samples_per_second = static_cast<double>(tally_.samples) / tally_.seconds;
  return row;
}

namespace {

void put_metrics(const MetricValues& metrics, const std::string& part, EpochRow& row) {
  for (const auto& [name, value] : metrics)
    if (const EpochColumn* const column = find_column(part + name)) put_number(row, *column, value);
}

}  // namespace

void put_training_metrics(const MetricValues& metrics, EpochRow& row) { put_metrics(metrics, "train_", row); }

void put_validation_metrics(const MetricValues& metrics, EpochRow& row) { put_metrics(metrics, "valid_", row); }

void put_validation_metrics(const MetricResults& results, EpochRow& row) {
  for (const auto& [name, result] : results) {
    if (result.value) row.metrics["valid_" + name] = *result.value;
    if (!result.value) row.undefined["valid_" + name] = result.reason;
  }
}

namespace {

// Returns the columns for which the rows of all ranks are needed.
std::vector<const EpochColumn*> combined_columns() {
  std::vector<const EpochColumn*> columns;
  for (const EpochColumn& column : epoch_columns())
    if (column.over_ranks != OverRanks::kOwn) columns.push_back(&column);
  return columns;
}

// An absent value travels as NaN.
at::Tensor numbers_of(const EpochRow& row) {
  const auto columns = combined_columns();
  at::Tensor numbers = at::empty({std::ssize(columns)}, at::kDouble);
  double* values = numbers.mutable_data_ptr<double>();
  for (const EpochColumn* column : columns)
    *values++ = number_in(row, *column).value_or(std::numeric_limits<double>::quiet_NaN());
  return numbers;
}

EpochRow row_of(const double* numbers) {
  EpochRow row;
  for (const EpochColumn* column : combined_columns()) {
    put_number(row, *column, std::isnan(*numbers) ? std::nullopt : std::optional(*numbers));
    ++numbers;
  }
  return row;
}

double seconds_outside(const EpochRow& row) { return row.train_seconds - row.exchange_seconds.value_or(0); }

std::optional<double> largest(std::span<const EpochRow> rows, const EpochColumn& column) {
  std::optional<double> largest;
  for (const EpochRow& row : rows) largest = std::max(largest, number_in(row, column));
  return largest;
}

// Returns nothing unless every rank has a value.
std::optional<double> sum(std::span<const EpochRow> rows, const EpochColumn& column) {
  double sum = 0;
  for (const EpochRow& row : rows) {
    const auto number = number_in(row, column);
    if (!number) return std::nullopt;
    sum += *number;
  }
  return sum;
}

std::optional<double> combined(const EpochColumn& column, const EpochRow& own, const EpochRow& slowest,
                               std::span<const EpochRow> rows) {
  switch (column.over_ranks) {
    case OverRanks::kOwn:
      return number_in(own, column);
    case OverRanks::kOfSlowest:
      return number_in(slowest, column);
    case OverRanks::kLargest:
      return largest(rows, column);
    case OverRanks::kSum:
      return sum(rows, column);
  }
  return std::nullopt;
}

}  // namespace

EpochRow combined_row(const EpochRow& own, std::span<const EpochRow> rows) {
  const auto [fastest, slowest] = std::ranges::minmax_element(rows, {}, seconds_outside);
  EpochRow row = own;
  for (const EpochColumn* column : combined_columns()) put_number(row, *column, combined(*column, own, *slowest, rows));
  row.slowest_process_seconds = seconds_outside(*slowest);
  row.fastest_process_seconds = seconds_outside(*fastest);
  return row;
}

EpochRow row_over_ranks(Ranks& ranks, const EpochRow& own) {
  const at::Tensor all = ranks.all_gather(numbers_of(own));
  std::vector<EpochRow> rows;
  for (int64_t rank = 0; rank < ranks.size(); ++rank)
    rows.push_back(row_of(all.const_data_ptr<double>() + rank * all.size(1)));
  EpochRow row = combined_row(own, rows);
  row.slowest_process_seconds = ranks.of_several(row.slowest_process_seconds.value());
  row.fastest_process_seconds = ranks.of_several(row.fastest_process_seconds.value());
  return row;
}

}  // namespace rnnlab
