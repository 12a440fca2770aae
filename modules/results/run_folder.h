// The folder that one run leaves behind, <out>/<name>/<start time>-<device>-<layer>/, and the names of the files in it.
// Two runs that start in the same second never share a folder: mkdir decides.
#pragma once

#include <ctime>
#include <filesystem>
#include <string>

namespace rnnlab {

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

}  // namespace rnnlab
