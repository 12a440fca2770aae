// SPDX-License-Identifier: Apache-2.0
#include "results/run_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/error.h"
#include "base/folder.h"
#include "base/numbers.h"
#include "base/sha256.h"
#include "base/system/files.h"
#include "base/system/json_fields.h"
#include "base/text.h"
#include "results/epoch_log.h"
#include "results/run_folder.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;

void check_is_finished_run(const fs::path& folder) {
  constexpr const char* kWanted = "expected a folder that `rnnlab train` made, such as runs/NAME/START-DEVICE-LAYER";
  if (!path_exists(folder)) throw_error(ExitCode::kUsage, "{}: no such folder, {}", folder.string(), kWanted);
  if (path_exists(folder / kSummaryFile)) return;
  if (path_exists(folder / kEpochsCsvFile))
    throw_error(ExitCode::kUsage,
                "{}: the run has not ended yet, or was killed ({} is missing): wait, or resume it: rnnlab train "
                "--resume {}",
                folder.string(), kSummaryFile, shell_quoted(folder.string()));
  throw_error(ExitCode::kUsage, "{}: not the folder of a run ({} is missing), {}", folder.string(), kSummaryFile,
              kWanted);
}

WorkHashes hashes_in(const Summary& summary) { return {summary.identity.model_hash, summary.identity.training_hash}; }

// Before version 3 the identity did not contain conditions.
void set_conditions_of_old_run(RunRecord& run) {
  Conditions& conditions = run.summary.identity.conditions;
  if (conditions == Conditions()) conditions = conditions_of(run.environment);
}

}  // namespace

RunRecord load_run(const fs::path& folder) {
  check_is_finished_run(folder);
  RunRecord run{.folder = folder,
                .started = start_by_log(folder),
                .config = config_values(folder / kConfigFile),
                .environment = read_environment(folder),
                .summary = read_summary(folder),
                .rows = read_epochs(folder)};
  if (run.started.empty()) run.started = run.environment.start_time;
  set_conditions_of_old_run(run);
  run.changed = changed_files(folder, run);
  return run;
}

bool has_work_hashes(const Summary& summary) { return !summary.settings_sha256.empty(); }

std::pair<WorkHashes, WorkHashes> comparable_hashes(const RunRecord& a, const RunRecord& b) {
  if (has_work_hashes(a.summary) == has_work_hashes(b.summary)) return {hashes_in(a.summary), hashes_in(b.summary)};
  return {work_hashes(a.config), work_hashes(b.config)};
}

const std::string& other_program(const RunRecord& run) { return run.environment.software.program; }

std::string program_of(const RunRecord& run) { return other_program(run).empty() ? "rnnlab" : other_program(run); }

bool is_on_gpu(const RunRecord& run) { return run.summary.device.starts_with("cuda"); }

