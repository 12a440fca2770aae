#include "experiment/run_all.h"

#include "config/sweep.h"
#include "experiment/failure.h"

namespace rnnlab {
namespace {

bool is_signal(ExitCode exit_code) { return exit_code == ExitCode::kInterrupted || exit_code == ExitCode::kTerminated; }

void keep_first_failure_or_signal(RunAllOutcome& all, ExitCode exit_code) {
  if (is_signal(exit_code) || all.exit_code == ExitCode::kDone) all.exit_code = exit_code;
}

std::string heading(const ExperimentCase& one, size_t number, size_t count) {
  const std::string& what = one.label.empty() ? one.experiment.name : one.label;
  return fmt::format("=== run {} of {}: {}", number, count, what);
}

void run_one(const ExperimentCase& one, const RunRequest& request, Logger& logger, RunAllOutcome& all) {
  try {
    all.finished.push_back(run_experiment(one.experiment, request, logger));
    keep_first_failure_or_signal(all, all.finished.back().exit_code);
  } catch (...) {
    const Failure failure = describe_failure(std::current_exception());
    logger.error(failure.message);
    keep_first_failure_or_signal(all, failure.exit_code);
  }
  logger.close_file();
}

}  // namespace

std::vector<ExperimentCase> read_cases(const config::Document& document, config::Findings& findings) {
  std::vector<ExperimentCase> cases;
  for (const config::SweepCase& one : config::expand_sweep(document, findings))
    cases.push_back({one.label, config::read(one.document, Experiment::schema(), findings)});
  return cases;
}

RunAllOutcome run_all(const std::vector<ExperimentCase>& cases, const RunRequest& request, Logger& logger) {
  RunAllOutcome all;
  for (size_t i = 0; i < cases.size() && !is_signal(all.exit_code); ++i) {
    if (cases.size() > 1) logger.info(heading(cases[i], i + 1, cases.size()));
    run_one(cases[i], request, logger, all);
    if (cases.size() > 1) logger.info("");
  }
  return all;
}

}  // namespace rnnlab
