// A benchmark on this machine with everything around it: the environment before, and what disturbed it after; in this
// process, or in several that measure the same grid one after the other.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/report.h"
#include "bench/run_bench.h"

namespace rnnlab {

// One report from those of several processes that measured the same grid: the means of their numbers with intervals. A
// pure function.

// Rows of equal place are of one combination and layer; a report that was cut short has fewer. A row is measured if
// one process measured it, and its speed-up pairs the processes that measured both layers. Warnings of one kind are
// told once, and a ceiling is the highest. At least one report; `settings` are those that all of them share.
BenchReport combine(const std::vector<BenchReport>& reports, const BenchSettings& settings);

// Gets the environment and the rows, none of them measured yet, before the first is. What it throws ends the benchmark.
using CheckPlan = std::function<void(const BenchReport& plan)>;

// In this process, whatever `processes` says. Call it before anything else has used CUDA, so that others on the GPU can
// be told from this process.
BenchOutcome run_bench_here(const BenchSettings& settings, const std::vector<std::string>& command_line,
                            const BenchHooks& hooks, const CheckPlan& check_plan);

// In as many processes as the settings say, each with weights, inputs and an order of its own, drawn by `seed` plus its
// number; their reports are combined (bench_here.h). One that fails, or a signal, ends the benchmark with what there
// is. `arguments` go to each process besides its settings. UserError as of run_child.
BenchOutcome run_bench_in_processes(const BenchSettings& settings, const std::vector<std::string>& command_line,
                                    const BenchHooks& hooks, const CheckPlan& check_plan,
                                    const std::vector<std::string>& arguments);

// Such a process prints each state of its report to stdout, on a line of its own behind this.
inline constexpr std::string_view kReportMark = "bench report: ";

}  // namespace rnnlab
