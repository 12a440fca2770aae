// A benchmark on this machine with everything around it: the environment before, and what disturbed it after.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/run_bench.h"

namespace rnnlab {

// Gets the environment and the rows, none of them measured yet, before the first is. What it throws ends the benchmark.
using CheckPlan = std::function<void(const BenchReport& plan)>;

// Call it before anything else has used CUDA, so that others on the GPU can be told from this process.
BenchOutcome run_bench_here(const BenchSettings& settings, const std::vector<std::string>& command_line,
                            const BenchHooks& hooks, const CheckPlan& check_plan);

}  // namespace rnnlab
