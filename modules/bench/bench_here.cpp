#include "bench/bench_here.h"

#include <ATen/Parallel.h>

#include "base/text.h"
#include "bench/machine_watch.h"
#include "bench/torch_laboratory.h"
#include "experiment/versions.h"

namespace rnnlab {

BenchOutcome run_bench_here(const BenchSettings& settings, const std::vector<std::string>& command_line,
                            const BenchHooks& hooks) {
  TorchLaboratory laboratory(settings);
  Environment environment = collect_environment(command_line, at::get_num_threads(), software_versions());
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
