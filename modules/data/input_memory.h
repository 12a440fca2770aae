// SPDX-License-Identifier: Apache-2.0
// Decides whether the inputs of source npy are read into memory or stay in their file (data.memory). The decision
// depends on the header of the file of training inputs and on the limits of memory; it never throws, because the loader
// reports a missing or damaged file.
#pragma once

#include <string>

#include "data/data_settings.h"
#include "system/machine.h"

namespace rnnlab {

struct InputMemoryChoice {
  InputMemory memory = InputMemory::kResident;  // never kAutomatic
  std::string note;                             // a sentence for the log; "" if nothing needs to be said
};

// kAutomatic: mapped if the training inputs as float32 need more than half of the smallest hard limit of memory, unless
// the file cannot be mapped or data.placement is device. The limits are those of this machine; tests pass their own.
InputMemoryChoice choose_input_memory(const DataSettings& settings);
InputMemoryChoice choose_input_memory(const DataSettings& settings, const MemoryLimits& limits);

}  // namespace rnnlab
