// SPDX-License-Identifier: Apache-2.0
// The runs of a sweep that one command runs (sweep.h), and the rounds of those with repeats.
#include "runs/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include "base/folder.h"
#include "base/numbers.h"
#include "base/random.h"
#include "base/sha256.h"
#include "results/comparison.h"
#include "results/measuring_order.h"
#include "results/own_cells.h"
#include "results/run_folder.h"
#include "runs/plan/status.h"
#include "runs/run_process.h"
#include "runs/sweep_file.h"
#include "train/loop/device_rates.h"
#include "train/loop/stop_signal.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;
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

// Returns one name for all runs of a sweep in this process; it is the same when the sweep is resumed.
std::string measurement_of(const SweepFile& sweep) {
  constexpr size_t kDigits = 16;
  return Sha256().update(sweep.path().stem().string()).hex().substr(0, kDigits);
}

// Runs the runs of a sweep's file: with repeats in rounds, each run in a process of its own, or else one after another
// in this process, as the only round, 0. `cases` are those of a new sweep; null if it is resumed.
class SweepRunner {
 public:
  SweepRunner(SweepFile& sweep, const std::vector<ExperimentCase>* cases, RunRequest request, Logger& logger)
      : sweep_(sweep),
        cases_(cases),
        is_here_(!sweep.repeats()),
        repeats_(sweep.repeats().value_or(SweepRepeats())),
        auto_layers_(auto_layers_of(sweep.entries())),
        request_(std::move(request)),
        logger_(logger) {
    request_.auto_layers = &auto_layers_;
    request_.how_to_resume = how_to_resume(sweep.path());
    if (is_here_) request_.turn.measurement = measurement_of(sweep);
  }

  RunAllOutcome run() {
    if (const std::string warning = sweep_.lock_warning(); !warning.empty()) logger_.warn(warning);
    log_cost();
    for (int64_t round = is_here_ ? 0 : 1; !must_stop() && (has_begun(round) || begin(round)); ++round) {
      const Clock::time_point began = Clock::now();
      const size_t num_run = run_round(round);
      if (num_run > 0 && !pending_stop()) log_time_left(round, seconds_since(began));
    }
    // The runs are added in the order of the cases, so that the first case is the baseline.
    for (auto& [entry, outcome] : outcomes_) all_.finished.push_back(std::move(outcome));
    end_command(all_, num_left(), num_runs(), &sweep_, request_, logger_);
    return std::move(all_);
  }

 private:
  const SweepEntry& entry_at(size_t entry) const { return sweep_.entries()[entry]; }
  int64_t num_rounds() const { return is_here_ ? 0 : std::ranges::max(repeats_.at_most); }
  std::string of_all_rounds() const {
    return repeats_.until ? fmt::format("at most {}", num_rounds()) : fmt::format("{}", num_rounds());
  }

  // A run of several processes also uses this class, without repeats.
  bool is_one_run() const { return num_rounds() == 1 && repeats_.at_most.size() == 1; }

  size_t num_runs() const {
    if (is_here_) return sweep_.entries().size();
    return static_cast<size_t>(std::accumulate(repeats_.at_most.begin(), repeats_.at_most.end(), int64_t{0}));
  }

  // The first run in this process begins even after a signal: it throws the error that says what the signal left
  // undone.
  bool must_stop() const { return pending_stop() && !(is_here_ && num_begun_ == 0); }

