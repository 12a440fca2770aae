// An experiment from a document whose file is known, as every way of going on with a run or using its model reads it.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "config/document.h"
#include "experiment/experiment.h"

namespace rnnlab {

// The document's one experiment with the overrides, "key=value", laid over it. UserError kUsage with all findings,
// those that reading the document left among them.
Experiment read_experiment(config::Document document, const std::vector<std::string>& overrides,
                           config::Findings& findings);

// Its paths as they are meant in a file in `folder`: from the current directory, or else from there. Those that are
// there become absolute, so that the experiment means the same wherever it is read again.
Experiment with_paths_beside(Experiment experiment, const std::filesystem::path& folder);

// The settings that its config.yaml has, by dotted key.
std::map<std::string, std::string> effective_settings(const Experiment& experiment);

}  // namespace rnnlab
