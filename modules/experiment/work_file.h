// Writes everything with which a run begins to one file, for another program that does the same work: the samples as
// they are fed to the network, the initial weights, the order of the samples and the learning rate of each step, all
// settings, and the machine. Such a program need not read data, draw random numbers or implement schedules.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "experiment/experiment.h"

namespace rnnlab {

// Describes the written work.
struct WorkFile {
  std::string work;  // "60,000 training samples an epoch, 3 epochs of 469 steps"
};

// Writes a safetensors file at `out`, which docs/timing.md describes; `command_line` is for environment.json. Throws
// the UserErrors of run_experiment before it makes a folder, kUsage if only time bounds the run, and those of
// write_safetensors.
WorkFile write_work_file(const Experiment& experiment, const std::vector<std::string>& command_line,
                         const std::filesystem::path& out);

}  // namespace rnnlab
