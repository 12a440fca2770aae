// Clocks that are held down while a benchmark runs, from a survey of the machine.
#pragma once

#include <string>
#include <vector>

#include "results/gpu_info.h"

namespace rnnlab {

// A line for each GPU whose clocks are held down.
std::vector<std::string> throttling(const GpuSurvey& survey);

}  // namespace rnnlab
