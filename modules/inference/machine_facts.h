// What says on whose machine and from which files a result was made. Results are made to be shared, so they have it
// only where the user asks for it: --with-machine.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "inference/trained_model.h"

namespace rnnlab {

// "host", "command_line", "source" (the run, checkpoint or file that was read) and "data", each with its text, paths as
// absolute ones. Empty where nobody asked.
using MachineFacts = std::vector<std::pair<std::string, std::string>>;

MachineFacts machine_facts(const std::filesystem::path& source, const std::vector<std::string>& command_line);

// Also the data's path, where they come from files.
MachineFacts machine_facts(const TrainedModel& trained, const std::vector<std::string>& command_line);

}  // namespace rnnlab
