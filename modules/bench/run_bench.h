// The whole of a benchmark: each combination of the grid, the layers of one taking turns, and afterwards a look at what
// each of them ran. A layer that cannot do a combination has a row with the reason; nothing but a signal ends a
// benchmark early.
#pragma once

#include <functional>
#include <string>

#include "base/error.h"
#include "bench/backend.h"
#include "bench/report.h"

namespace rnnlab {

struct BenchHooks {
  std::function<bool()> should_stop;                         // asked between samples
  std::function<void(const std::string& line)> on_progress;  // a line for each combination
  std::function<void(const BenchReport&)> on_report = {};    // all that is known, whenever there is more
};

struct BenchOutcome {
  BenchReport report;                    // without environment; of the warnings with that of an unfinished benchmark
  ExitCode exit_code = ExitCode::kDone;  // where no row at all was measured, that of the first reason
  std::string failure;                   // what went wrong first, a sentence
};

BenchOutcome run_bench(const BenchSettings& settings, BenchBackend& backend, const BenchHooks& hooks);

}  // namespace rnnlab