  // Returns the entries of a round, in the order of their cases.
  std::vector<size_t> entries_of(int64_t round) const {
    std::vector<size_t> found;
    for (size_t i = 0; i < sweep_.entries().size(); ++i)
      if (is_here_ ? round == 0 : entry_at(i).round == round) found.push_back(i);
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
      SweepEntry entry = entry_at(first);
      const int64_t at_most = repeats_.at_most.at(static_cast<size_t>(entry.case_number - 1));
      if (round > at_most || failed_.contains(entry.case_number)) continue;
      entry.folder.reset();
      entry.round = round;
      entries.push_back(std::move(entry));
    }
    if (entries.empty()) {
      log_missed_precision(round - 1);
      return false;
    }
    set_positions(entries, repeats_.measurement);
    sweep_.add_entries(entries);
    return true;
  }

  // Returns how many runs were run now; runs of rounds that have ended before are only reported again.
  size_t run_round(int64_t round) {
    std::vector<size_t> entries = entries_of(round);
    std::ranges::stable_sort(entries, {}, [&](size_t i) { return is_here_ ? 0 : entry_at(i).position; });
    size_t num_run = 0;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (!is_here_ && record_if_ended(entries[i])) continue;
      if (must_stop()) break;
      if (is_of_broken_back_test(entries[i])) continue;
      if (!is_one_run()) logger_.info(heading(round, std::span(entries).subspan(i), entries.size()));
      ++num_begun_;
      is_here_ ? run_in_this_process(entries[i]) : run_in_own_process(entries[i]);
      ++num_run;
    }
    return num_run;
  }

  // `left` are the entries of the round that have not run.
  std::string heading(int64_t round, std::span<const size_t> left, size_t count) const {
    std::vector<int64_t> cases;
    for (const size_t entry : left) cases.push_back(case_of(entry));
    for (int64_t later = round + 1; later <= num_rounds(); ++later)
      for (size_t i = 0; i < repeats_.at_most.size(); ++i)
        if (const int64_t one = static_cast<int64_t>(i) + 1; later <= repeats_.at_most[i] && !failed_.contains(one))
          cases.push_back(one);
    const std::string time = clock_.text(cases);
    return fmt::format("=== {}run {} of {}: {}{}",
                       is_here_ ? "" : fmt::format("round {} of {}, ", round, of_all_rounds()), count - left.size() + 1,
                       count, entry_at(left.front()).label, time.empty() ? "" : " (" + time + ")");
  }

  int64_t case_of(size_t entry) const {
    return is_here_ ? static_cast<int64_t>(entry) + 1 : entry_at(entry).case_number;
  }

  void run_in_this_process(size_t entry) {
    fs::path folder;
    request_.turn.case_number = case_of(entry);
    request_.on_folder = [&](const fs::path& its_folder) {
      folder = its_folder;
      sweep_.set_folder(entry, its_folder);
    };
    const auto run = [&] {
      try {
        return outcome_of(entry);
      } catch (const UserError& error) {
        note_broken_back_test(entry, error.exit_code());
        throw;
      }
    };
    if (run_here(run, all_, logger_)) clock_.record(case_of(entry), all_.finished.back().summary.total_seconds);
    if (!folder.empty()) request_.previous_run = folder;
    logger_.info("");
  }

  RunOutcome outcome_of(size_t entry) {
    if (cases_ != nullptr) return run_case((*cases_)[entry], request_, logger_);
    return run_entry(entry_at(entry), sweep_.path().string(), sweep_.overrides(), request_, logger_);
  }

  bool record_if_ended(size_t entry) {
    const auto& folder = entry_at(entry).folder;
    if (!folder || !sweep_.overrides().empty() || state_of_run(*folder) != RunState::kDone) return false;
    outcomes_[entry] = {.folder = *folder, .summary = read_summary(*folder)};
    return true;
  }

  void run_in_own_process(size_t entry) {
    std::vector<std::string> arguments;
    if (entry_at(entry).round > 1) arguments.emplace_back("--brief");
    try {
      const Experiment experiment =
          experiment_of(entry_at(entry).experiment, sweep_.path().string(), sweep_.overrides());
      const ExitCode exit_code =
          run_in_process({normalized_path(sweep_.path()), std::to_string(entry)}, experiment, arguments, request_);
      if (exit_code != ExitCode::kDone) record_failure_of(entry, exit_code);
    } catch (const UserError& error) {
      logger_.error(error.what());
      record_failure_of(entry, error.exit_code());
    }
    sweep_.reload();
    record_result(entry);
  }

  // Returns the fold of a run of a back-test, from 1, and its experiment without this number.
  std::optional<std::pair<int64_t, std::string>> fold_run(size_t entry) const {
    Experiment one = experiment_of(entry_at(entry).experiment, sweep_.path().string(), sweep_.overrides());
    const auto fold = std::exchange(one.data.fold, std::nullopt);
    if (!fold) return std::nullopt;
    return std::pair(*fold, config::print(one, Experiment::schema()));
  }

  // Rows that are too few for the folds are too few for the first one, so their error is reported once. Another fold
  // may lack data that the others have.
  void note_broken_back_test(size_t entry, ExitCode exit_code) {
    if (exit_code != ExitCode::kData) return;
    if (const auto run = fold_run(entry); run && run->first == 1) broken_back_tests_.insert(run->second);
  }

  bool is_of_broken_back_test(size_t entry) {
    if (broken_back_tests_.empty()) return false;
    if (const auto run = fold_run(entry); !run || !broken_back_tests_.contains(run->second)) return false;
    logger_.info(fmt::format("{} is not started, because another fold has no data", entry_at(entry).label));
    failed_.insert(case_of(entry));
    return true;
  }

  void record_failure_of(size_t entry, ExitCode exit_code) {
    record_failure(all_, exit_code);
    note_broken_back_test(entry, exit_code);
    if (pending_stop()) return;
    failed_.insert(case_of(entry));
    if (num_rounds() == 1) return;
    logger_.warn(fmt::format("{} failed and is skipped in later rounds", entry_at(entry).label));
  }

  // A run that failed has no results; a run that was stopped or diverged has results.
  void record_result(size_t entry) {
    const auto& folder = entry_at(entry).folder;
    if (!folder || !is_file(fs::path(*folder) / kSummaryFile)) return;
    const Summary& summary = (outcomes_[entry] = {.folder = *folder, .summary = read_summary(*folder)}).summary;
    clock_.record(case_of(entry), summary.total_seconds);
    if (is_one_run() || !summary.epoch_time) return;
    logger_.info(fmt::format("{} an epoch, the median of {}", format_seconds(summary.epoch_time->median_seconds),
                             counted(summary.epoch_time->num_epochs, "epoch")));
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
    for (const auto& [entry, outcome] : outcomes_)
      if (entry_at(entry).round <= round && !failed_.contains(case_of(entry)))
        records.push_back(load_run(outcome.folder));
    if (records.empty()) return false;
    name_own_cells(records);
    const CompareOptions options = {.on_difference = OnDifference::kReport};
    return is_precise(compare(records, options), *repeats_.until);
  }

  // Returns the number of runs that a stop left undone, including runs of rounds that did not begin.
  size_t num_left() const {
    if (is_here_) return num_runs() - num_begun_;
    const auto num_with_folder =
        static_cast<size_t>(std::ranges::count_if(sweep_.entries(), [](const auto& one) { return !!one.folder; }));
    return pending_stop() ? num_runs() - std::min(num_with_folder, num_runs()) : 0;
  }

  bool have_all_failed() const { return failed_.size() == repeats_.at_most.size(); }

  void log_missed_precision(int64_t num_done) {
    if (repeats_.until && !have_all_failed())
      logger_.warn(fmt::format("the intervals are not within {:g} % after {} rounds, the maximum of repeats",
                               100 * *repeats_.until, num_done));
  }

  void log_cost() {
    if (is_here_ || is_one_run()) return;
    const std::string until =
        repeats_.until ? fmt::format(", fewer once the intervals are within {:g} %", 100 * *repeats_.until) : "";
    logger_.info(fmt::format("{} in {} of {}, each in a new process{}",
                             counted(static_cast<int64_t>(num_runs()), "run"), counted(num_rounds(), "round"),
                             counted(std::ssize(repeats_.at_most), "case"), until));
  }

  void log_time_left(int64_t round, double seconds) {
    const int64_t num_left = num_rounds() - round;
    if (round > 1 || num_left <= 0 || have_all_failed()) return;
    logger_.info(fmt::format("the first round took {}; {} more take {}about {}", format_duration(seconds), num_left,
                             repeats_.until ? "at most " : "",
                             format_duration(static_cast<double>(num_left) * seconds)));
    if (std::ranges::find(request_.child_arguments, "--verbose") == request_.child_arguments.end())
      logger_.info("later rounds show only the result of each run; --verbose shows their epochs, too");
  }

  SweepFile& sweep_;
  const std::vector<ExperimentCase>* cases_;
  const bool is_here_;  // in this process
  const SweepRepeats repeats_;
  AutoLayers auto_layers_;
  RunRequest request_;
  Logger& logger_;
  size_t num_begun_ = 0;      // by this command
  std::set<int64_t> failed_;  // cases
  std::set<std::string> broken_back_tests_;
  std::map<size_t, RunOutcome> outcomes_;  // by entry, of runs in rounds
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

}  // namespace

RunAllOutcome run_sweep(const std::vector<ExperimentCase>& cases, InRounds in_rounds, const RunRequest& request,
                        Logger& logger) {
  std::vector<SweepEntry> entries = entries_of(cases);
  std::optional<SweepRepeats> repeats;
  if (in_rounds == InRounds::kYes) {
    repeats = repeats_for(cases, request);
    for (SweepEntry& entry : entries) entry.round = 1;
    set_positions(entries, repeats->measurement);
  }
  SweepFile sweep(request.out, std::move(entries), std::move(repeats));
  return SweepRunner(sweep, &cases, request, logger).run();
}

RunAllOutcome resume_sweep(SweepFile& sweep, const RunRequest& request, Logger& logger) {
  return SweepRunner(sweep, nullptr, request, logger).run();
}

}  // namespace rnnlab
