#include "experiment/cases.h"

#include <filesystem>

#include "config/sweep.h"
#include "experiment/read_experiment.h"

namespace rnnlab {

std::vector<ExperimentCase> read_cases(const config::Document& whole, config::Findings& findings) {
  const config::Repeats repeats = config::repeats_of(whole, findings);
  const config::Document document = config::without_repeats(whole);
  const auto folder = std::filesystem::path(document.source()).parent_path();
  std::vector<ExperimentCase> cases;
  const config::Sweep sweep(document, findings);
  for (size_t i = 0; i < sweep.num_cases(); ++i) {
    const config::Document one = sweep.document(i);
    Experiment experiment = config::read(one, Experiment::schema(), findings);
    cases.push_back({.label = sweep.label(i),
                     .experiment = with_paths_beside(std::move(experiment), folder),
                     .places = config::places_of_keys(one),
                     .repeats = repeats});
  }
  return cases;
}

std::string name_of(const ExperimentCase& one) { return one.label.empty() ? one.experiment.name : one.label; }

std::vector<SweepEntry> entries_of(const std::vector<ExperimentCase>& cases) {
  std::vector<SweepEntry> entries;
  for (const ExperimentCase& one : cases)
    entries.push_back({.label = name_of(one),
                       .experiment = config::print(one.experiment, Experiment::schema()),
                       .folder = std::nullopt,
                       .case_number = std::ssize(entries) + 1});
  return entries;
}

}  // namespace rnnlab
