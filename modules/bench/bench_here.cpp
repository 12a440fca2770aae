#include "bench/bench_here.h"

#include <ATen/Parallel.h>

#include "base/text.h"
#include "bench/machine_watch.h"
#include "bench/torch_laboratory.h"
#include "experiment/device.h"
#include "experiment/versions.h"

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

}  // namespace

BenchOutcome run_bench_here(const BenchSettings& settings, const std::vector<std::string>& command_line,
                            const BenchHooks& hooks, const CheckPlan& check_plan) {
  TorchLaboratory laboratory(settings);
  Environment environment = collect_environment(command_line, at::get_num_threads(), software_versions());
  BenchReport plan;
  plan.environment = environment;
  plan.rows = planned_rows(settings);
  check_plan(plan);
  BenchOutcome outcome = run_bench(settings, laboratory, hooks);
  BenchReport& report = outcome.report;
  report.warnings = warnings(environment);
  for (const std::string& warning : newcomers(environment.nvidia, survey_gpus(), cpu_info()))
    report.warnings.push_back(warning);
  for (const BenchRow& row : report.rows)
    for (const std::string& note : row.notes) add_once(report.warnings, note);
  report.environment = std::move(environment);
  return outcome;
}

}  // namespace rnnlab
