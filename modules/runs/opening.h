// SPDX-License-Identifier: Apache-2.0
// Logs the first lines of a run: its folder, device, layer, data, parameters and execution path. In a sweep most of
// them are those of the run before, so the console shows only the lines that differ. train.log has all of them.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "base/system/logger.h"
#include "runs/run_context.h"

namespace rnnlab {

class Opening {
 public:
  // `previous_run` is the folder of the run before in a sweep, or empty. A folder without a readable log counts as
  // empty.
  Opening(Logger& logger, const std::filesystem::path& previous_run);

  void log_folder(const std::filesystem::path& folder);

  // Logs what a run is, before its first step. Reasons to doubt its times are only in train.log: they are told once,
  // with the result of the command.
  void log_run(const RunContext& run);
  void log_path(const ExecutionPath& path);

  // Logs these lines as information, or as details if the previous run has logged all of them.
  void log_block(const std::vector<std::string>& lines);

 private:
  Logger& logger_;
  std::set<std::string> known_;  // the lines of the previous run
};

// Returns whether the steps are CUDA graphs, and why not; nothing without training.cuda_graph.
std::vector<std::string> graph_notes(const RunContext& run);

// Logs notes below a line of the opening.
void log_notes(const std::vector<std::string>& notes, Logger& logger);

}  // namespace rnnlab
