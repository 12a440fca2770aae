#include "experiment/run_all.h"

#include <filesystem>
#include <map>

#include "config/sweep.h"
#include "data/find_data.h"
#include "experiment/device.h"
#include "experiment/failure.h"
#include "experiment/stop_notice.h"
#include "training/device_memory.h"
#include "training/stop_signal.h"

namespace rnnlab {
namespace {

// What will fail for want of its device is said before the others take their time.
void warn_of_missing_devices(const std::vector<ExperimentCase>& cases, Logger& logger) {
  std::map<std::string, size_t> reasons;
  for (const ExperimentCase& one : cases)
    if (const std::string reason = why_no_device(one.experiment.device); !reason.empty()) ++reasons[reason];
  for (const auto& [reason, count] : reasons)
    logger.warn(fmt::format("{} of {} runs will fail: {}", count, cases.size(), reason));
}

std::string heading(const ExperimentCase& one, size_t number, size_t count) {
  const std::string& what = one.label.empty() ? one.experiment.name : one.label;
  return fmt::format("=== run {} of {}: {}", number, count, what);
}

// A message that begins with a key, "layer: cudnn needs a CUDA GPU", with the place in front where the key is set.
std::string with_place(const std::string& message, const ExperimentCase& one) {
  const auto found = one.places.find(message.substr(0, message.find(':')));
  return found == one.places.end() ? message : fmt::format("{}: {}", config::to_string(found->second), message);
}

void run_one(const ExperimentCase& one, const RunRequest& request, Logger& logger, RunAllOutcome& all) {
  try {
    all.finished.push_back(run_experiment(one.experiment, request, logger));
  } catch (...) {
    const Failure failure = describe_failure(std::current_exception());
    logger.error(with_place(failure.message, one));
    if (all.exit_code == ExitCode::kDone) all.exit_code = failure.exit_code;
  }
  logger.close_file();
  release_cached_memory();
}

}  // namespace

std::vector<ExperimentCase> read_cases(const config::Document& document, config::Findings& findings) {
  const auto folder = std::filesystem::path(document.source()).parent_path();
  std::vector<ExperimentCase> cases;
  for (const config::SweepCase& one : config::expand_sweep(document, findings)) {
    Experiment experiment = config::read(one.document, Experiment::schema(), findings);
    experiment.data.path = path_beside(experiment.data, folder);
    cases.push_back({one.label, std::move(experiment), config::places_of_keys(one.document)});
  }
  return cases;
}

RunAllOutcome run_all(const std::vector<ExperimentCase>& cases, const RunRequest& request, Logger& logger) {
  const StopSignalGuard signals;
  const StopNotice notice("stopping after the current step");
  if (cases.size() > 1) warn_of_missing_devices(cases, logger);
  RunAllOutcome all;
  size_t num_begun = 0;
  while (num_begun < cases.size() && !pending_stop()) {
    const ExperimentCase& one = cases[num_begun++];
    if (cases.size() > 1) logger.info(heading(one, num_begun, cases.size()));
    run_one(one, request, logger, all);
    if (cases.size() > 1) logger.info("");
  }
  if (const auto stop = pending_stop()) {
    const size_t num_left = cases.size() - num_begun;
    if (num_left > 0) logger.warn(fmt::format("{}: {} of {} runs not begun", stop->text, num_left, cases.size()));
    all.exit_code = exit_code_after(stop->reason);
  }
  return all;
}

}  // namespace rnnlab
