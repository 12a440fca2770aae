// SPDX-License-Identifier: Apache-2.0
#include "results/summary.h"

#include <cmath>

#include "base/statistics.h"
#include "base/system/json_fields.h"
#include "results/run_folder.h"

namespace rnnlab {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 22;

// Version 2 recorded the ending of a run only in words.
RunEnding ending_of_old_run(const std::string& stop_reason) {
  if (stop_reason.starts_with("training diverged")) return RunEnding::kDiverged;
  const bool by_signal = stop_reason.find(" (SIG") != std::string::npos;  // "terminated (SIGTERM)"
  return by_signal ? RunEnding::kInterrupted : RunEnding::kComplete;
}

// Removing duplicate texts takes quadratic time, so the number of texts is limited.
void check_number_of_texts(const std::filesystem::path& path, const char* key, int64_t count) {
  constexpr int64_t kMost = 4096;
  if (count > kMost)
    throw_error(ExitCode::kData, "{}: {} has {}, expected at most {}", path.string(), key, counted(count, "text"),
                format_count(kMost));
}

}  // namespace

std::map<std::string, double> final_metrics(std::span<const EpochRow> rows) {
  std::map<std::string, double> metrics;
  for (const EpochRow& row : rows)
    for (const auto& [name, value] : metrics_in_row(row)) metrics[name] = value;
  return metrics;
}

std::vector<double> timed_seconds(std::span<const EpochRow> rows) {
  std::vector<double> seconds;
  for (const EpochRow& row : rows)
    if (!row.warmup) seconds.push_back(row.train_seconds);
  return seconds;
}

double num_samples(const EpochRow& row) { return std::round(row.samples_per_second * row.train_seconds); }

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
  write_file_atomically(run_folder / kSummaryFile, sealed_text(to_json(summary)));
}

Summary read_summary(const std::filesystem::path& run_folder) {
  const std::filesystem::path path = run_folder / kSummaryFile;
  constexpr int64_t kFirst = 2;
  constexpr int64_t kFirstWithSeal = 3;
  Json json = parse_json(read_file(path, kMostBytes), path.string());
  const int64_t version = version_of(json, path.string(), kFirst);
  if (version >= kFirstWithSeal) json.erase(kSealKey);
  Summary summary = record_from<Summary>(json, path.string(), kFirst);
  summary.version_in_file = version;
  constexpr int64_t kFirstWithEnding = 3;
  if (version < kFirstWithEnding) summary.ending = ending_of_old_run(summary.stop_reason);
  check_number_of_texts(path, "path_notes", std::ssize(summary.path_notes));
  check_number_of_texts(path, "warnings", std::ssize(summary.warnings));
  return summary;
}

}  // namespace rnnlab
