// SPDX-License-Identifier: Apache-2.0
// Runs a whole benchmark: for each combination of the grid the layers are sampled in turn, and then the executed path
// of each layer is inspected. If a layer cannot run a combination, its row has the reason. Only a signal ends a
// benchmark early.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "runs/bench/backend.h"
#include "runs/bench/bench_report.h"

namespace rnnlab {

struct BenchHooks {
  std::function<bool()> should_stop;                         // called between samples
  std::function<void(const std::string& line)> on_progress;  // one line for each combination
  std::function<void(const BenchReport&)> on_report = {};    // all results so far, after each change
  // Called at the beginning of a combination, when the length of a layer's samples is chosen, and before each sample.
  // `done` of `total` steps are over; `what` is "[1/2]".
  std::function<void(const std::string& what, int64_t done, int64_t total)> on_sample = {};
};

// Returns "The benchmark measures 2 layers in 6 combinations, which takes at least 1 s": the time of the samples if no
// pass is longer than sample_seconds.
std::string work_text(const BenchSettings& settings);

struct BenchOutcome {
  BenchReport report;                    // without environment; the only warning is that of an unfinished benchmark
  ExitCode exit_code = ExitCode::kDone;  // the first failure's code if no row was measured
  std::string failure;                   // the first failure, a sentence
};

BenchOutcome run_bench(const BenchSettings& settings, BenchBackend& backend, const BenchHooks& hooks);

// ---- on this machine, in one or several processes (bench_here.cpp) ----

// The following functions run a benchmark on this machine and record its environment and disturbances, in this process,
// or in several processes that measure the same grid one after the other.

// Combines the reports of several processes that measured the same grid into one report with means and intervals. It is
// a pure function. Rows with equal indices have the same combination and layer; an interrupted report has fewer rows. A
// row is measured if at least one process measured it; its speed-up pairs the processes that measured both layers.
// Warnings of one kind are reported once, and a ceiling is the highest of all. There must be at least one report;
// `settings` are those of all reports.
BenchReport combine_reports(const std::vector<BenchReport>& reports, const BenchSettings& settings);

// Receives the environment and the rows before the first measurement. If it throws, the benchmark ends.
using CheckPlan = std::function<void(const BenchReport& plan)>;

// Runs in this process and ignores `processes`. Call it before other code uses CUDA, so that foreign processes on the
// GPU can be distinguished from this process.
BenchOutcome run_bench_in_this_process(const BenchSettings& settings, const std::vector<std::string>& command_line,
                                       const BenchHooks& hooks, const CheckPlan& check_plan);

// Runs as many processes as the settings say, each with its own weights, inputs and order, drawn with `seed` plus its
// index (from 0), and combines their reports. If a process fails or a signal arrives, the benchmark ends and returns
// the results that it has. `arguments`, such as -q, are passed to each process besides its settings. Throws UserError
// in the same cases as run_child().
BenchOutcome run_bench_in_processes(const BenchSettings& settings, const std::vector<std::string>& command_line,
                                    const BenchHooks& hooks, const CheckPlan& check_plan,
                                    const std::vector<std::string>& arguments);

// Each process prints every state of its report to stdout, on a separate line after this mark.
inline constexpr std::string_view kReportMark = "bench report: ";

}  // namespace rnnlab
