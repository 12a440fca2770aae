// A benchmark on this machine with everything around it: the environment before, and what disturbed it after.
#pragma once

#include <string>
#include <vector>

#include "bench/run_bench.h"

namespace rnnlab {

// Call it before anything else has used CUDA, so that others on the GPU can be told from this process.
BenchOutcome run_bench_here(const BenchSettings& settings, const std::vector<std::string>& command_line,
                            const BenchHooks& hooks);

}  // namespace rnnlab
