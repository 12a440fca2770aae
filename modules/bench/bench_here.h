// Runs a benchmark on this machine and records its environment and disturbances, in this process, or in several
// processes that measure the same grid one after the other.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/report.h"
#include "bench/run_bench.h"

namespace rnnlab {

// Combines the reports of several processes that measured the same grid into one report with means and intervals. It is
// a pure function. Rows with equal indices have the same combination and layer; an interrupted report has fewer rows. A
// row is measured if at least one process measured it; its speed-up pairs the processes that measured both layers.
// Warnings of one kind are reported once, and a ceiling is the highest of all. There must be at least one report;
// `settings` are those of all reports.
BenchReport combine(const std::vector<BenchReport>& reports, const BenchSettings& settings);

// Receives the environment and the rows before the first measurement. If it throws, the benchmark ends.
using CheckPlan = std::function<void(const BenchReport& plan)>;

// Runs in this process and ignores `processes`. Call it before other code uses CUDA, so that foreign processes on the
// GPU can be distinguished from this process.
BenchOutcome run_bench_here(const BenchSettings& settings, const std::vector<std::string>& command_line,
                            const BenchHooks& hooks, const CheckPlan& check_plan);

// Runs as many processes as the settings say, each with its own weights, inputs and order, drawn with `seed` plus its
// index (from 0), and combines their reports. A failing process, or a signal, ends the benchmark with the results so
// far. `arguments` are passed to each process in addition to its settings. Throws UserError as run_child.
BenchOutcome run_bench_in_processes(const BenchSettings& settings, const std::vector<std::string>& command_line,
                                    const BenchHooks& hooks, const CheckPlan& check_plan,
                                    const std::vector<std::string>& arguments);

// Each process prints every state of its report to stdout, on a separate line after this mark.
inline constexpr std::string_view kReportMark = "bench report: ";

}  // namespace rnnlab
