#include "results/summary.h"

#include "results/json_fields.h"
#include "results/run_folder.h"
#include "results/statistics.h"

namespace rnnlab {

std::map<std::string, double> final_metrics(std::span<const EpochRow> rows) {
  std::map<std::string, double> metrics;
  for (const EpochRow& row : rows)
    for (const EpochColumn& column : epoch_columns()) {
      const auto value = number_in(row, column);
      if (column.role == ColumnRole::kMetric && value) metrics[std::string(column.name)] = *value;
    }
  return metrics;
}

std::vector<double> timed_seconds(std::span<const EpochRow> rows) {
  std::vector<double> seconds;
  for (const EpochRow& row : rows)
    if (!row.warmup) seconds.push_back(row.train_seconds);
  return seconds;
}

std::optional<EpochTime> epoch_time(std::span<const EpochRow> rows) {
  const std::vector<double> seconds = timed_seconds(rows);
  if (seconds.empty()) return std::nullopt;
  const Interval bounds = median_interval(seconds).bounds;
  return EpochTime{.num_epochs = static_cast<int64_t>(seconds.size()),
                   .median_seconds = median(seconds),
                   .low_seconds = bounds.low,
                   .high_seconds = bounds.high};
}

void write_summary(const std::filesystem::path& run_folder, const Summary& summary) {
  write_record(run_folder / kSummaryFile, summary);
}

Summary read_summary(const std::filesystem::path& run_folder) {
  return read_record<Summary>(run_folder / kSummaryFile, kSummarySchemaVersion);
}

}  // namespace rnnlab
