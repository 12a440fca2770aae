// SPDX-License-Identifier: Apache-2.0
#include "runs/bench/sample_report.h"

namespace rnnlab::testing {
namespace {

BenchCase paper_case() {
  return {.device = "cpu",
          .options = {.input_size = 512, .hidden_size = 512, .num_layers = 4},
          .batch_size = 64,
          .num_steps = 100};
}

Ceiling sample_ceiling() {
  return {.device = "cpu", .precision = "fp32", .gemm_flops_per_second = 1e12, .copy_bytes_per_second = 1e11};
}

Estimate exactly(double value) { return {value, value, value}; }

}  // namespace

BenchRow measured_row(LayerKind layer, double forward, double forward_data, double all) {
  constexpr size_t kRounds = 6;
  BenchRow row;
  row.key = row_key(layer, "cpu", paper_case());
  Measurement measurement;
  measurement.samples = {.forward = std::vector(kRounds, forward),
                         .forward_data = std::vector(kRounds, forward_data),
                         .all = std::vector(kRounds, all)};
  measurement.iterations = {1, 1, 1};
  measurement.seconds = part_times({measurement.samples});
  measurement.rates = part_rates(measurement.seconds, paper_case(), sample_ceiling());
  row.measurement = measurement;
  row.path = "native loop";
  row.path_notes = {"no faster path"};
  row.kernels = {{.name = "aten::addmm", .count = 3200, .seconds = 0.25}};
  row.peak_memory_bytes = 3 << 20;
  return row;
}

BenchReport sample_report() {
  BenchReport report;
  report.environment.start_time = "2026-11-21T02:59:51Z";
  report.environment.cpu.model = "a CPU";
  report.environment.num_threads = 2;
  report.environment.build.type = "Release";
  report.environment.build.optimized = true;
  report.settings = "layer: [naive, fused]\n";
  report.ceilings = {sample_ceiling()};
  report.rows = {measured_row(LayerKind::kNaive, 0.4, 1.0, 1.2), measured_row(LayerKind::kFused, 0.2, 0.5, 0.6)};
  report.rows[0].measurement->speedup_forward = report.rows[0].measurement->speedup_total = exactly(1);
  report.rows[1].measurement->speedup_forward = report.rows[1].measurement->speedup_total = exactly(2);
  BenchRow& refused = report.rows.emplace_back();
  refused.key = row_key(LayerKind::kHoisted, "cpu", paper_case());
  refused.reason = "layer: hoisted cannot do this";
  return report;
}

BenchRow in_processes(BenchRow row, int64_t count) {
  if (!row.measurement) return row;
  const PassSamples one = row.measurement->samples;
  PassSamples& all = row.measurement->samples;
  row.measurement->rounds_by_process.assign(static_cast<size_t>(count), std::ssize(one.all));
  for (int64_t i = 1; i < count; ++i) {
    all.forward.insert(all.forward.end(), one.forward.begin(), one.forward.end());
    all.forward_data.insert(all.forward_data.end(), one.forward_data.begin(), one.forward_data.end());
    all.all.insert(all.all.end(), one.all.begin(), one.all.end());
  }
  return row;
}

BenchReport in_processes(BenchReport report, int64_t count) {
  for (BenchRow& row : report.rows) row = in_processes(std::move(row), count);
  return report;
}

}  // namespace rnnlab::testing
