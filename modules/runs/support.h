// SPDX-License-Identifier: Apache-2.0
// Says whether this machine can run an experiment, before data are loaded and a model is made: its device, the number
// of its GPUs, the exchange between them, the layer, the precision, and the memory of the host that the settings alone
// need.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runs/experiment.h"

namespace rnnlab {

enum class AskGpu {
  kYes,
  kNo,  // a question would create a context on the GPU; the limits of its model are then not checked
};

// Returns why this machine lacks devices of an experiment; nothing if it has them.
std::optional<std::string> missing_devices(const Experiment& experiment);

// Returns why this machine cannot run an experiment although its settings are valid; nothing if it can.
std::optional<std::string> unsupported_here(const Experiment& experiment, AskGpu ask);

// Returns a sentence for each reason why some of the experiments cannot run here, with their number:
// "2 of 6 cases cannot run on this machine: ...".
std::vector<std::string> unsupported_runs(const std::vector<Experiment>& experiments, AskGpu ask);

}  // namespace rnnlab
