#include "bench/bench_here.h"

#include <ATen/Parallel.h>
#include <torch/types.h>

#include "base/text.h"
#include "bench/torch_laboratory.h"
#include "experiment/device.h"
#include "experiment/versions.h"
#include "results/bystanders.h"

namespace rnnlab {
namespace {

// As measuring will name it; of what this machine lacks, the user's name.
std::string label_of(const std::string& device) {
  return why_no_device(device).empty() ? device_label(resolve_device(device)) : device;
}

std::vector<BenchRow> planned_rows(const BenchSettings& settings) {
  std::vector<BenchRow> rows;
  for (const Combination& combination : expand(settings))
    for (const LayerKind layer : settings.layer)
      rows.emplace_back().key = row_key(layer, label_of(combination.device), combination);
  return rows;
}

// The GPUs that will be measured, as they are once this process computes on them.
GpuSurvey survey_of_all(const BenchSettings& settings) {
  GpuSurvey all;
  for (const std::string& name : settings.device) {
    if (!why_no_device(name).empty()) continue;
    const c10::Device device = resolve_device(name);
    torch::empty({1}, device);
    for (const GpuInfo& gpu : survey_of(device).gpus) all.gpus.push_back(gpu);
  }
  return all;
}

}  // namespace

BenchOutcome run_bench_here(const BenchSettings& settings, const std::vector<std::string>& command_line,
                            const BenchHooks& hooks, const CheckPlan& check_plan) {
  TorchLaboratory laboratory(settings);
  const Environment environment = collect_environment(command_line, at::get_num_threads(), libraries());
  BenchReport plan;
  plan.environment = environment;
  plan.rows = planned_rows(settings);
  check_plan(plan);
  const Bystanders bystanders(survey_of_all(settings), environment.num_threads);
  const auto complete = [&](BenchReport report) {
    for (const Warning& warning : warnings(environment)) add_once(report.warnings, warning);
    for (const Warning& warning : bystanders.warnings()) add_once(report.warnings, warning);
    for (const BenchRow& row : report.rows)
      for (const Warning& note : row.notes) add_once(report.warnings, note);
    report.environment = environment;
    return report;
  };
  BenchHooks completing = hooks;
  if (hooks.on_report) completing.on_report = [&](const BenchReport& so_far) { hooks.on_report(complete(so_far)); };
  BenchOutcome outcome = run_bench(settings, laboratory, completing);
  outcome.report = complete(std::move(outcome.report));
  return outcome;
}

}  // namespace rnnlab
