// SPDX-License-Identifier: Apache-2.0
#include "runs/bench/run_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/numbers.h"
#include "base/text.h"
#include "runs/bench/sampling.h"
#include "runs/failure.h"
#include "train/loop/device_rates.h"

namespace rnnlab {
namespace {

constexpr const char* kNotInspected = "the executed path is not known";

// The rows of one combination, in the order of the layers.
struct MeasuredCase {
  BenchCase combination;
  std::vector<BenchRow> rows;
};

class BenchRun {
 public:
  BenchRun(const BenchSettings& settings, BenchBackend& backend, const BenchHooks& hooks)
      : settings_(settings), backend_(backend), hooks_(hooks) {}

  BenchOutcome run();

 private:
  MeasuredCase measure(const BenchCase& combination, const std::string& what);
  void measure_layers(MeasuredCase& measured, const std::string& what);
  std::vector<SampledGroup> sample_layers(SamplingRecord& record, const std::string& what);
  void add_rates(MeasuredCase& measured);
  const Ceiling& ceiling(const BenchCase& combination);
  void refuse(BenchRow& row, const std::exception_ptr& failure);
  void inspect(MeasuredCase& measured);
  void report(const std::vector<MeasuredCase>& all);
  std::vector<Warning> unfinished_warning(size_t num_done) const;
  void inspect_layer(BenchRow& row, LayerChoice layer);

  const BenchSettings& settings_;
  const std::vector<LayerChoice> layers_ = timed_layers(settings_);
  BenchBackend& backend_;
  const BenchHooks& hooks_;
  BenchOutcome outcome_;
  std::optional<ExitCode> first_failure_;
};

PassSamples by_pass(const std::vector<std::vector<double>>& samples) {
  return {.forward = samples.at(0), .forward_data = samples.at(1), .all = samples.at(2)};
}

constexpr int64_t kNumPasses = std::size(kPasses);

int64_t num_layers(const BenchSettings& settings) { return std::ssize(timed_layers(settings)); }

int64_t num_rounds(const BenchSettings& settings) { return settings.repeats + settings.warmup; }

// How much of a combination is sampled, for a progress bar. If min_seconds needs more rounds than `repeats`, the time
// of the counted samples decides.
class SampleProgress {
 public:
  explicit SampleProgress(const BenchSettings& settings)
      : min_seconds_(settings.min_seconds),
        num_layers_(num_layers(settings)),
        num_uncounted_(num_layers_ * (1 + settings.warmup * kNumPasses)),
        total_(num_uncounted_ + num_layers_ * settings.repeats * kNumPasses) {}

  int64_t total() const { return total_; }

  // Call this function when the length of a layer's samples is chosen, and before each sample.
  void step() { ++num_calls_; }

  void add_seconds(double seconds) {
    if (num_calls_ > num_uncounted_) seconds_ += seconds;
  }

  int64_t done() const {
    const bool is_within_sample = num_calls_ > num_layers_;
    const double part = min_seconds_ > 0 ? std::min(1.0, seconds_ / min_seconds_) : 1.0;
    const auto by_time = static_cast<int64_t>(part * static_cast<double>(total_ - num_uncounted_));
    return std::min(num_calls_ - (is_within_sample ? 1 : 0), num_uncounted_ + by_time);
  }

