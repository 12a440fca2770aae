// Runs a whole benchmark: for each combination of the grid the layers are sampled in turn, and then the executed path
// of each layer is inspected. If a layer cannot run a combination, its row has the reason. Only a signal ends a
// benchmark early.
#pragma once

#include <functional>
#include <string>

#include "base/error.h"
#include "bench/backend.h"
#include "bench/report.h"

namespace rnnlab {

struct BenchHooks {
  std::function<bool()> should_stop;                         // called between samples
  std::function<void(const std::string& line)> on_progress;  // one line for each combination
  std::function<void(const BenchReport&)> on_report = {};    // all results so far, after each change
};

struct BenchOutcome {
  BenchReport report;                    // without environment; the only warning is that of an unfinished benchmark
  ExitCode exit_code = ExitCode::kDone;  // the first failure's code if no row was measured
  std::string failure;                   // the first failure, a sentence
};

BenchOutcome run_bench(const BenchSettings& settings, BenchBackend& backend, const BenchHooks& hooks);

}  // namespace rnnlab
