// What a run of an experiment begins with, as one file for another program that is to do the same work: its samples as
// they are fed to the network, the initial weights, the order of the samples and the learning rate of each step, all
// settings, and the machine. Such a program need not read data, draw numbers or know schedules.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "experiment/experiment.h"

namespace rnnlab {

// What was written, in words.
struct WorkFile {
  std::string work;  // "60,000 training samples an epoch, 3 epochs of 469 steps"
};

// A safetensors file at `out`, which docs/timing.md describes; `command_line` is for environment.json.
// UserError as run_experiment before it makes a folder; kUsage if nothing but time bounds the run; those of
// write_safetensors.
WorkFile write_work_file(const Experiment& experiment, const std::vector<std::string>& command_line,
                         const std::filesystem::path& out);

}  // namespace rnnlab
