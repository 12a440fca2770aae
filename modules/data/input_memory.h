// SPDX-License-Identifier: Apache-2.0
// Decides which files of inputs of source npy are read into memory and which stay mapped (data.memory). The decision
// depends on the headers of the files and on the limits of memory; it never throws, because the loader reports a
// missing or damaged file.
#pragma once

#include <string>
#include <vector>

#include "base/system/machine.h"
#include "data/data_settings.h"

namespace rnnlab {

struct InputMemoryChoice {
  std::vector<std::string> mapped;  // the names of the files, as in the settings
  std::vector<std::string> notes;   // sentences for the log

  InputMemory memory_of(const std::string& file) const;  // kMapped or kResident
};

// `files` are the names of the inputs that are held at the same time; "" is no file. kAutomatic compares the memory
// that loading all of them needs with three quarters of the smallest hard limit without swap. Above it, each file is
// mapped that can be mapped. None can be mapped if data.placement is device. The limits are those of this machine;
// tests pass their own.
InputMemoryChoice choose_input_memory(const DataSettings& settings, const std::vector<std::string>& files);
InputMemoryChoice choose_input_memory(const DataSettings& settings, const std::vector<std::string>& files,
                                      const MemoryLimits& limits);

// Returns the inputs that training holds at the same time: of training, and of validation if it has a file.
std::vector<std::string> inputs_of_training(const DataSettings& settings);

// Returns whether the source has files of inputs and data.memory: mapped can map all of them.
bool can_map_inputs(const DataSettings& settings);

}  // namespace rnnlab
