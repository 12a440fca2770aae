// SPDX-License-Identifier: Apache-2.0
#include "runs/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>
#include <span>

#include "base/folder.h"
#include "base/numbers.h"
#include "base/random.h"
#include "base/text.h"
#include "results/checkpoint/checkpoint_folder.h"
#include "results/comparison.h"
#include "results/measuring_order.h"
#include "results/run_folder.h"
#include "runs/child_process.h"
#include "runs/devices.h"
#include "runs/failure.h"
#include "runs/sweep_file.h"
#include "train/loop/stop_signal.h"

namespace rnnlab {
namespace {

using Clock = std::chrono::steady_clock;

// Sets the positions of the entries of one round, which are in the order of their cases.
void set_positions(std::vector<SweepEntry>& entries, const std::string& measurement) {
  const std::vector<size_t> order =
      order_of_round(seed_of_measurement(measurement), entries.at(0).round, entries.size());
  for (size_t i = 0; i < order.size(); ++i) entries[order[i]].position = static_cast<int64_t>(i) + 1;
}

// Returns whether half the width of the interval is at most the part `until` of the value.
bool is_narrow(const std::optional<double>& value, const std::optional<double>& low, const std::optional<double>& high,
               double until) {
  return value && low && high && *high - *low <= 2 * until * *value;
}

bool is_precise(const Comparison& comparison, double until) {
  const bool has_ratios = comparison.groups.size() > 1;
  return std::ranges::all_of(comparison.groups, [&](const GroupResult& group) {
    if (!has_ratios || group.is_other_work)
      return is_narrow(group.seconds, group.low_seconds, group.high_seconds, until);
    return group.label == comparison.baseline || is_narrow(group.ratio, group.ratio_low, group.ratio_high, until);
  });
}

class Rounds {
 public:
  Rounds(SweepFile& sweep, const RunRequest& request, Logger& logger)
      : sweep_(sweep), repeats_(*sweep.repeats()), request_(request), logger_(logger) {}

  RunAllOutcome run() {
    log_cost();
    for (int64_t round = 1; !pending_stop() && (has_begun(round) || begin(round)); ++round) {
      const Clock::time_point began = Clock::now();
      const size_t num_run = run_round(round);
      if (num_run > 0 && !pending_stop()) log_time_left(round, Clock::now() - began);
    }
    // The runs are added in the order of the cases, so that the first case is the baseline.
    for (auto& [entry, outcome] : outcomes_) all_.finished.push_back(std::move(outcome));
    end_command(all_, num_left(), static_cast<size_t>(num_runs()), &sweep_, request_, logger_);
    return std::move(all_);
  }

 private:
  int64_t num_rounds() const { return std::ranges::max(repeats_.at_most); }
  std::string of_all_rounds() const {
    return repeats_.until ? fmt::format("at most {}", num_rounds()) : fmt::format("{}", num_rounds());
  }

  // Returns the entries of a round, in the order of their cases.
  std::vector<size_t> entries_of(int64_t round) const {
    std::vector<size_t> found;
    for (size_t i = 0; i < sweep_.entries().size(); ++i)
      if (sweep_.entries()[i].round == round) found.push_back(i);
    return found;
  }
  bool has_begun(int64_t round) const { return !entries_of(round).empty(); }

  // Returns false if there are enough rounds.
  bool begin(int64_t round) {
    if (repeats_.until && was_precise_before(round)) {
      logger_.info(fmt::format("the intervals are within {:g} % after {} rounds", 100 * *repeats_.until, round - 1));
      return false;
    }
    std::vector<SweepEntry> entries;
    for (const size_t first : entries_of(1)) {
      const SweepEntry& entry = sweep_.entries()[first];
      const int64_t at_most = repeats_.at_most.at(static_cast<size_t>(entry.case_number - 1));
      if (round > at_most || failed_.contains(entry.case_number)) continue;
      entries.push_back({.label = entry.label,
                         .experiment = entry.experiment,
                         .folder = std::nullopt,
                         .case_number = entry.case_number,
                         .round = round});
    }
    if (entries.empty()) {
      log_missed_precision(round - 1);
      return false;
    }
    set_positions(entries, repeats_.measurement);
    sweep_.add_entries(entries);
    return true;
  }

  // Returns how many runs were run now; runs that have ended before are only reported again.
  size_t run_round(int64_t round) {
    std::vector<size_t> entries = entries_of(round);
    std::ranges::sort(entries, {}, [&](size_t i) { return sweep_.entries()[i].position; });
    size_t num_run = 0;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (record_if_ended(entries[i])) continue;
      if (pending_stop()) break;
      if (!is_one_run()) logger_.info(heading(round, std::span(entries).subspan(i), entries.size()));
      run_process(entries[i]);
      ++num_run;
    }
    return num_run;
  }

