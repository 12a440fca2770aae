// SPDX-License-Identifier: Apache-2.0
#include "runs/bench/bench_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "base/statistics.h"
#include "base/system/files.h"
#include "base/system/json_fields.h"
#include "base/text.h"
#include "results/comparison.h"
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
    return median_of(whole_) - median_of(part_);
  }

 private:
  static double median_of(std::vector<double>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) return *middle;
    return (*middle + *std::max_element(values.begin(), middle)) / 2;
  }

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

Estimate with_range(double value, const std::vector<double>& values) {
  const auto [low, high] = std::ranges::minmax(values);
  return {.value = value, .low = low, .high = high};
}

bool has_interval(const std::vector<double>& values) { return std::ssize(values) >= kMinProcessesForInterval; }

// `values` has one number for each process, all above 0.
Estimate geometric_estimate(const std::vector<double>& values) {
  if (has_interval(values)) return estimate_of(geometric_mean_estimate(values));
  return with_range(geometric_mean(values), values);
}

Estimate arithmetic_estimate(const std::vector<double>& values) {
  const Estimate mean = estimate_of(arithmetic_mean_estimate(values));
  return has_interval(values) ? mean : with_range(mean.value, values);
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

Estimate ratio_of_medians(const std::vector<double>& numerator, const std::vector<double>& denominator) {
  const MedianRatio result = median_ratio(numerator, denominator);
  return {.value = result.ratio, .low = result.bounds.low, .high = result.bounds.high};
}

}  // namespace

Estimate estimate_of(const MeanEstimate& mean) {
  return {.value = mean.value, .low = mean.bounds.low, .high = mean.bounds.high};
}

Estimate difference(const std::vector<double>& whole, const std::vector<double>& part) {
  ResampledDifference resampled(whole, part);
  SplitMix64 random(kResamplingSeed);
  std::vector<double> drawn(kResamples);
  for (double& value : drawn) value = resampled.draw(random);
  std::ranges::sort(drawn);
  return {.value = median(whole) - median(part), .low = quantile(drawn, 0.025), .high = quantile(drawn, 0.975)};
}

PartValues part_values(const std::vector<PassSamples>& processes) {
  PartValues values{.forward = medians(processes, &PassSamples::forward),
                    .backward_data = medians(processes, &PassSamples::forward_data),
                    .backward_weights = medians(processes, &PassSamples::all),
                    .total = medians(processes, &PassSamples::all)};
  values.backward_weights = minus(values.backward_weights, values.backward_data);
  values.backward_data = minus(values.backward_data, values.forward);
  return values;
}

PartTimes part_times(const std::vector<PassSamples>& processes) {
  if (processes.size() == 1) return times_of_one(processes[0]);
  const PartValues values = part_values(processes);
  return {.forward = geometric_estimate(values.forward),
          .backward_data = arithmetic_estimate(values.backward_data),
          .backward_weights = arithmetic_estimate(values.backward_weights),
          .total = geometric_estimate(values.total)};
}

Estimate speedup(const std::vector<PassSamples>& base, const std::vector<PassSamples>& own,
                 std::vector<double> PassSamples::*pass) {
  RNNLAB_INVARIANT(!base.empty() && base.size() == own.size(),
                   "the sides of a speed-up have different numbers of processes, or no processes");
  if (own.size() == 1) return ratio_of_medians(base[0].*pass, own[0].*pass);
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

// Returns the times of kParts without intervals, which are slow to compute for one process.
std::array<double, kParts.size()> times_by_samples(const Measurement& measurement) {
  const PartValues values = part_values(by_process(measurement));
  const auto mean = [](const std::vector<double>& of_processes) {
    return std::accumulate(of_processes.begin(), of_processes.end(), 0.0) / static_cast<double>(of_processes.size());
  };
  return {geometric_mean(values.forward), mean(values.backward_data), mean(values.backward_weights),
          geometric_mean(values.total)};
}

// Detects times that were edited without their samples.
void check_values(const Measurement& measurement, const std::string& file, size_t row) {
  constexpr double kRounding = 1e-9;
  const auto sampled = times_by_samples(measurement);
  for (size_t i = 0; i < kParts.size(); ++i) {
    const double recorded = (measurement.seconds.*kParts[i].seconds).value;
    if (std::abs(recorded - sampled[i]) > kRounding * sampled.back())
      throw_error(ExitCode::kData, "{}: rows.{}.measurement.seconds.{}.value is {}, but its samples give {}", file, row,
                  kParts[i].name, format_shortest(recorded), format_shortest(sampled[i]));
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
          .cell = cell_name(combination.options.cell),
          .cudnn_algorithm = std::string(config::name_of(combination.options.cudnn_algorithm)),
          .hidden_size = combination.options.hidden_size,
          .batch_size = combination.batch_size,
          .num_steps = combination.num_steps,
          .num_layers = combination.options.num_layers,
          .input_size = combination.options.input_size,
          .bidirectional = combination.options.bidirectional,
          .heads = combination.options.heads,
          .persistent_form = form_text(layer.persistent_form)};
}

PartRates part_rates(const PartTimes& seconds, const BenchCase& combination, const Ceiling& ceiling) {
  const double flops = forward_flops(combination);
  const LeastBytes bytes = least_bytes(combination);
  const double all_bytes = bytes.forward + bytes.backward_data + bytes.backward_weights;
  const auto rate = [&](const Estimate& part, double part_flops, double part_bytes) {
    return has_rate(part) ? std::optional(rate_of(part.value, part_flops, part_bytes, combination, ceiling))
                          : std::nullopt;
  };
  return {.forward = rate(seconds.forward, flops, bytes.forward),
          .backward_data = rate(seconds.backward_data, flops, bytes.backward_data),
          .backward_weights = rate(seconds.backward_weights, flops, bytes.backward_weights),
          .total = rate(seconds.total, 3 * flops, all_bytes)};
}

std::vector<PassSamples> by_process(const Measurement& measurement) {
  const PassSamples& all = measurement.samples;
  if (measurement.rounds_by_process.empty()) return {all};
  std::vector<PassSamples> processes;
  int64_t begin = 0;
  for (const int64_t rounds : measurement.rounds_by_process) {
    if (rounds == 0) continue;
    const auto part_of = [&](const std::vector<double>& samples) {
      return std::vector<double>(samples.begin() + begin, samples.begin() + begin + rounds);
    };
    processes.push_back(
        {.forward = part_of(all.forward), .forward_data = part_of(all.forward_data), .all = part_of(all.all)});
    begin += rounds;
  }
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
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored))
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