std::optional<double> seconds_since_1970(const std::string& time) {
  int year = 0;
  unsigned month = 0, day = 0;
  int hour = 0, minute = 0;
  double second = 0;
  if (std::sscanf(time.c_str(), "%d-%u-%uT%d:%d:%lf", &year, &month, &day, &hour, &minute, &second) != 6)
    return std::nullopt;
  const std::chrono::sys_days date =
      std::chrono::year_month_day{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  constexpr double kDay = 86400, kHour = 3600, kMinute = 60;
  return kDay * static_cast<double>(date.time_since_epoch().count()) + kHour * hour + kMinute * minute + second;
}

std::optional<double> start_in_seconds(const RunRecord& run) { return seconds_since_1970(run.started); }

std::string start_by_log(const std::filesystem::path& folder) {
  constexpr std::string_view kPattern = "2026-11-21T02:59:51.079Z";
  std::string start;
  try {
    start = read_beginning(folder / kLogFile, kPattern.size());
  } catch (const UserError&) {  // the log is not needed
    return "";
  }
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool is_time = std::ranges::equal(
      start, kPattern, [&](char read, char wanted) { return is_digit(wanted) ? is_digit(read) : read == wanted; });
  return is_time ? start : "";
}

namespace {

// Older run folders record the number of devices only in config.yaml.
int64_t devices_in_config(const RunRecord& run) {
  return std::max<int64_t>(parse_int64(value_or_absent(run.config, "devices")).value_or(1), 1);
}

// The choice of devices does not matter.
bool is_compared_elsewhere(const std::string& key) {
  return key == "name" || key == "devices" || key == "training.num_threads" || key.starts_with("distributed.") ||
         (key != "layer" && is_choice_of_run(key));
}

bool has_equal_settings(const RunRecord& a, const RunRecord& b) {
  for (const auto* config : {&a.config, &b.config})
    for (const auto& [key, value] : *config)
      if (!is_compared_elsewhere(key) && value_or_absent(a.config, key) != value_or_absent(b.config, key)) return false;
  return true;
}

bool ran_equally(const RunRecord& a, const RunRecord& b) {
  const Identity &first = a.summary.identity, &second = b.summary.identity;
  const std::string engine = exchange_engine(a), other_engine = exchange_engine(b);
  return kind_of_device(a) == kind_of_device(b) && graphs_text(a) == graphs_text(b) &&
         a.summary.layer == b.summary.layer && first.precision == second.precision &&
         first.batch_size == second.batch_size && (engine.empty() || other_engine.empty() || engine == other_engine);
}

bool has_comparable_devices(const RunRecord& run) { return other_program(run).empty() && !has_changed_devices(run); }

}  // namespace

int64_t num_devices(const RunRecord& run) {
  return run.environment.ranks ? run.environment.ranks->num_processes : devices_in_config(run);
}

double samples_a_device(const RunRecord& run) {
  return static_cast<double>(run.summary.identity.batch_size) / static_cast<double>(num_devices(run));
}

std::string exchange_engine(const RunRecord& run) {
  return run.environment.ranks ? run.environment.ranks->exchange : "";
}

bool has_changed_devices(const RunRecord& run) {
  return std::ranges::any_of(run.summary.warnings,
                             [](const Warning& warning) { return warning.kind == warning::kDevicesChanged; });
}

std::string graphs_text(const RunRecord& run) {
  const bool are_asked_for = value_or_absent(run.config, "training.cuda_graph") == "true";
  return run.summary.has_graphs.value_or(are_asked_for) ? "used" : "not used";
}

std::string kind_of_device(const RunRecord& run) { return run.summary.device.substr(0, run.summary.device.find(':')); }

bool have_equal_threads(const RunRecord& a, const RunRecord& b) {
  return a.summary.identity.num_threads == b.summary.identity.num_threads;
}

bool have_equal_total_threads(const RunRecord& a, const RunRecord& b) {
  const int64_t first = num_devices(a), second = num_devices(b);
  const int64_t difference = a.summary.identity.num_threads * first - b.summary.identity.num_threads * second;
  return first != second && std::abs(difference) < std::max(first, second);
}

bool differ_only_in_devices(const RunRecord& a, const RunRecord& b) {
  return num_devices(a) != num_devices(b) && has_comparable_devices(a) && has_comparable_devices(b) &&
         ran_equally(a, b) && has_equal_settings(a, b);
}

namespace {

using Found = std::vector<Warning>;

constexpr const char* kAdvice = "do not use its numbers; restore the file, or train again";

// Only the version counts, because an empty hash in a newer file is an edit, too.
bool is_sealed(const RunRecord& run) {
  constexpr int64_t kFirstWithSeals = 3;
  return run.summary.version_in_file >= kFirstWithSeals;
}

void check_summary_seal(const fs::path& folder, Found& found) {
  constexpr int64_t kMostBytes = int64_t{1} << 22;
  if (!has_fitting_seal(read_file(folder / kSummaryFile, kMostBytes)))
    found.emplace_back(warning::kEditedSummary,
                       fmt::format("summary.json was changed after it was written; {}", kAdvice));
}

void check_rows_seal(const RunRecord& run, Found& found) {
  if (rows_sha256(run.rows) != run.summary.rows_sha256)
    found.emplace_back(warning::kBrokenSeal,
                       fmt::format("epochs.csv was changed after summary.json sealed its rows; {}", kAdvice));
}

void check_settings(const RunRecord& run, Found& found) {
  if (settings_sha256(run.config) != run.summary.settings_sha256)
    found.emplace_back(warning::kEditedConfig,
                       "config.yaml has different settings than the run; restore the file, or train again");
  else if (work_hashes(run.config) != hashes_in(run.summary))
    found.emplace_back(warning::kEditedConfig,
                       "summary.json and config.yaml have different hashes of model and training");
}

void check_environment(const fs::path& folder, const RunRecord& run, Found& found) {
  constexpr int64_t kMostBytes = int64_t{1} << 22;
  const std::string& sealed = run.summary.environment_sha256;
  if (sealed.empty() || Sha256().update(read_file(folder / kEnvironmentFile, kMostBytes)).hex() == sealed) return;
  found.emplace_back(warning::kEditedEnvironment,
                     fmt::format("environment.json was changed after the run began; {}", kAdvice));
}

void check_row_files(const fs::path& folder, const RunRecord& run, Found& found) {
  constexpr int64_t kMostBytes = int64_t{1} << 28;
  const fs::path jsonl = folder / kEpochsJsonlFile;
  if (!path_exists(jsonl)) {
    if (is_sealed(run))
      found.emplace_back(warning::kRowsDisagree, "epochs.jsonl is missing, so nothing confirms epochs.csv");
    return;
  }
  if (const auto difference = disagreement(run.rows, read_file(jsonl, kMostBytes)))
    found.emplace_back(warning::kRowsDisagree,
                       fmt::format("epochs.csv and epochs.jsonl disagree: {}; one of them was changed", *difference));
}

}  // namespace

Found changed_files(const fs::path& folder, const RunRecord& run) {
  Found found;
  if (is_sealed(run)) {
    check_summary_seal(folder, found);
    check_rows_seal(run, found);
    check_settings(run, found);
    check_environment(folder, run, found);
  }
  check_row_files(folder, run, found);
  return found;
}

namespace {

bool keeps_best(const RunRecord& run) {
  const auto is_off = [&](const char* key) { return value_or_absent(run.config, key) == "false"; };
  return other_program(run).empty() && !is_off("checkpoint.best") && !is_off("checkpoint.save");
}

}  // namespace

std::span<const EpochRow> whole_epochs(const RunRecord& run) { return whole_epochs(run.rows, run.summary.epochs); }

std::optional<EpochRow> best_row(const RunRecord& run) {
  if (!keeps_best(run)) return std::nullopt;
  const EpochRow* best = best_epoch_of(run);
  return best == nullptr ? std::nullopt : std::optional(*best);
}

const EpochRow* best_epoch_of(const RunRecord& run) {
  const std::string name = value_or_absent(run.config, "training.early_stopping");
  const bool has_metric = find_column(name) != nullptr;
  const auto delta = parse_double(value_or_absent(run.config, "training.min_delta"));
  return best_epoch(whole_epochs(run), has_metric ? name : "", has_metric ? delta.value_or(0) : 0);
}

namespace {

// Returns the metric by which training chooses the best epoch; "" if no epoch of the run was validated.
std::string watched_metric(const RunRecord& run) {
  std::string name = value_or_absent(run.config, "training.early_stopping");
  if (find_column(name) != nullptr) return name;
  return !run.rows.empty() && run.rows.back().valid_loss ? "valid_loss" : "";
}

bool ended_with_its_epochs(const RunRecord& run) {
  const auto epochs = parse_int64(value_or_absent(run.config, "training.epochs"));
  const bool has_target = run.summary.target && run.summary.target->epoch;
  return run.summary.ending == RunEnding::kComplete && epochs == std::ssize(run.rows) && !has_target;
}

bool is_still_improving(std::span<const EpochRow> rows, const std::string& metric) {
  constexpr double kLeastPart = 0.01;
  const EpochRow* const before = best_epoch(rows.first(rows.size() - 1), metric);
  const auto first = metric_in(rows.front(), metric), last = metric_in(rows.back(), metric);
  if (before == nullptr || !first || !last || !std::isfinite(*last)) return false;
  const double gain = std::abs(*last - *metric_in(*before, metric));
  return !(is_larger_better(metric) && is_perfect(metric, *last)) && gain >= kLeastPart * std::abs(*last - *first);
}

}  // namespace

std::optional<std::string> train_longer_advice(const RunRecord& run) {
  const std::string metric = watched_metric(run);
  const auto rows = whole_epochs(run);
  if (!metric.starts_with("valid_") || rows.size() < 2 || !ended_with_its_epochs(run)) return std::nullopt;
  const EpochRow* const best = best_epoch_of(run);
  if (best == nullptr || best->epoch != rows.back().epoch || !is_still_improving(rows, metric)) return std::nullopt;
  return fmt::format(
      "the best epoch is the last, {0}, and {1} still improves: train longer, for example with "
      "`rnnlab train --resume {2} training.epochs={3}`",
      best->epoch, metric, shell_quoted(run.folder.string()), 2 * best->epoch);
}

}  // namespace rnnlab
