// What went on beside a benchmark: clocks held down, and others on the GPU or the CPU, from surveys of the machine.
// What was so at the start is for warnings(Environment).
#pragma once

#include <string>
#include <vector>

#include "results/environment.h"

namespace rnnlab {

// A line for each GPU whose clocks are held down.
std::vector<std::string> throttling(const GpuSurvey& survey);

// Others that came while the benchmark ran. Take `cpu` when this process is idle again.
std::vector<std::string> newcomers(const GpuSurvey& start, const GpuSurvey& end, const CpuInfo& cpu);

}  // namespace rnnlab
