#include "results/epoch_row.h"

#include <algorithm>
#include <array>

#include "base/numbers.h"

namespace rnnlab {

std::span<const EpochColumn> epoch_columns() {
  using enum ColumnRole;
  static const auto columns = std::to_array<EpochColumn>({
      {"epoch", "epoch", "{:.0f}", kMeasurement, &EpochRow::epoch},
      {"train_loss", "train loss", "{:.4f}", kMetric, &EpochRow::train_loss},
      {"train_accuracy", "train acc", "{:.4f}", kMetric, &EpochRow::train_accuracy},
      {"valid_loss", "valid loss", "{:.4f}", kMetric, &EpochRow::valid_loss},
      {"valid_accuracy", "valid acc", "{:.4f}", kMetric, &EpochRow::valid_accuracy},
      {"learning_rate", "learn rate", "{:.3g}", kMeasurement, &EpochRow::learning_rate},
      {"gradient_norm", "grad norm", "{:.3g}", kMeasurement, &EpochRow::gradient_norm},
      {"train_seconds", "train s", "{:.4g}", kMeasurement, &EpochRow::train_seconds},
      {"valid_seconds", "valid s", "{:.3g}", kMeasurement, &EpochRow::valid_seconds},
      {"data_seconds", "data s", "{:.3g}", kMeasurement, &EpochRow::data_seconds},
      {"samples_per_second", "samples/s", "{:.0f}", kMeasurement, &EpochRow::samples_per_second},
      {"peak_memory_bytes", "peak memory", "", kMeasurement, &EpochRow::peak_memory_bytes},
      {"warmup", "", "", kMeasurement, &EpochRow::warmup},
      {"train_perplexity", "train ppl", "{:.4g}", kMetric, &EpochRow::train_perplexity},
      {"valid_perplexity", "valid ppl", "{:.4g}", kMetric, &EpochRow::valid_perplexity},
      {"valid_bits_per_character", "bits/char", "{:.4f}", kMetric, &EpochRow::valid_bits_per_character},
      {"train_mae", "train MAE", "{:.4g}", kMetric, &EpochRow::train_mae},
      {"valid_mae", "valid MAE", "{:.4g}", kMetric, &EpochRow::valid_mae},
      {"train_rmse", "train RMSE", "{:.4g}", kMetric, &EpochRow::train_rmse},
      {"valid_rmse", "valid RMSE", "{:.4g}", kMetric, &EpochRow::valid_rmse},
      {"skipped_steps", "skipped", "{:.0f}", kMeasurement, &EpochRow::skipped_steps},
      {"device_seconds", "", "", kMeasurement, &EpochRow::device_seconds},
      {"cpu_seconds", "", "", kMeasurement, &EpochRow::cpu_seconds},
      {"boot_seconds", "", "", kMeasurement, &EpochRow::boot_seconds},
      {"steal_seconds", "", "", kMeasurement, &EpochRow::steal_seconds},
      {"throttled_seconds", "", "", kMeasurement, &EpochRow::throttled_seconds},
      {"voluntary_switches", "", "", kMeasurement, &EpochRow::voluntary_switches},
      {"forced_switches", "", "", kMeasurement, &EpochRow::forced_switches},
      {"gpu_joules", "", "", kMeasurement, &EpochRow::gpu_joules},
      {"cpu_joules", "", "", kMeasurement, &EpochRow::cpu_joules},
      {"exchange_seconds", "", "", kMeasurement, &EpochRow::exchange_seconds},
      {"slowest_process_seconds", "", "", kMeasurement, &EpochRow::slowest_process_seconds},
      {"fastest_process_seconds", "", "", kMeasurement, &EpochRow::fastest_process_seconds},
  });
  return columns;
}

namespace {

template <class T>
std::optional<double> to_number(const T& value) {
  return static_cast<double>(value);
}

template <class T>
std::optional<double> to_number(const std::optional<T>& value) {
  if (!value) return std::nullopt;
  return static_cast<double>(*value);
}

}  // namespace

std::optional<double> number_in(const EpochRow& row, const EpochColumn& column) {
  return std::visit([&](auto member) { return to_number(row.*member); }, column.member);
}

size_t console_width(const EpochColumn& column) {
  constexpr size_t kUsualNumber = 7;
  return column.name == "epoch" ? column.heading.size() : std::max(column.heading.size(), kUsualNumber);
}

std::string console_text(const EpochColumn& column, double value) {
  if (column.format.empty()) return format_bytes(static_cast<int64_t>(value));
  return format_within(console_width(column), column.format, value);
}

}  // namespace rnnlab
