// The settings of a run folder's config.yaml as dotted keys with their text, to say in which settings two runs differ.
// Which keys there are is not checked: another version of rnnlab may have written the file.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "config/document.h"

namespace rnnlab {

// {"training.epochs": "3", ...}; what is absent or an empty list is left out, because a version of rnnlab that does not
// know a list yet means the same. UserError kData where the file is missing or no YAML.
std::map<std::string, std::string> config_values(const std::filesystem::path& file);

// Of a document that is in memory already.
std::map<std::string, std::string> config_values(const config::Document& document);

// The text of a setting, a path in it cut to its last name: "x.csv" of "/data/x.csv" and of "../x.csv".
std::string setting_without_folders(const std::string& value);

// The text of a key in what these gave, or "absent".
std::string value_or_absent(const std::map<std::string, std::string>& values, const std::string& key);

}  // namespace rnnlab
