// The settings of an effective config.yaml as dotted keys with their text, to say in which settings two runs differ.
// Only for files that rnnlab printed (block mappings, one key a line, values on one line); what else is there is kept
// as it stands. Checking a configuration is the config module's business.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace rnnlab {

// {"training.epochs": "3", ...}; comments are left out.
std::map<std::string, std::string> config_values(std::string_view yaml);

}  // namespace rnnlab
