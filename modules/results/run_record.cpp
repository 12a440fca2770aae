#include "results/run_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <system_error>
#include <tuple>

#include "base/error.h"
#include "base/folder.h"
#include "base/sha256.h"
#include "base/text.h"
#include "config/sweep.h"
#include "results/epoch_log.h"
#include "results/run_folder.h"
#include "results/work_settings.h"
#include "system/files.h"
#include "system/json_fields.h"

namespace rnnlab {
namespace {

bool is_same_number(const std::optional<double>& a, const std::optional<double>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return *a == *b || (std::isnan(*a) && std::isnan(*b));
}

bool is_same_row(const EpochRow& a, const EpochRow& b) {
  return std::ranges::all_of(epoch_columns(), [&](const EpochColumn& column) {
    return is_same_number(number_in(a, column), number_in(b, column));
  });
}

}  // namespace

bool is_copy(const RunRecord& a, const RunRecord& b) {
  if (a.environment.start_time != b.environment.start_time) return false;
  if (a.summary.turn.process != b.summary.turn.process) return false;
  const bool rows_tell = !a.summary.turn.process.empty() && !a.rows.empty();
  if (!rows_tell && a.config != b.config) return false;
  return std::ranges::equal(a.rows, b.rows, is_same_row);
}

namespace {

namespace fs = std::filesystem;

void check_is_finished_run(const fs::path& folder) {
  constexpr const char* kWanted = "expected a folder that `rnnlab train` made, such as runs/NAME/START-DEVICE-LAYER";
  std::error_code ignored;
  if (!fs::exists(folder, ignored)) throw_error(ExitCode::kUsage, "{}: no such folder, {}", folder.string(), kWanted);
  if (fs::exists(folder / kSummaryFile, ignored)) return;
  if (fs::exists(folder / kEpochsCsvFile, ignored))
    throw_error(ExitCode::kUsage,
                "{}: the run has not ended yet, or was killed ({} is missing): wait, or resume it: rnnlab train "
                "--resume {}",
                folder.string(), kSummaryFile, shell_quoted(folder.string()));
  throw_error(ExitCode::kUsage, "{}: not the folder of a run ({} is missing), {}", folder.string(), kSummaryFile,
              kWanted);
}

// Returns the number of processes that trained the run, and their engine of the exchange.
std::string ranks_text(const Environment& environment) {
  if (!environment.ranks) return "";
  const RanksInfo& ranks = *environment.ranks;
  return fmt::format("{} on {} by {}", ranks.num_processes, ranks.num_hosts, ranks.exchange);
}

// Returns what makes a run the same work as another run, for any seed: its device, hardware and software, and its
// settings.
std::vector<std::string> work_key(const RunRecord& run) {
  const Identity& identity = run.summary.identity;
  const BuildInfo& build = run.environment.build;
  const SoftwareVersions& software = run.environment.software;
  std::vector<std::string> key = {run.summary.device,
                                  run.summary.layer,
                                  identity.precision,
                                  identity.build_type,
                                  identity.cpu_model,
                                  identity.gpu_model,
                                  identity.model_hash,
                                  identity.training_hash,
                                  identity.placement,
                                  std::to_string(identity.num_threads),
                                  std::to_string(identity.batch_size),
                                  build.git_revision + (build.git_dirty ? " dirty" : ""),
                                  software.libtorch,
                                  software.cuda,
                                  software.cudnn,
                                  software.program,
                                  ranks_text(run.environment)};
  // The summary contains the device and layer that "auto" selected.
  constexpr std::array<std::string_view, 4> kNotWork = {"seed", "device", "layer", "auto_layer"};
  for (const auto& [name, value] : run.config)
    if (std::ranges::find(kNotWork, name) == kNotWork.end()) key.push_back(name + "=" + value);
  return key;
}

// Runs of different versions of the program may differ in dozens of settings. Such a list is not readable, so it is
// left out.
std::vector<std::string> readable_differing_settings(const std::vector<RunGroup>& groups) {
  constexpr size_t kMostReadable = 6;
  const std::vector<std::string> keys = differing_settings(groups);
  return keys.size() > kMostReadable ? std::vector<std::string>() : keys;
}

// Returns "batch_size=64 data.seed=2": the last part of each key, or the whole key if two keys have the same last part.
std::string told_settings(const RunRecord& run, const std::vector<std::string>& keys) {
  std::string told;
  for (const std::string& key : keys) {
    const auto ends_alike = [&](const std::string& other) {
      return config::last_part(other) == config::last_part(key);
    };
    const std::string name = std::ranges::count_if(keys, ends_alike) == 1 ? config::last_part(key) : key;
    if (const auto value = run.config.find(key); value != run.config.end() && !value->second.empty())
      told += " " + name + "=" + value->second;
  }
  return told;
}

// Returns null if the run is not a copy.
RunGroup* group_of_original(std::vector<RunGroup>& groups, const RunRecord& run) {
  for (RunGroup& group : groups)
    if (std::ranges::any_of(group.runs, [&](const RunRecord* other) { return is_copy(*other, run); })) return &group;
  return nullptr;
}

// Before version 3 the identity did not contain conditions.
void take_conditions_of_environment(RunRecord& run) {
  Conditions& conditions = run.summary.identity.conditions;
  if (conditions == Conditions()) conditions = conditions_of(run.environment);
}

bool has_conditions_of(const RunGroup& group, const RunRecord& run) {
  return std::ranges::all_of(group.runs, [&](const RunRecord* other) {
    return allow_comparison(other->summary.identity.conditions, run.summary.identity.conditions);
  });
}

using Labeller = std::string (*)(const RunRecord&);

bool label_uniquely(std::vector<RunGroup>& groups, Labeller labeller) {
  const auto keys = readable_differing_settings(groups);
  std::set<std::string> labels;
  for (RunGroup& group : groups) {
    group.label = labeller(*group.runs[0]) + told_settings(*group.runs[0], keys);
    labels.insert(group.label);
  }
  return labels.size() == groups.size();
}

std::string label_by_layer(const RunRecord& run) {
  const std::string& program = other_program(run);
  return run.summary.device + " " + (program.empty() ? run.summary.layer : program);
}
std::string label_by_name(const RunRecord& run) { return run.summary.name + " " + label_by_layer(run); }
std::string label_by_folder(const RunRecord& run) { return run.folder.string(); }

// Counts the runs whose folders have the same last name.
std::map<std::string, size_t> count_names(const std::vector<RunRecord>& runs) {
  std::map<std::string, size_t> counts;
  for (const RunRecord& run : runs) ++counts[last_name(run.folder.string())];
  return counts;
}

void name_folders(std::vector<RunGroup>& groups, const std::vector<RunRecord>& runs) {
  const auto counts = count_names(runs);
  for (RunGroup& group : groups)
    for (const RunRecord* run : group.runs) {
      const std::string name = last_name(run->folder.string());
      group.names[run] = counts.at(name) == 1 ? name : run->folder.string();
    }
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
  take_conditions_of_environment(run);
  run.changed = changed_files(folder, run);
  return run;
}

const std::string& other_program(const RunRecord& run) { return run.environment.software.program; }

bool is_on_gpu(const RunRecord& run) { return run.summary.device.starts_with("cuda"); }

std::optional<double> start_in_seconds(const RunRecord& run) {
  int year = 0;
  unsigned month = 0, day = 0;
  int hour = 0, minute = 0;
  double second = 0;
  if (std::sscanf(run.started.c_str(), "%d-%u-%uT%d:%d:%lf", &year, &month, &day, &hour, &minute, &second) != 6)
    return std::nullopt;
  const std::chrono::sys_days date =
      std::chrono::year_month_day{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  constexpr double kDay = 86400, kHour = 3600, kMinute = 60;
  return kDay * static_cast<double>(date.time_since_epoch().count()) + kHour * hour + kMinute * minute + second;
}

bool involve_other_program(const RunGroup& a, const RunGroup& b) {
  return !other_program(*a.runs[0]).empty() || !other_program(*b.runs[0]).empty();
}

std::vector<RunGroup> group_runs(const std::vector<RunRecord>& runs) {
  std::vector<RunGroup> groups;
  std::map<std::vector<std::string>, std::vector<size_t>> groups_of_work;
  for (const RunRecord* run : in_order_of_sweeps(runs)) {
    if (RunGroup* original = group_of_original(groups, *run)) {
      original->copies.push_back(run);
      continue;
    }
    std::vector<size_t>& of_work = groups_of_work[work_key(*run)];
    const auto fits = [&](size_t group) { return has_conditions_of(groups[group], *run); };
    auto found = std::ranges::find_if(of_work, fits);
    if (found == of_work.end()) {
      of_work.push_back(groups.size());
      groups.emplace_back();
      found = of_work.end() - 1;
    }
    groups[*found].runs.push_back(run);
  }
  for (const Labeller labeller : {label_by_layer, label_by_name, label_by_folder})
    if (label_uniquely(groups, labeller)) break;
  name_folders(groups, runs);
  return groups;
}

std::string folder_name(const RunRecord& run, const RunGroup& group) {
  const auto found = group.names.find(&run);
  return found == group.names.end() ? run.folder.string() : found->second;
}

std::vector<std::string> differing_settings(const std::vector<RunGroup>& groups) {
  constexpr std::array<std::string_view, 5> kElsewhere = {"name", "seed", "device", "layer", "auto_layer"};
  std::set<std::string> keys;
  for (const RunGroup& group : groups) {
    const auto &config = group.runs[0]->config, &first = groups[0].runs[0]->config;
    for (const auto* one : {&config, &first})
      for (const auto& [key, value] : *one)
        if (value_or_absent(config, key) != value_or_absent(first, key)) keys.insert(key);
  }
  for (const std::string_view key : kElsewhere) keys.erase(std::string(key));
  return {keys.begin(), keys.end()};
}

std::vector<EpochRow> all_rows(const RunGroup& group) {
  std::vector<EpochRow> rows;
  for (const RunRecord* run : group.runs) rows.insert(rows.end(), run->rows.begin(), run->rows.end());
  return rows;
}

std::optional<double> samples_an_epoch(const RunRecord& run) {
  const auto counts = [](const EpochRow& row) { return !row.warmup && num_samples(row) > 0; };
  const auto row = std::ranges::find_if(run.rows, counts);
  return row == run.rows.end() ? std::nullopt : std::optional(num_samples(*row));
}

std::optional<double> samples_an_epoch(const RunGroup& group) {
  for (const RunRecord* run : group.runs)
    if (const auto samples = samples_an_epoch(*run)) return samples;
  return std::nullopt;
}

std::vector<double> timed_seconds(const RunGroup& group) {
  std::vector<double> all;
  for (const RunRecord* run : group.runs) {
    const std::vector<double> seconds = timed_seconds(run->rows);
    all.insert(all.end(), seconds.begin(), seconds.end());
  }
  return all;
}

std::vector<int64_t> seeds(const RunGroup& group) {
  std::set<int64_t> found;
  for (const RunRecord* run : group.runs) found.insert(run->summary.seed);
  return {found.begin(), found.end()};
}

namespace {

// Returns a key that is equal for runs that are sorted among themselves.
std::string key_of(const RunRecord& run) {
  if (!run.summary.turn.measurement.empty()) return run.summary.turn.measurement;
  return run.environment.start_time + " " + whole_path(run.folder).parent_path().string();
}

bool comes_before(const RunRecord* a, const RunRecord* b) {
  return std::tie(a->summary.turn.case_number, a->started) < std::tie(b->summary.turn.case_number, b->started);
}

}  // namespace

std::vector<const RunRecord*> in_order_of_sweeps(const std::vector<RunRecord>& runs) {
  std::vector<std::vector<const RunRecord*>> sweeps;
  std::map<std::string, size_t> index_of;
  for (const RunRecord& run : runs) {
    const auto [found, is_new] = index_of.emplace(key_of(run), sweeps.size());
    if (is_new) sweeps.emplace_back();
    sweeps[found->second].push_back(&run);
  }
  std::vector<const RunRecord*> all;
  for (auto& sweep : sweeps) {
    std::ranges::stable_sort(sweep, comes_before);
    all.insert(all.end(), sweep.begin(), sweep.end());
  }
  return all;
}

std::string start_by_log(const std::filesystem::path& folder) {
  constexpr std::string_view kPattern = "2026-11-21T02:59:51.079Z";
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(folder / kLogFile, ignored)) return "";  // reading a pipe would block
  std::string start(kPattern.size(), '\0');
  std::ifstream log(folder / kLogFile, std::ios::binary);
  log.read(start.data(), static_cast<std::streamsize>(start.size()));
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool is_time = std::ranges::equal(
      start, kPattern, [&](char read, char wanted) { return is_digit(wanted) ? is_digit(read) : read == wanted; });
  return log && is_time ? start : "";
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
  const Identity& identity = run.summary.identity;
  const WorkHashes told{identity.model_hash, identity.training_hash};
  if (settings_sha256(run.config) != run.summary.settings_sha256)
    found.emplace_back(warning::kEditedConfig,
                       "config.yaml has different settings than the run; restore the file, or train again");
  else if (work_hashes(run.config) != told)
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
  std::error_code ignored;
  if (!fs::exists(jsonl, ignored)) {
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

}  // namespace rnnlab
