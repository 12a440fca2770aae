// SPDX-License-Identifier: Apache-2.0
#include "runs/bench/run_bench.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/types.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>

#include "base/error.h"
#include "base/numbers.h"
#include "base/system/counters.h"
#include "base/text.h"
#include "runs/bench/torch_backend.h"
#include "runs/child_process.h"
#include "runs/devices.h"
#include "runs/machine_report.h"
#include "train/loop/determinism.h"
#include "train/loop/device_rates.h"

namespace rnnlab {
namespace {

using Reports = std::vector<BenchReport>;

// Returns the rows at one index of the reports; null if a process does not have the row.
std::vector<const BenchRow*> rows_at(const Reports& reports, size_t place) {
  std::vector<const BenchRow*> rows;
  for (const BenchReport& report : reports) rows.push_back(place < report.rows.size() ? &report.rows[place] : nullptr);
  return rows;
}

bool has_measurement(const BenchRow* row) { return row != nullptr && is_measured(*row); }

void append(std::vector<double>& all, const std::vector<double>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

void add_seconds(std::optional<double>& sum, const std::optional<double>& seconds) {
  if (seconds) sum = sum.value_or(0) + *seconds;
}

void add_process(Measurement& all, const Measurement& one) {
  append(all.samples.forward, one.samples.forward);
  append(all.samples.forward_data, one.samples.forward_data);
  append(all.samples.all, one.samples.all);
  add_seconds(all.wall_seconds, one.wall_seconds);
  add_seconds(all.cpu_seconds, one.cpu_seconds);
}

Measurement joined(const std::vector<const BenchRow*>& rows) {
  Measurement all;
  for (const BenchRow* row : rows) {
    const int64_t rounds = has_measurement(row) ? std::ssize(row->measurement->samples.all) : 0;
    all.rounds_by_process.push_back(rounds);
    if (rounds == 0) continue;
    if (all.iterations.empty()) all.iterations = row->measurement->iterations;
    add_process(all, *row->measurement);
  }
  return all;
}

// Copies a process's observations of a row, without its times.
void copy_findings(BenchRow& row, const BenchRow& from) {
  row.path = from.path;
  row.path_notes = from.path_notes;
  row.kernels = from.kernels;
  row.peak_memory_bytes = from.peak_memory_bytes;
}

std::string partial_measurement_note(const std::vector<const BenchRow*>& rows) {
  std::string reason;
  for (const BenchRow* row : rows)
    if (row != nullptr && reason.empty()) reason = row->reason;
  return fmt::format("measured in {} of {}: {}", std::ranges::count_if(rows, has_measurement),
                     counted(std::ssize(rows), "process"), reason);
}

BenchRow combine_row(const std::vector<const BenchRow*>& rows) {
  const auto first = std::ranges::find_if(rows, [](const BenchRow* row) { return row != nullptr; });
  const auto measured = std::ranges::find_if(rows, has_measurement);
  if (measured == rows.end()) return **first;
  BenchRow row;
  row.key = (*measured)->key;
  row.measurement = joined(rows);
  const auto seen =
      std::ranges::find_if(rows, [](const BenchRow* one) { return one != nullptr && !one->path.empty(); });
  copy_findings(row, seen != rows.end() ? **seen : **measured);
  for (const BenchRow* one : rows)
    if (has_measurement(one))
      for (const Warning& note : one->notes) add_once(row.notes, note);
  const bool has_failed =
      std::ranges::any_of(rows, [](const BenchRow* one) { return one != nullptr && !has_measurement(one); });
  if (has_failed) row.notes.emplace_back(warning::kNotMeasured, partial_measurement_note(rows));
  return row;
}

std::vector<Ceiling> highest_ceilings(const Reports& reports) {
  std::vector<Ceiling> highest;
  for (const BenchReport& report : reports)
    for (const Ceiling& one : report.ceilings) {
      const Ceiling* known = find_ceiling(highest, one.device, one.precision);
      Ceiling& found = known == nullptr ? highest.emplace_back(one) : highest[static_cast<size_t>(known - &highest[0])];
      found.gemm_flops_per_second = std::max(found.gemm_flops_per_second, one.gemm_flops_per_second);
      found.copy_bytes_per_second = std::max(found.copy_bytes_per_second, one.copy_bytes_per_second);
    }
  return highest;
}

bool has_kind(const std::vector<Warning>& warnings, const std::string& kind) {
  return std::ranges::count(warnings, kind, &Warning::kind) > 0;
}

auto num_with_kind(const Reports& reports, const std::string& kind) {
  return std::ranges::count_if(reports, [&](const BenchReport& report) { return has_kind(report.warnings, kind); });
}

// Each kind of warning has the text of the first process that reported it: the texts differ only in numbers.
std::vector<Warning> combine_warnings(const Reports& reports) {
  std::vector<Warning> all;
  for (const BenchReport& report : reports) {
    const std::vector<Warning> known = all;
    for (const Warning& one : report.warnings)
      if (one.kind != warning::kUnfinished && !has_kind(known, one.kind)) all.push_back(one);
  }
  for (Warning& one : all)
    if (const auto count = num_with_kind(reports, one.kind); count > 1)
      one.text += fmt::format(" ({} of {} processes have such a warning)", count, reports.size());
  return all;
}

}  // namespace

BenchReport combine_reports(const std::vector<BenchReport>& reports, const BenchSettings& settings) {
  RNNLAB_INVARIANT(!reports.empty(), "the list of reports is empty");
  if (reports.size() == 1) return reports[0];
  BenchReport combined;
  combined.environment = reports[0].environment;
  combined.ceilings = highest_ceilings(reports);
  combined.warnings = combine_warnings(reports);
  const size_t num_rows =
      std::ranges::max(reports, {}, [](const BenchReport& one) { return one.rows.size(); }).rows.size();
  for (size_t place = 0; place < num_rows; ++place) combined.rows.push_back(combine_row(rows_at(reports, place)));
  const std::vector<BenchCase> combinations = expand_grid(settings);
  const size_t num_layers = timed_layers(settings).size();
  for (size_t place = 0; place < num_rows; place += num_layers) {
    const std::span rows = std::span(combined.rows).subspan(place, std::min(num_layers, num_rows - place));
    set_times(rows);
    const auto measured = std::ranges::find_if(rows, is_measured);
    if (measured == rows.end()) continue;
    const RowKey& key = measured->key;
    if (const Ceiling* ceiling = find_ceiling(combined.ceilings, key.device, key.precision))
      set_rates(rows, combinations.at(place / num_layers), *ceiling);
  }
  return combined;
}

namespace {

// Returns the device name of the rows. A device that this machine lacks keeps the user's name.
std::string label_of(const std::string& device) {
  return device_error(device).empty() ? device_label(resolve_device(device)) : device;
}

std::vector<BenchRow> planned_rows(const BenchSettings& settings) {
  std::vector<BenchRow> rows;
  for (const BenchCase& combination : expand_grid(settings))
    for (const LayerChoice& layer : timed_layers(settings))
      rows.emplace_back().key = row_key(layer, label_of(combination.device), combination);
  return rows;
}

// Returns the plan for the number of threads of this process.
BenchReport plan_of(const BenchSettings& settings, const std::vector<std::string>& command_line) {
  BenchReport plan;
  plan.environment = collect_environment(command_line, at::get_num_threads(), libraries());
  plan.rows = planned_rows(settings);
  return plan;
}

// Surveys the GPUs that will be measured, after this process has used each of them.
GpuSurvey survey_of_all(const BenchSettings& settings) {
  GpuSurvey all;
  for (const std::string& name : settings.device) {
    if (!device_error(name).empty()) continue;
    const c10::Device device = resolve_device(name);
    torch::empty({1}, device);
    for (const GpuInfo& gpu : survey_of(uuid_of(device)).gpus) all.gpus.push_back(gpu);
  }
  return all;
}

}  // namespace

BenchOutcome run_bench_in_this_process(const BenchSettings& settings, const std::vector<std::string>& command_line,
                                       const BenchHooks& hooks, const CheckPlan& check_plan) {
  TorchBackend backend(settings);
  const BenchReport plan = plan_of(settings, command_line);
  const Environment& environment = plan.environment;
  check_plan(plan);
  const ContentionMonitor contention(survey_of_all(settings), environment.num_threads);
  const auto complete = [&](BenchReport report) {
    for (const Warning& warning : warnings(environment)) add_once(report.warnings, warning);
    for (const Warning& warning : contention.warnings()) add_once(report.warnings, warning);
    // For each kind, the first row's warning is placed above the table; each row has its own warning below the table.
    for (const BenchRow& row : report.rows)
      for (const Warning& note : row.notes)
        if (!has_kind(report.warnings, note.kind)) report.warnings.push_back(note);
    report.environment = environment;
    return report;
  };
  BenchHooks completing = hooks;
  if (hooks.on_report) completing.on_report = [&](const BenchReport& so_far) { hooks.on_report(complete(so_far)); };
  BenchOutcome outcome = run_bench(settings, backend, completing);
  outcome.report = complete(std::move(outcome.report));
  return outcome;
}

namespace {

// Runs the processes of one benchmark, one after the other.
class BenchProcesses {
 public:
  BenchProcesses(const BenchSettings& settings, const std::vector<std::string>& command_line, const BenchHooks& hooks,
                 const std::vector<std::string>& arguments)
      : settings_(settings), command_line_(command_line), hooks_(hooks), arguments_(arguments) {}