 private:
  double min_seconds_, seconds_ = 0;
  int64_t num_layers_, num_uncounted_, total_, num_calls_ = 0;
};

bool has_samples(const SampledGroup& group) { return !group.failure && !group.samples.at(0).empty(); }

std::string progress_text(const BenchRow& row) {
  if (!row.measurement) return row.key.layer_text() + " -";
  return fmt::format("{} {}", row.key.layer_text(), format_seconds(row.measurement->seconds.total.value));
}

std::string progress_line(size_t number, size_t count, const MeasuredCase& measured) {
  std::vector<std::string> layers;
  for (const BenchRow& row : measured.rows) layers.push_back(progress_text(row));
  const std::string combination = shared_text({measured.rows.at(0).key});
  return fmt::format("[{}/{}] {}: {}", number, count, combination, join(layers, ", "));
}

// Returns ", about 2 min left for these measurements", or "" if little is left. Combinations differ in size, so it is a
// rough guide.
std::string time_left(double seconds, size_t num_done, size_t count) {
  constexpr double kWorthSaying = 60;
  const double left = seconds / static_cast<double>(num_done) * static_cast<double>(count - num_done);
  return left < kWorthSaying ? "" : fmt::format(", about {} left for these measurements", format_duration(left));
}

// Returns "<what>: <message of the exception being handled>".
std::string note_of_failure(const char* what) {
  return fmt::format("{}: {}", what, first_line(describe_failure(std::current_exception()).message));
}

// A row without a measurement has a reason instead of notes.
void add_note(std::vector<BenchRow>& rows, const Warning& note) {
  for (BenchRow& row : rows)
    if (is_measured(row)) row.notes.push_back(note);
}

void BenchRun::report(const std::vector<MeasuredCase>& all) {
  outcome_.report.rows.clear();
  for (const MeasuredCase& measured : all)
    outcome_.report.rows.insert(outcome_.report.rows.end(), measured.rows.begin(), measured.rows.end());
  outcome_.report.warnings = unfinished_warning(all.size());
  if (hooks_.on_report) hooks_.on_report(outcome_.report);
}

// Returns no warning if every combination was processed.
std::vector<Warning> BenchRun::unfinished_warning(size_t num_done) const {
  const size_t count = expand_grid(settings_).size();
  if (num_done == count) return {};
  return {{warning::kUnfinished,
           fmt::format("UNFINISHED: {} of {} combinations were measured when this was written", num_done, count)}};
}

BenchOutcome BenchRun::run() {
  outcome_.report.settings = config::print(settings_, BenchSettings::schema());
  const std::vector<BenchCase> combinations = expand_grid(settings_);
  std::vector<MeasuredCase> all;
  const auto began = std::chrono::steady_clock::now();
  for (const BenchCase& combination : combinations) {
    if (hooks_.should_stop()) break;
    all.push_back(measure(combination, fmt::format("[{}/{}]", all.size() + 1, combinations.size())));
    hooks_.on_progress(progress_line(all.size(), combinations.size(), all.back()) +
                       time_left(seconds_since(began), all.size(), combinations.size()));
    report(all);
  }
  for (MeasuredCase& measured : all) {
    if (hooks_.should_stop()) break;
    inspect(measured);
    report(all);
  }
  if (std::ranges::none_of(outcome_.report.rows, is_measured))
    outcome_.exit_code = first_failure_.value_or(ExitCode::kDone);
  return std::move(outcome_);
}

MeasuredCase BenchRun::measure(const BenchCase& combination, const std::string& what) {
  MeasuredCase measured{combination, {}};
  for (const LayerChoice& layer : layers_)
    measured.rows.emplace_back().key = row_key(layer, combination.device, combination);
  try {
    backend_.begin(combination);
    for (BenchRow& row : measured.rows) row.key.device = backend_.device();
    measure_layers(measured, what);
  } catch (...) {
    for (BenchRow& row : measured.rows) refuse(row, std::current_exception());
  }
  return measured;
}

// Returns a group for each layer, in order. A layer that could not be created is a failed group without programs.
std::vector<SampledGroup> BenchRun::sample_layers(SamplingRecord& record, const std::string& what) {
  std::vector<std::unique_ptr<LayerRunner>> runners(layers_.size());
  std::vector<SampledGroup> groups(layers_.size());
  SampleProgress progress(settings_);
  for (size_t i = 0; i < groups.size(); ++i) {
    try {
      runners[i] = backend_.make_runner(layers_[i]);
      for (const Pass pass : kPasses)
        groups[i].programs.emplace_back([runner = runners[i].get(), pass, &progress](int64_t n) {
          const double seconds = runner->run(pass, n);
          progress.add_seconds(seconds);
          return seconds;
        });
    } catch (...) {
      groups[i].failure = std::current_exception();
    }
  }
  const SamplingPlan plan{.repeats = settings_.repeats,
                          .min_seconds = settings_.min_seconds,
                          .sample_seconds = settings_.sample_seconds,
                          .warmup = settings_.warmup,
                          .seed = static_cast<uint64_t>(settings_.seed)};
  backend_.begin_sampling();
  const auto show = [&] {
    if (hooks_.on_sample) hooks_.on_sample(what, progress.done(), progress.total());
  };
  show();
  // sample_interleaved asks when it has chosen the length of a layer's samples, and before each sample.
  sample_interleaved(groups, plan, [&] {
    progress.step();
    show();
    return hooks_.should_stop();
  });
  record = backend_.end_sampling();
  for (SampledGroup& group : groups) group.programs.clear();
  return groups;
}

void BenchRun::measure_layers(MeasuredCase& measured, const std::string& what) {
  SamplingRecord record;
  const std::vector<SampledGroup> groups = sample_layers(record, what);
  for (size_t i = 0; i < groups.size(); ++i) {
    BenchRow& row = measured.rows[i];
    if (groups[i].failure) {
      refuse(row, groups[i].failure);
    } else if (!has_samples(groups[i])) {
      row.reason = "the benchmark was stopped before this row was measured";
    } else {
      row.notes = record.warnings;
      Measurement& measurement = row.measurement.emplace();
      measurement.iterations = groups[i].iterations;
      measurement.samples = by_pass(groups[i].samples);
      measurement.rounds_by_process = {std::ssize(measurement.samples.all)};
      measurement.wall_seconds = record.wall_seconds;
      measurement.cpu_seconds = record.cpu_seconds;
    }
  }
  set_times(measured.rows);
  add_rates(measured);
}

// A failure here is only a note, because the times are valid without FLOP/s and bytes/s.
void BenchRun::add_rates(MeasuredCase& measured) {
  if (std::ranges::none_of(measured.rows, is_measured)) return;
  try {
    set_rates(measured.rows, measured.combination, ceiling(measured.combination));
  } catch (...) {
    add_note(measured.rows, {warning::kNotInspected, note_of_failure("rates are not known")});
  }
}

const Ceiling& BenchRun::ceiling(const BenchCase& combination) {
  std::vector<Ceiling>& known = outcome_.report.ceilings;
  const std::string precision(config::name_of(combination.precision));
  const Ceiling* found = find_ceiling(known, backend_.device(), precision);
  return found != nullptr ? *found : known.emplace_back(backend_.measure_ceiling());
}

void BenchRun::refuse(BenchRow& row, const std::exception_ptr& failure) {
  const Failure why = describe_failure(failure);
  row.measurement.reset();
  row.reason = first_line(why.message);  // further lines are advice for an experiment
  if (!first_failure_) {
    first_failure_ = why.exit_code;
    outcome_.failure = "nothing was measured: " + row.reason;
  }
}

void BenchRun::inspect(MeasuredCase& measured) {
  if (std::ranges::none_of(measured.rows, is_measured)) return;
  try {
    backend_.begin(measured.combination);
  } catch (...) {
    return add_note(measured.rows, {warning::kNotInspected, note_of_failure(kNotInspected)});
  }
  for (size_t i = 0; i < measured.rows.size(); ++i)
    if (is_measured(measured.rows[i])) inspect_layer(measured.rows[i], layers_[i]);
}

void BenchRun::inspect_layer(BenchRow& row, LayerChoice layer) {
  try {
    LayerInspection seen = backend_.inspect(layer);
    row.path = std::move(seen.path);
    row.path_notes = std::move(seen.notes);
    row.kernels = std::move(seen.kernels);
    row.peak_memory_bytes = seen.peak_memory_bytes;
  } catch (...) {
    row.notes.emplace_back(warning::kNotInspected, note_of_failure(kNotInspected));
  }
}

}  // namespace

std::string work_text(const BenchSettings& settings) {
  const int64_t num_combinations = std::ssize(expand_grid(settings));
  const int64_t num_samples = num_rounds(settings) * num_layers(settings) * kNumPasses;
  const double of_combination =
      std::max(settings.min_seconds, static_cast<double>(num_samples) * settings.sample_seconds);
  const std::string processes =
      settings.processes == 1 ? "" : fmt::format(", in each of {} processes", settings.processes);
  return fmt::format("The benchmark measures {} in {}{}, which takes at least {}",
                     counted(num_layers(settings), "layer"), counted(num_combinations, "combination"), processes,
                     format_duration(static_cast<double>(num_combinations * settings.processes) * of_combination));
}

BenchOutcome run_bench(const BenchSettings& settings, BenchBackend& backend, const BenchHooks& hooks) {
  return BenchRun(settings, backend, hooks).run();
}

}  // namespace rnnlab
