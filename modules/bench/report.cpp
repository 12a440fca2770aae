#include "bench/report.h"

#include "results/json_fields.h"

namespace rnnlab {
namespace {

std::optional<PartRate> rate_of(double seconds, double flops, double bytes, const Combination& combination,
                                const Ceiling& ceiling) {
  if (seconds <= 0) return std::nullopt;
  const double flops_per_second = flops / seconds;
  return PartRate{.microseconds_per_layer_step = seconds * 1e6 / static_cast<double>(num_layer_steps(combination)),
                  .gflops = flops_per_second / 1e9,
                  .gemm_share = flops_per_second / ceiling.gemm_flops_per_second,
                  .least_bytes = bytes,
                  .bandwidth_share = bytes / seconds / ceiling.copy_bytes_per_second};
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
    return rate_of(part.value, part_flops, part_bytes, combination, ceiling);
  };
  return {.forward = rate(seconds.forward, flops, bytes.forward),
          .backward_data = rate(seconds.backward_data, flops, bytes.backward_data),
          .backward_weights = rate(seconds.backward_weights, flops, bytes.backward_weights),
          .total = rate(seconds.total, 3 * flops, all_bytes)};
}

void write_report(const std::string& file, const BenchReport& report) { write_record(file, report); }

BenchReport read_report(const std::string& file) {
  constexpr int64_t kMaxBytes = int64_t{1} << 30;
  return read_record<BenchReport>(file, kBenchSchemaVersion, kMaxBytes);
}

}  // namespace rnnlab