  // `left` are the entries of the round that have not run.
  std::string heading(int64_t round, std::span<const size_t> left, size_t count) const {
    std::vector<int64_t> cases;
    for (const size_t entry : left) cases.push_back(sweep_.entries()[entry].case_number);
    for (int64_t later = round + 1; later <= num_rounds(); ++later)
      for (size_t i = 0; i < repeats_.at_most.size(); ++i)
        if (const int64_t one = static_cast<int64_t>(i) + 1; later <= repeats_.at_most[i] && !failed_.contains(one))
          cases.push_back(one);
    const std::string time = clock_.text(cases);
    return fmt::format("=== round {} of {}, run {} of {}: {}{}", round, of_all_rounds(), count - left.size() + 1, count,
                       sweep_.entries()[left.front()].label, time.empty() ? "" : " (" + time + ")");
  }

  bool record_if_ended(size_t entry) {
    const auto& folder = sweep_.entries()[entry].folder;
    if (!folder || !sweep_.overrides().empty()) return false;
    auto outcome = ended_run(*folder);
    if (!outcome) return false;
    outcomes_[entry] = *std::move(outcome);
    return true;
  }

  void run_process(size_t entry) {
    std::vector<std::string> arguments = {"train", "--entry", std::to_string(entry), "--resume",
                                          normalized_path(sweep_.path()).string()};
    arguments.insert(arguments.end(), request_.child_arguments.begin(), request_.child_arguments.end());
    if (sweep_.entries()[entry].round > 1) arguments.emplace_back("--brief");
    try {
      const ExitCode exit_code = run_processes_of(entry, arguments);
      if (exit_code != ExitCode::kDone) record_failure_of(entry, exit_code);
    } catch (const UserError& error) {
      logger_.error(error.what());
      record_failure_of(entry, error.exit_code());
    }
    record_result(entry);
    log_result(entry);
  }

  ExitCode run_processes_of(size_t entry, const std::vector<std::string>& arguments) {
    const std::string program = request_.program.empty() ? kThisProgram : request_.program;
    const auto on_line = [&](const std::string& line) { handle_line(entry, line); };
    const Experiment experiment = experiment_of(sweep_.entries()[entry], sweep_.path().string(), sweep_.overrides());
    return run_processes(experiment, program, arguments, on_line);
  }

  void handle_line(size_t entry, const std::string& line) {
    if (line.starts_with(kFolderMark)) return sweep_.set_folder(entry, line.substr(kFolderMark.size()));
    fmt::print("{}\n", line);
    std::fflush(stdout);
  }

  void log_result(size_t entry) {
    const auto found = outcomes_.find(entry);
    if (is_one_run() || found == outcomes_.end() || !found->second.summary.epoch_time) return;
    const EpochTime& time = *found->second.summary.epoch_time;
    logger_.info(fmt::format("{} an epoch, the median of {}", format_seconds(time.median_seconds),
                             counted(time.num_epochs, "epoch")));
  }

  void record_failure_of(size_t entry, ExitCode exit_code) {
    record_failure(all_, exit_code);
    if (pending_stop()) return;
    failed_.insert(sweep_.entries()[entry].case_number);
    if (num_rounds() == 1) return;
    logger_.warn(fmt::format("{} failed and is skipped in later rounds", sweep_.entries()[entry].label));
  }

  // A run that failed has no results; a run that was stopped or diverged has results.
  void record_result(size_t entry) {
    const auto& folder = sweep_.entries()[entry].folder;
    std::error_code ignored;
    if (folder && std::filesystem::is_regular_file(std::filesystem::path(*folder) / kSummaryFile, ignored))
      outcomes_[entry] = {.folder = *folder, .summary = read_summary(*folder)};
    if (const auto found = outcomes_.find(entry); found != outcomes_.end())
      clock_.record(sweep_.entries()[entry].case_number, found->second.summary.total_seconds);
  }

  // Checks the cases that did not fail, because the failed cases get no more rounds. The intervals must be narrow after
  // each of three successive rounds: stopping at the first narrow interval would select intervals that are narrow by
  // chance and contain the true value too rarely (docs/timing.md).
  bool was_precise_before(int64_t round) const {
    if (round - kSuccessivePreciseRounds < kMinProcessesForVerdict) return false;
    for (int64_t i = 1; i <= kSuccessivePreciseRounds; ++i)
      if (!was_precise_after(round - i)) return false;
    return true;
  }

