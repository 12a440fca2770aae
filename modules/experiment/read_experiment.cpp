#include "experiment/read_experiment.h"

#include "base/folder.h"
#include "data/find_data.h"
#include "experiment/initial_weights.h"
#include "results/config_values.h"
#include "results/run_folder.h"

namespace rnnlab {
namespace {

std::string whole_if_there(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored) ? whole_path(path).string() : path;
}

}  // namespace

Experiment read_experiment(config::Document document, const std::vector<std::string>& overrides,
                           config::Findings& findings) {
  for (const std::string& assignment : overrides) document.apply_override(assignment, findings);
  Experiment experiment = config::read(document, Experiment::schema(), findings);
  findings.throw_if_any();
  return experiment;
}

Experiment with_paths_beside(Experiment experiment, const std::filesystem::path& folder) {
  experiment.data.path = whole_if_there(path_beside(experiment.data, folder));
  experiment.model.initial_weights = whole_if_there(weights_beside(experiment.model.initial_weights, folder));
  return experiment;
}

std::map<std::string, std::string> effective_settings(const Experiment& experiment) {
  config::Findings findings;
  return config_values(
      config::Document::from_text(config::print(experiment, Experiment::schema()), kConfigFile, findings));
}

}  // namespace rnnlab
