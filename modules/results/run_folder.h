// SPDX-License-Identifier: Apache-2.0
// Defines names and paths of the files in a run folder, and reads the settings in its `config.yaml`.
#pragma once

#include <ctime>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/config/document.h"

namespace rnnlab {

// A run leaves one folder, <out>/<name>/<start time>-<device>-<layer>/, with these files. Two runs that start in the
// same second never share a folder, because only one mkdir succeeds.

inline constexpr const char* kConfigFile = "config.yaml";  // effective settings, from which a run can start unchanged
inline constexpr const char* kEnvironmentFile = "environment.json";  // the machine and the build
inline constexpr const char* kLogFile = "train.log";
inline constexpr const char* kEpochsCsvFile = "epochs.csv";
inline constexpr const char* kEpochsJsonlFile = "epochs.jsonl";
inline constexpr const char* kSummaryFile = "summary.json";
inline constexpr const char* kCheckpointsFolder = "checkpoints";
inline constexpr const char* kTraceFile = "trace.json";  // if it was requested

inline constexpr const char* kRunsFolder = "runs";    // <out>, unless the user names another
inline constexpr const char* kLatestLink = "latest";  // beside the run folders of a name: a link to the newest of them

struct RunLabel {
  std::string name;    // of the experiment
  std::string device;  // "cpu", "cuda:0"; the folder's name leaves out the colon
  std::string layer;   // "naive"
  std::time_t start = 0;
};

// Returns a name such as "2026-11-21T02-59-51Z-cuda0-fused". The time is UTC.
std::string run_folder_name(const RunLabel& label);

// Creates the folder with its parents; an existing name gets -2, -3 and so on. `out` is usually "runs". The link
// `latest` beside the folder then leads to it, unless the file system has no links or the name is in use. Throws
// UserError kDevice if the folder cannot be created (read-only, no space, a file or dangling link in its place), kUsage
// if a part of the label cannot be a folder's name.
std::filesystem::path create_run_folder(const std::filesystem::path& out, const RunLabel& label);

// Returns the folders in `folder` that hold the settings of a run, the newest last, without the link `latest`. The
// order is that of the starts in their names; a run with a name of its own comes before the others. Empty if `folder`
// cannot be read.
std::vector<std::filesystem::path> run_folders_in(const std::filesystem::path& folder);

// Returns a path such as runs/rows/latest/checkpoints with the run to which the link `latest` leads, as
// runs/rows/2026-11-21T02-59-51Z-cpu-naive/checkpoints, and every other path unchanged. If that run was deleted, the
// newest run beside the link takes its place. The result still means the same run after a new run has begun.
std::filesystem::path without_latest_link(const std::filesystem::path& path);

// A link `latest` whose run was deleted.
struct DanglingLatest {
  std::filesystem::path link;     // runs/rows/latest
  std::filesystem::path deleted;  // runs/rows/2026-11-21T02-59-51Z-cpu-naive
  std::filesystem::path left;     // the newest run beside the link; empty if no run is left
};

// Returns the first such link in the path. A command that changes a run must not take the run that is left instead.
std::optional<DanglingLatest> dangling_latest(const std::filesystem::path& path);

// Returns a name of the run for other people: "mnist_rows/2026-11-21T02-59-51Z-cuda0-fused", without the folders above;
// or only the last name if the folder is not in the folder of its experiment. `folder` need not exist.
std::string shared_run_name(const std::filesystem::path& folder, const std::string& experiment);

// Creates the folder and its parents if they are missing. Throws UserError kDevice with the option that chooses another
// folder.
void make_folders(const std::filesystem::path& folder, std::string_view option = "--out");

// The settings of a run folder's config.yaml are dotted keys with their texts, which show in which settings two runs
// differ. The keys are not checked, because another version of rnnlab may have written the file.

// Returns {"training.epochs": "3", ...}. Null values and empty lists are left out, because a version of rnnlab that
// does not know a list yet means the same. Throws UserError kData if the file is missing or is not YAML.
std::map<std::string, std::string> config_values(const std::filesystem::path& file);

// Returns the settings of a document in memory.
std::map<std::string, std::string> config_values(const config::Document& document);

// Returns the text of a setting, with a path cut to its last name: "x.csv" for "/data/x.csv" and for "../x.csv".
std::string setting_without_folders(const std::string& value);

// Returns the text of a key in the result of config_values, or "absent".
std::string value_or_absent(const std::map<std::string, std::string>& values, const std::string& key);

}  // namespace rnnlab
