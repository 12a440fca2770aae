#include "report/bench_section.h"

#include <fmt/format.h>

#include "base/numbers.h"
#include "base/text.h"
#include "bench/report_text.h"
#include "bench/row_text.h"
#include "report/bench_charts.h"
#include "results/environment.h"

namespace rnnlab::report {
namespace {

std::vector<std::string> machine_lines(const Environment& environment) {
  std::vector<std::string> gpus;
  for (const GpuInfo& gpu : environment.nvidia.gpus) gpus.push_back(gpu.name);
  return {fmt::format("Measured {} on {} with {}, {}.", environment.start_time, environment.cpu.model,
                      counted(environment.num_threads, "thread"),
                      gpus.empty() ? "no GPU" : join(gpus, ", ") + ", driver " + environment.nvidia.driver_version),
          fmt::format("rnnlab {} ({}), LibTorch {}, CUDA {}, cuDNN {}.", environment.software.rnnlab,
                      build_kind(environment.build), environment.software.libtorch, environment.software.cuda,
                      environment.software.cudnn)};
}

TextTable settings_table(const std::string& settings) {
  TextTable table;
  table.add_column("settings", Align::kLeft);
  for (const std::string& line : split(settings, '\n'))
    if (!line.empty()) table.add_row({line});
  return table;
}

}  // namespace

std::vector<Block> alarms(const Benchmark& benchmark) {
  std::vector<Warning> all = benchmark.report.warnings;
  for (const Warning& warning : warnings(benchmark.report.environment)) add_once(all, warning);
  for (const Warning& doubt : report_doubts(benchmark.report)) add_once(all, doubt);
  if (all.empty()) return {};
  return {
      Notice{Severity::kWarning, benchmark.file + ": what is missing or makes these numbers doubtful", texts_of(all)}};
}

Section bench_section(const Benchmark& benchmark, const std::string& prefix) {
  const BenchReport& report = benchmark.report;
  Section section = {.id = prefix, .heading = "Benchmark " + benchmark.file, .blocks = {}};
  std::vector<Block>& blocks = section.blocks;
  Sentences opening = {machine_lines(report.environment)};
  if (!report.rows.empty()) opening.lines.push_back("All rows: " + shared_text(report.rows) + ".");
  for (const std::string& ceiling : report_ceilings(report)) opening.lines.push_back(ceiling);
  blocks.emplace_back(opening);
  blocks.emplace_back(NamedTable{prefix + "-rows", "Layers", report_table(report, TableWidth::kNarrow)});
  blocks.emplace_back(Sentences{report_legend(report)});
  std::vector<Chart> charts = with_something_to_draw(bench_charts(report, prefix));
  if (!charts.empty()) blocks.emplace_back(Heading{"Times and gains"});
  for (Chart& chart : charts) blocks.emplace_back(std::move(chart));
  blocks.emplace_back(Heading{"What ran"});
  blocks.emplace_back(Sentences{report_paths(report, TableWidth::kNarrow)});
  blocks.emplace_back(NamedTable{prefix + "-settings", "Settings of the benchmark", settings_table(report.settings),
                                 Prominence::kFolded});
  return section;
}

}  // namespace rnnlab::report
