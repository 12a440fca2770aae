// Names and paths of the files in a run folder, and the settings in its `config.yaml`.
#pragma once

#include <ctime>
#include <filesystem>
#include <map>
#include <string>

#include "config/document.h"

namespace rnnlab {

// The folder that one run leaves behind, <out>/<name>/<start time>-<device>-<layer>/, and the names of the files in it.
// Two runs that start in the same second never share a folder: mkdir decides.

inline constexpr const char* kConfigFile = "config.yaml";            // effective settings, runs again as it is
inline constexpr const char* kEnvironmentFile = "environment.json";  // the machine and the build
inline constexpr const char* kLogFile = "train.log";
inline constexpr const char* kEpochsCsvFile = "epochs.csv";
inline constexpr const char* kEpochsJsonlFile = "epochs.jsonl";
inline constexpr const char* kSummaryFile = "summary.json";
inline constexpr const char* kCheckpointsFolder = "checkpoints";
inline constexpr const char* kTraceFile = "trace.json";  // where one was asked for

struct RunLabel {
  std::string name;    // of the experiment
  std::string device;  // "cpu", "cuda:0"; a colon becomes nothing in the folder's name
  std::string layer;   // "naive"
  std::time_t start = 0;
};

// "2026-11-21T02-59-51Z-cuda0-fused". The time is UTC.
std::string run_folder_name(const RunLabel& label);

// Makes the folder with its parents; a name that is taken gets -2, -3 and so on. `out` is usually "runs".
// UserError kDevice when it cannot be made (read-only, no space, a file or dangling link in its place); kUsage when a
// part of the label cannot be a folder's name.
std::filesystem::path create_run_folder(const std::filesystem::path& out, const RunLabel& label);

// What others may know of where a run lies: "mnist_rows/2026-11-21T02-59-51Z-cuda0-fused", without the folders above;
// the last name alone where the folder is not in that of its experiment. `folder` need not be there.
std::string shared_run_name(const std::filesystem::path& folder, const std::string& experiment);

// The folder and those above it, where they are missing. UserError kDevice.
void make_folders(const std::filesystem::path& folder);

// The settings of a run folder's config.yaml as dotted keys with their text, to say in which settings two runs differ.
// Which keys there are is not checked: another version of rnnlab may have written the file.

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