  bool was_precise_after(int64_t round) const {
    std::vector<RunRecord> records;
    for (const auto& [entry, outcome] : outcomes_) {
      const SweepEntry& one = sweep_.entries()[entry];
      if (one.round <= round && !failed_.contains(one.case_number)) records.push_back(load_run(outcome.folder));
    }
    if (records.empty()) return false;
    const CompareOptions options = {.baseline = "", .on_difference = OnDifference::kReport};
    return is_precise(compare(records, options), *repeats_.until);
  }

  // A run of several processes also uses this class, without repeats.
  bool is_one_run() const { return num_rounds() == 1 && repeats_.at_most.size() == 1; }

  int64_t num_runs() const { return std::accumulate(repeats_.at_most.begin(), repeats_.at_most.end(), int64_t{0}); }

  // Returns the number of runs that a stop left undone, including runs of rounds that did not begin.
  size_t num_left() const {
    const auto num_begun = static_cast<size_t>(
        std::ranges::count_if(sweep_.entries(), [](const SweepEntry& entry) { return entry.folder.has_value(); }));
    return pending_stop() ? static_cast<size_t>(num_runs()) - std::min(num_begun, static_cast<size_t>(num_runs())) : 0;
  }

  bool have_all_failed() const { return failed_.size() == repeats_.at_most.size(); }

  void log_missed_precision(int64_t num_done) {
    if (repeats_.until && !have_all_failed())
      logger_.warn(fmt::format("the intervals are not within {:g} % after {} rounds, the maximum of repeats",
                               100 * *repeats_.until, num_done));
  }

  void log_cost() {
    if (is_one_run()) return;
    const std::string until =
        repeats_.until ? fmt::format(", fewer once the intervals are within {:g} %", 100 * *repeats_.until) : "";
    logger_.info(fmt::format("{} in {} of {}, each in a new process{}", counted(num_runs(), "run"),
                             counted(num_rounds(), "round"), counted(std::ssize(repeats_.at_most), "case"), until));
  }

  void log_time_left(int64_t round, Clock::duration duration) {
    const int64_t num_left = num_rounds() - round;
    if (round > 1 || num_left <= 0 || have_all_failed()) return;
    const double seconds = std::chrono::duration<double>(duration).count();
    logger_.info(fmt::format("the first round took {}; {} more take {}about {}", format_duration(seconds), num_left,
                             repeats_.until ? "at most " : "",
                             format_duration(static_cast<double>(num_left) * seconds)));
    if (std::ranges::find(request_.child_arguments, "--verbose") == request_.child_arguments.end())
      logger_.info("later rounds show only the result of each run; --verbose shows their epochs, too");
  }

  SweepFile& sweep_;
  const SweepRepeats repeats_;
  const RunRequest& request_;
  Logger& logger_;
  std::set<int64_t> failed_;               // cases
  std::map<size_t, RunOutcome> outcomes_;  // by entry
  SweepClock clock_;
  RunAllOutcome all_;
};

SweepRepeats repeats_for(const std::vector<ExperimentCase>& cases, const RunRequest& request) {
  SweepRepeats repeats{
      .measurement = random_name(), .at_most = {}, .until = std::nullopt, .command_line = request.command_line};
  for (const ExperimentCase& one : cases) {
    repeats.at_most.push_back(one.repeats.at_most);
    // If several files have a bound of precision, the strictest bound applies to all files.
    if (one.repeats.until) repeats.until = std::min(*one.repeats.until, repeats.until.value_or(*one.repeats.until));
  }
  return repeats;
}

std::vector<SweepEntry> first_round(const std::vector<ExperimentCase>& cases, const std::string& measurement) {
  std::vector<SweepEntry> entries = entries_of(cases);
  for (SweepEntry& entry : entries) entry.round = 1;
  set_positions(entries, measurement);
  return entries;
}

}  // namespace

RunAllOutcome run_in_rounds(const std::vector<ExperimentCase>& cases, const RunRequest& request, Logger& logger) {
  SweepRepeats repeats = repeats_for(cases, request);
  std::vector<SweepEntry> entries = first_round(cases, repeats.measurement);
  SweepFile sweep(request.out, std::move(entries), std::move(repeats));
  return resume_rounds(sweep, request, logger);
}

RunAllOutcome resume_rounds(SweepFile& sweep, const RunRequest& request, Logger& logger) {
  if (!sweep.lock_warning().empty()) logger.warn(sweep.lock_warning());
  return Rounds(sweep, request, logger).run();
}

}  // namespace rnnlab