  BenchOutcome run() {
    for (int64_t number = 1; number <= settings_.processes && should_continue(); ++number) {
      hooks_.on_progress(fmt::format("=== process {} of {}", number, settings_.processes));
      const auto began = std::chrono::steady_clock::now();
      run_process(number);
      if (number == 1 && should_continue()) report_time_left(seconds_since(began));
    }
    outcome_.report = combined();
    return std::move(outcome_);
  }

 private:
  bool should_continue() const { return outcome_.exit_code == ExitCode::kDone && !hooks_.should_stop(); }

  void run_process(int64_t number) {
    std::string latest;
    const auto on_line = [&](const std::string& line) {
      if (!line.starts_with(kReportMark)) return hooks_.on_progress(line);
      latest = line.substr(kReportMark.size());
      if (number == 1) keep(latest, number);
    };
    try {
      outcome_.exit_code = run_child(kThisProgram, arguments_of_process(number), on_line);
      outcome_.failure = fmt::format("process {} of {} failed", number, settings_.processes);
    } catch (const UserError& error) {
      outcome_.exit_code = error.exit_code();
      outcome_.failure = error.what();
    }
    if (!latest.empty()) keep(latest, number);
    if (const std::string reason = why_nothing_was_measured(); !reason.empty())
      outcome_.failure = "nothing was measured: " + reason;
  }

