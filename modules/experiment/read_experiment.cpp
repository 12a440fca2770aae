#include "experiment/read_experiment.h"

#include "data/find_data.h"
#include "experiment/initial_weights.h"

namespace rnnlab {
namespace {

std::string whole_path(const std::string& path) {
  std::error_code ignored;
  if (path.empty() || !std::filesystem::exists(path, ignored)) return path;
  return std::filesystem::absolute(path).lexically_normal().string();
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
  experiment.data.path = whole_path(path_beside(experiment.data, folder));
  experiment.model.initial_weights = whole_path(weights_beside(experiment.model.initial_weights, folder));
  return experiment;
}

}  // namespace rnnlab
