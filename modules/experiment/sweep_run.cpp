#include "experiment/sweep_run.h"

#include <filesystem>

#include "experiment/experiment.h"
#include "experiment/resume.h"
#include "results/run_folder.h"

namespace rnnlab {
namespace {

// A run that was killed before its settings were in its folder has not begun.
bool has_begun(const SweepEntry& entry, Logger& logger) {
  if (!entry.folder) return false;
  std::error_code ignored;
  if (!std::filesystem::exists(*entry.folder, ignored))
    logger.warn(*entry.folder + ": the folder of this run is missing; the run starts from the beginning");
  return std::filesystem::is_regular_file(std::filesystem::path(*entry.folder) / kConfigFile, ignored);
}

}  // namespace

Experiment experiment_of(const SweepEntry& entry, const std::string& source,
                         const std::vector<std::string>& overrides) {
  config::Findings findings;
  return read_experiment(config::Document::from_text(entry.experiment, source, findings), overrides, findings);
}

std::optional<RunOutcome> ended_run(const std::filesystem::path& folder) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(folder / kSummaryFile, ignored)) return std::nullopt;
  RunOutcome outcome{.folder = folder, .summary = read_summary(folder)};
  if (outcome.summary.ending != RunEnding::kComplete) return std::nullopt;
  return outcome;
}

void remember_auto_layer(const SweepEntry& entry, AutoLayers& auto_layers) {
  if (!entry.folder) return;
  try {
    config::Findings findings;
    const std::filesystem::path folder = *entry.folder;
    auto document = config::Document::from_file((folder / kConfigFile).string(), findings);
    const Experiment experiment = with_paths_beside(read_experiment(std::move(document), {}, findings), folder);
    if (experiment.auto_layer) auto_layers.remember(experiment, *experiment.auto_layer);
  } catch (const UserError&) {
    return;
  }
}

RunOutcome run_entry(const SweepEntry& entry, const std::string& source, const std::vector<std::string>& overrides,
                     const RunRequest& request, Logger& logger) {
  if (!has_begun(entry, logger)) return run_experiment(experiment_of(entry, source, overrides), request, logger);
  if (overrides.empty())
    if (auto outcome = ended_run(*entry.folder)) return *std::move(outcome);
  return resume_experiment(*entry.folder, overrides, request, logger);
}

}  // namespace rnnlab