  // Each report of the first process is kept immediately. Of later processes only the last report is kept, at their
  // end, because combining reports takes time and would disturb a process that measures.
  void keep(const std::string& json, int64_t number) {
    BenchReport report = report_from(json, fmt::format("the report of process {}", number));
    report.environment.command_line = command_line_;
    reports_.resize(static_cast<size_t>(number) - 1);
    reports_.push_back(std::move(report));
    if (hooks_.on_report) hooks_.on_report(combined());
  }

  // Returns the first row's reason; "" if a row was measured.
  std::string why_nothing_was_measured() const {
    if (reports_.empty() || reports_[0].rows.empty()) return "";
    return std::ranges::any_of(reports_[0].rows, is_measured) ? "" : reports_[0].rows[0].reason;
  }

  std::vector<std::string> arguments_of_process(int64_t number) const {
    BenchSettings own = settings_;
    own.processes = 1;
    own.seed = static_cast<int64_t>((static_cast<uint64_t>(settings_.seed) + static_cast<uint64_t>(number - 1)) &
                                    static_cast<uint64_t>(std::numeric_limits<int64_t>::max()));
    std::vector<std::string> all = {"bench", "--process"};
    for (const std::string& argument : arguments_of(own)) all.push_back(argument);
    all.insert(all.end(), arguments_.begin(), arguments_.end());
    return all;
  }

  BenchReport combined() const {
    BenchReport report = reports_.empty() ? BenchReport() : combine_reports(reports_, settings_);
    report.settings = config::print(settings_, BenchSettings::schema());
    if (num_finished() < settings_.processes)
      report.warnings.insert(report.warnings.begin(),
                             {warning::kUnfinished, fmt::format("UNFINISHED: {} of {} processes had measured all when "
                                                                "this was written",
                                                                num_finished(), settings_.processes)});
    return report;
  }

  int64_t num_finished() const { return std::ssize(reports_) - num_with_kind(reports_, warning::kUnfinished); }

  void report_time_left(double seconds) {
    const int64_t num_left = settings_.processes - 1;
    if (num_left > 0)
      hooks_.on_progress(fmt::format("the first process took {}; {} more take about {}", format_duration(seconds),
                                     num_left, format_duration(static_cast<double>(num_left) * seconds)));
  }

  const BenchSettings& settings_;
  const std::vector<std::string>& command_line_;
  const BenchHooks& hooks_;
  const std::vector<std::string>& arguments_;
  std::vector<BenchReport> reports_;  // one for each process so far
  BenchOutcome outcome_;
};

}  // namespace

BenchOutcome run_bench_in_processes(const BenchSettings& settings, const std::vector<std::string>& command_line,
                                    const BenchHooks& hooks, const CheckPlan& check_plan,
                                    const std::vector<std::string>& arguments) {
  set_num_threads(settings.num_threads);
  check_plan(plan_of(settings, command_line));
  return BenchProcesses(settings, command_line, hooks, arguments).run();
}

}  // namespace rnnlab
