#include "bench/report.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "base/text.h"
#include "results/files.h"
#include "results/json_fields.h"

namespace rnnlab {
namespace {

// What may have taken no time at all has no rate.
bool has_rate(const Estimate& seconds) { return seconds.low > 0; }

PartRate rate_of(double seconds, double flops, double bytes, const Combination& combination, const Ceiling& ceiling) {
  const double flops_per_second = flops / seconds;
  return {.microseconds_per_layer_step = seconds * 1e6 / static_cast<double>(num_layer_steps(combination)),
          .gflops = flops_per_second / 1e9,
          .gemm_share = flops_per_second / ceiling.gemm_flops_per_second,
          .least_bytes = bytes,
          .bandwidth_share = bytes / seconds / ceiling.copy_bytes_per_second};
}

// What compare_against takes for granted. `key` is of the list.
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

void check_rows(const BenchReport& report, const std::string& file) {
  for (size_t i = 0; i < report.rows.size(); ++i) {
    if (!report.rows[i].measurement) continue;
    const Samples3& samples = report.rows[i].measurement->samples;
    Samples3::visit(samples, [&](const char* name, const std::vector<double>& of_program) {
      check_samples(of_program, samples.forward.size(), file, fmt::format("rows.{}.measurement.samples.{}", i, name));
    });
  }
}

// Files of earlier versions have them too where the interval holds 0.
void drop_rates_of_nothing(Measurement& measurement) {
  for (const Part& part : kParts)
    if (!has_rate(measurement.seconds.*part.seconds)) (measurement.rates.*part.rate).reset();
}

}  // namespace

RowKey row_key(LayerKind layer, const std::string& device, const Combination& combination) {
  return {.layer = std::string(config::name_of(layer)),
          .device = device,
          .mode = std::string(config::name_of(combination.mode)),
          .precision = std::string(config::name_of(combination.precision)),
          .cell = std::string(config::name_of(combination.options.cell)),
          .cudnn_algorithm = std::string(config::name_of(combination.options.cudnn_algorithm)),
          .hidden_size = combination.options.hidden_size,
          .batch_size = combination.batch_size,
          .num_steps = combination.num_steps,
          .num_layers = combination.options.num_layers,
          .input_size = combination.options.input_size,
          .bidirectional = combination.options.bidirectional};
}

PartRates part_rates(const PartTimes& seconds, const Combination& combination, const Ceiling& ceiling) {
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

void write_report(const std::string& file, const BenchReport& report) {
  write_output_file(file, json_text(to_json(report)));
}

namespace {

// Said before the parser says where a file of another kind stops to be JSON.
void check_is_benchmark(const std::string& file) {
  constexpr size_t kEnough = 256;
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored))
    throw_error(ExitCode::kUsage, "{0}: no such file; `rnnlab bench --json {0}` with the same keys writes it", file);
  const std::string beginning = read_beginning(file, kEnough);
  const std::string_view text = trim(beginning);
  if (!text.starts_with('{') && !text.starts_with('['))
    throw_error(ExitCode::kData,
                "{}: no JSON, expected what `rnnlab bench --json FILE` wrote; the rows of --csv lack the samples to "
                "compare with",
                file);
}

}  // namespace

BenchReport read_report(const std::string& file) {
  check_is_benchmark(file);
  constexpr int64_t kFirstVersion = 1, kMaxBytes = int64_t{1} << 30;
  BenchReport report = read_record<BenchReport>(file, kFirstVersion, kMaxBytes);
  check_rows(report, file);
  for (BenchRow& row : report.rows)
    if (row.measurement) drop_rates_of_nothing(*row.measurement);
  return report;
}

}  // namespace rnnlab
