// SPDX-License-Identifier: Apache-2.0
#include "runs/bench/bench_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/folder.h"
#include "base/random.h"
#include "base/statistics.h"
#include "base/system/files.h"
#include "base/system/json_fields.h"
#include "base/text.h"
#include "runs/experiment.h"

namespace rnnlab {
namespace {

constexpr size_t kResamples = 10000;
constexpr uint64_t kResamplingSeed = 1;

// The difference of medians over resampled rounds, with reused buffers.
class ResampledDifference {
 public:
  ResampledDifference(const std::vector<double>& whole, const std::vector<double>& part)
      : samples_of_whole_(whole), samples_of_part_(part), whole_(whole.size()), part_(whole.size()) {
    RNNLAB_INVARIANT(!whole.empty() && whole.size() == part.size(),
                     "the part and the whole have different numbers of samples, or no samples");
  }

  double draw(SplitMix64& random) {
    for (size_t i = 0; i < whole_.size(); ++i) {
      const size_t round = random.next() % whole_.size();
      whole_[i] = samples_of_whole_[round];
      part_[i] = samples_of_part_[round];
    }
    return median_in_place(whole_) - median_in_place(part_);
  }

 private:
  const std::vector<double>& samples_of_whole_;
  const std::vector<double>& samples_of_part_;
  std::vector<double> whole_, part_;
};

Estimate median_estimate(const std::vector<double>& samples) {
  const Interval bounds = median_interval(samples).bounds;
  return {.value = median(samples), .low = bounds.low, .high = bounds.high};
}

PartTimes times_of_one(const PassSamples& samples) {
  return {.forward = median_estimate(samples.forward),
          .backward_data = difference(samples.forward_data, samples.forward),
          .backward_weights = difference(samples.all, samples.forward_data),
          .total = median_estimate(samples.all)};
}

std::vector<double> medians(const std::vector<PassSamples>& processes, std::vector<double> PassSamples::*pass) {
  std::vector<double> values;
  for (const PassSamples& process : processes) values.push_back(median(process.*pass));
  return values;
}

std::vector<double> minus(std::vector<double> whole, const std::vector<double>& part) {
  for (size_t i = 0; i < whole.size(); ++i) whole[i] -= part[i];
  return whole;
}

}  // namespace

Estimate difference(const std::vector<double>& whole, const std::vector<double>& part) {
  ResampledDifference resampled(whole, part);
  SplitMix64 random(kResamplingSeed);
  std::vector<double> drawn(kResamples);
  for (double& value : drawn) value = resampled.draw(random);
  std::ranges::sort(drawn);
  return {.value = median(whole) - median(part), .low = quantile(drawn, 0.025), .high = quantile(drawn, 0.975)};
}

std::array<std::vector<double>, kParts.size()> part_values(const std::vector<PassSamples>& processes) {
  const std::vector<double> forward = medians(processes, &PassSamples::forward);
  const std::vector<double> forward_data = medians(processes, &PassSamples::forward_data);
  const std::vector<double> all = medians(processes, &PassSamples::all);
  return {forward, minus(forward_data, forward), minus(all, forward_data), all};
}

PartTimes part_times(const std::vector<PassSamples>& processes) {
  if (processes.size() == 1) return times_of_one(processes[0]);
  const auto values = part_values(processes);
  PartTimes times;
  for (size_t i = 0; i < kParts.size(); ++i)
    times.*kParts[i].seconds = kParts[i].is_difference ? arithmetic_estimate(values[i]) : geometric_estimate(values[i]);
  return times;
}

Estimate speedup(const std::vector<PassSamples>& base, const std::vector<PassSamples>& own,
                 std::vector<double> PassSamples::*pass) {
  RNNLAB_INVARIANT(!base.empty() && base.size() == own.size(),
                   "the sides of a speed-up have different numbers of processes, or no processes");
  if (own.size() == 1) {
    const MedianRatio result = median_ratio(base[0].*pass, own[0].*pass);
    return {.value = result.ratio, .low = result.bounds.low, .high = result.bounds.high};
  }
  std::vector<double> ratios = medians(base, pass);
  const std::vector<double> seconds = medians(own, pass);
  for (size_t i = 0; i < ratios.size(); ++i) ratios[i] /= seconds[i];
  return geometric_estimate(ratios);
}

namespace {

// A part that may have taken no time has no rate.
bool has_rate(const Estimate& seconds) { return seconds.low > 0; }

PartRate rate_of(double seconds, double flops, double bytes, const BenchCase& combination, const Ceiling& ceiling) {
  const double flops_per_second = flops / seconds;
  return {.microseconds_per_layer_step = seconds * 1e6 / static_cast<double>(num_layer_steps(combination)),
          .gflops = flops_per_second / 1e9,
          .gemm_share = flops_per_second / ceiling.gemm_flops_per_second,
          .least_bytes = bytes,
          .bandwidth_share = bytes / seconds / ceiling.copy_bytes_per_second};
}

// Checks what compare_to_baseline requires. `key` is the key of the list.
void check_samples(const std::vector<double>& samples, size_t num_rounds, const std::string& file,
                   const std::string& key) {
  if (samples.empty()) throw_error(ExitCode::kData, "{}: {} is empty, expected seconds above 0", file, key);
  if (samples.size() != num_rounds)
    throw_error(ExitCode::kData, "{}: {} has {}, expected as many as forward, which has {}", file, key,
                counted(static_cast<int64_t>(samples.size()), "sample"), num_rounds);
  for (size_t i = 0; i < samples.size(); ++i)
    if (!std::isfinite(samples[i]) || samples[i] <= 0)
      throw_error(ExitCode::kData, "{}: {}.{} is {}, expected seconds above 0", file, key, i,
                  format_shortest(samples[i]));
}

void check_rounds(const Measurement& measurement, const std::string& file, size_t row) {
  if (measurement.rounds_by_process.empty()) return;
  int64_t sum = 0;
  for (const int64_t rounds : measurement.rounds_by_process) {
    if (rounds < 0 || rounds > std::ssize(measurement.samples.forward)) sum = -1;
    if (sum >= 0) sum += rounds;
  }
  if (sum != std::ssize(measurement.samples.forward))
    throw_error(ExitCode::kData, "{}: rows.{}.measurement.rounds_by_process does not add up to its {}", file, row,
                counted(std::ssize(measurement.samples.forward), "round"));
}

// Returns a part's time without its interval, which is slow to compute for one process.
double mean_of(const Part& part, const std::vector<double>& of_processes) {
  return part.is_difference ? arithmetic_mean(of_processes) : geometric_mean(of_processes);
}

// Detects times that were edited without their samples.
void check_values(const Measurement& measurement, const std::string& file, size_t row) {
  constexpr double kRounding = 1e-9;
  const auto values = part_values(by_process(measurement));
  for (size_t i = 0; i < kParts.size(); ++i) {
    const double recorded = (measurement.seconds.*kParts[i].seconds).value, sampled = mean_of(kParts[i], values[i]);
    if (std::abs(recorded - sampled) > kRounding * mean_of(kParts.back(), values.back()))
      throw_error(ExitCode::kData, "{}: rows.{}.measurement.seconds.{}.value is {}, but its samples give {}", file, row,
                  kParts[i].name, format_shortest(recorded), format_shortest(sampled));
  }
}

void check_rows(const BenchReport& report, const std::string& file) {
  for (size_t i = 0; i < report.rows.size(); ++i) {
    if (!report.rows[i].measurement) continue;
    check_rounds(*report.rows[i].measurement, file, i);
    const PassSamples& samples = report.rows[i].measurement->samples;
    samples.visit_fields([&](const std::string& name, const std::vector<double>& of_pass, int64_t) {
      check_samples(of_pass, samples.forward.size(), file, fmt::format("rows.{}.measurement.samples.{}", i, name));
    });
    check_values(*report.rows[i].measurement, file, i);
  }
}

// Files of earlier versions have rates even if the interval contains 0.
void drop_rates_of_zero_times(Measurement& measurement) {
  for (const Part& part : kParts)
    if (!has_rate(measurement.seconds.*part.seconds)) (measurement.rates.*part.rate).reset();
}

std::string form_text(PersistentForm form) {
  return form == PersistentForm::kAll ? "" : std::string(config::name_of(form));
}

}  // namespace

RowKey row_key(LayerChoice layer, const std::string& device, const BenchCase& combination) {
  return {.layer = std::string(config::name_of(layer.kind)),
          .device = device,
          .mode = std::string(config::name_of(combination.mode)),
          .precision = std::string(config::name_of(combination.precision)),
          .cell = combination.own_cell.empty() ? cell_name(combination.options.cell) : combination.own_cell,
          .cudnn_algorithm = std::string(config::name_of(combination.options.cudnn_algorithm)),
          .hidden_size = combination.options.hidden_size,
          .batch_size = combination.batch_size,
          .num_steps = combination.num_steps,
          .num_layers = combination.options.num_layers,
          .input_size = combination.options.input_size,
          .bidirectional = combination.options.bidirectional,
          .heads = combination.options.heads,
          .persistent_form = form_text(layer.persistent_form),
          .starts = combination.starts};
}

PartRates part_rates(const PartTimes& seconds, const BenchCase& combination, const Ceiling& ceiling) {
  const double one = forward_flops(combination);
  const LeastBytes least = least_bytes(combination);
  const std::array flops = {one, one, one, 3 * one};
  const std::array bytes = {least.forward, least.backward_data, least.backward_weights,
                            least.forward + least.backward_data + least.backward_weights};
  PartRates rates;
  for (size_t i = 0; i < kParts.size(); ++i)
    if (const Estimate& part = seconds.*kParts[i].seconds; has_rate(part))
      rates.*kParts[i].rate = rate_of(part.value, flops.at(i), bytes.at(i), combination, ceiling);
  return rates;
}

namespace {

// Returns the samples of each process; those of a process that did not measure the row are empty.
std::vector<PassSamples> of_all_processes(const Measurement& measurement) {
  const PassSamples& all = measurement.samples;
  if (measurement.rounds_by_process.empty()) return {all};
  std::vector<PassSamples> processes;
  int64_t begin = 0;
  for (const int64_t rounds : measurement.rounds_by_process) {
    const auto part_of = [&](const std::vector<double>& samples) {
      return std::vector<double>(samples.begin() + begin, samples.begin() + begin + rounds);
    };
    processes.push_back(
        {.forward = part_of(all.forward), .forward_data = part_of(all.forward_data), .all = part_of(all.all)});
    begin += rounds;
  }
  return processes;
}

void set_gains(Measurement& own, const Measurement& first) {
  std::vector<PassSamples> base = of_all_processes(first), samples = of_all_processes(own);
  for (size_t i = base.size(); i-- > 0;)
    if (base[i].all.empty() || samples[i].all.empty()) {
      base.erase(base.begin() + static_cast<std::ptrdiff_t>(i));
      samples.erase(samples.begin() + static_cast<std::ptrdiff_t>(i));
    }
  if (base.empty()) return;
  own.speedup_forward = speedup(base, samples, &PassSamples::forward);
  own.speedup_total = speedup(base, samples, &PassSamples::all);
}

}  // namespace

void set_times(std::span<BenchRow> rows) {
  const auto& first = rows.front().measurement;
  for (BenchRow& row : rows) {
    if (!row.measurement) continue;
    row.measurement->seconds = part_times(by_process(*row.measurement));
    if (&row == &rows.front())
      row.measurement->speedup_forward = row.measurement->speedup_total = Estimate{1, 1, 1};
    else if (first)
      set_gains(*row.measurement, *first);
  }
}

void set_rates(std::span<BenchRow> rows, const BenchCase& combination, const Ceiling& ceiling) {
  for (BenchRow& row : rows)
    if (row.measurement) row.measurement->rates = part_rates(row.measurement->seconds, combination, ceiling);
}

const Ceiling* find_ceiling(const std::vector<Ceiling>& ceilings, const std::string& device,
                            const std::string& precision) {
  const auto found = std::ranges::find_if(
      ceilings, [&](const Ceiling& one) { return one.device == device && one.precision == precision; });
  return found == ceilings.end() ? nullptr : &*found;
}

std::vector<PassSamples> by_process(const Measurement& measurement) {
  std::vector<PassSamples> processes = of_all_processes(measurement);
  if (!measurement.rounds_by_process.empty())
    std::erase_if(processes, [](const PassSamples& one) { return one.all.empty(); });
  return processes;
}

void write_report(const std::string& file, const BenchReport& report) {
  write_output_file(file, json_text(to_json(report)));
}

std::string report_on_one_line(const BenchReport& report) {
  return to_json(report).dump(-1, ' ', false, Json::error_handler_t::replace);
}

namespace {

BenchReport checked(BenchReport report, const std::string& file) {
  check_rows(report, file);
  for (BenchRow& row : report.rows) {
    if (const auto former = kFormerLayers.find(row.key.layer); former != kFormerLayers.end()) {
      row.key.layer = "persistent";
      row.key.persistent_form = form_text(former->second);
    }
    if (row.measurement) drop_rates_of_zero_times(*row.measurement);
  }
  return report;
}

// This check comes before parsing, so that a file of a different kind gets a clear message instead of a JSON error.
void check_is_benchmark(const std::string& file) {
  constexpr size_t kEnough = 256;
  if (!path_exists(file))
    throw_error(ExitCode::kUsage, "{0}: no such file; run `rnnlab bench --json {0}` with the same keys to write it",
                file);
  const std::string beginning = read_beginning(file, kEnough);
  const std::string_view text = trim(beginning);
  if (!text.starts_with('{') && !text.starts_with('['))
    throw_error(ExitCode::kData,
                "{}: not JSON, expected what `rnnlab bench --json FILE` wrote; files of --csv do not contain the "
                "samples that a comparison needs",
                file);
}

}  // namespace

BenchReport read_report(const std::string& file) {
  check_is_benchmark(file);
  constexpr int64_t kFirstVersion = 1, kMaxBytes = int64_t{1} << 30;
  return checked(read_record<BenchReport>(file, kFirstVersion, kMaxBytes), file);
}

BenchReport report_from(const std::string& json, const std::string& source) {
  return checked(record_from<BenchReport>(parse_json(json, source), source), source);
}

}  // namespace rnnlab
