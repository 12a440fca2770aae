#include "report/run_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "report/headlines.h"
#include "report/run_charts.h"
#include "report/run_facts.h"
#include "results/comparison_text.h"
#include "results/devices_text.h"

namespace rnnlab::report {
namespace {

void append_charts(std::vector<Block>& blocks, const std::string& heading, std::vector<Chart> charts) {
  charts = with_something_to_draw(std::move(charts));
  if (charts.empty()) return;
  blocks.emplace_back(Heading{heading});
  for (Chart& chart : charts) blocks.emplace_back(std::move(chart));
}

void append_to(std::vector<Chart>& charts, std::vector<Chart> more) {
  std::ranges::move(more, std::back_inserter(charts));
}

std::vector<Chart> all_time_charts(const std::vector<RunGroup>& groups, const Comparison& comparison,
                                   const std::string& prefix) {
  std::vector<Chart> charts = time_bars(comparison, prefix);
  append_to(charts, speed_up_curves(comparison, prefix));
  append_to(charts, sweep_maps(groups, comparison, prefix));
  append_to(charts, time_curves(groups, prefix));
  return charts;
}

void append_table(std::vector<Block>& blocks, NamedTable table) {
  if (!table.table.rows().empty() && table.table.columns().size() > 1) blocks.emplace_back(std::move(table));
}

void append_device_speed(std::vector<Block>& blocks, const Comparison& comparison, const std::string& prefix) {
  const TextTable table = device_speed_table(comparison);
  if (table.rows().empty()) return;
  append_table(blocks, {prefix + "-devices", not_comparable(comparison) + "Speed-up by devices", table});
  blocks.emplace_back(Sentences{device_speed_legend()});
}

// "cpu fused ran oneDNN rnn ref (training)", and why nothing faster did.
Sentences paths(const Comparison& comparison) {
  Sentences paths;
  for (const GroupResult& group : comparison.groups) {
    if (group.paths.empty()) continue;
    const std::string reasons = group.path_notes.empty() ? "" : ": " + join(group.path_notes, "; ");
    paths.lines.push_back(fmt::format("{} ran {}{}", group.label, join(group.paths, " and "), reasons));
  }
  return paths;
}

std::vector<RunFacts> facts(const std::vector<RunGroup>& groups, RunFacts (*of)(const RunRecord&, const std::string&)) {
  std::vector<RunFacts> all;
  for (const RunGroup& group : groups) {
    const std::vector<std::string> names = run_names(group);
    for (size_t i = 0; i < group.runs.size(); ++i) all.push_back(of(*group.runs[i], names[i]));
  }
  return all;
}

void append_facts(std::vector<Block>& blocks, const std::vector<RunGroup>& groups, const std::string& prefix) {
  const auto settings = facts(groups, settings_of);
  const auto environments = facts(groups, environment_of);
  blocks.emplace_back(Heading{"Settings and machines"});
  append_table(blocks, {prefix + "-settings-that-differ", "Settings that differ", differing_facts(settings)});
  append_table(blocks, {prefix + "-machines-that-differ", "What else differs, run by run",
                        differing_facts(environments), Prominence::kFolded});
  append_table(blocks, {prefix + "-machine", "Machine, build and work that all runs share",
                        shared_facts(environments, "machine, build and work"), Prominence::kFolded});
  append_table(blocks, {prefix + "-settings", "Settings that all runs share", shared_facts(settings, "setting"),
                        Prominence::kFolded});
}

}  // namespace

std::vector<Block> alarms(const Comparison& comparison, const std::string& name) {
  std::vector<Block> blocks;
  if (!comparison.forced.empty())
    blocks.emplace_back(Notice{Severity::kRefusal,
                               name +
                                   ": not a fair comparison. `rnnlab compare` refuses these runs, for they did not do "
                                   "the same work under the same conditions",
                               comparison.forced});
  if (!comparison.warnings.empty())
    blocks.emplace_back(
        Notice{Severity::kWarning, name + ": what makes these numbers doubtful", texts_of(comparison.warnings)});
  return blocks;
}

Section run_section(const std::vector<RunRecord>& runs, const Comparison& comparison, const std::string& heading,
                    const std::string& prefix) {
  const std::vector<RunGroup> groups = group_runs(runs);
  Section section = {.id = prefix, .heading = heading, .blocks = {}};
  std::vector<Block>& blocks = section.blocks;
  blocks.emplace_back(Sentences{headlines(comparison)});
  append_table(blocks,
               {prefix + "-comparison", not_comparable(comparison) + "The comparison", comparison_table(comparison)});
  blocks.emplace_back(Sentences{comparison_legend(comparison)});
  append_device_speed(blocks, comparison, prefix);
  if (!comparison.notes.empty())
    blocks.emplace_back(Notice{Severity::kNote, "Notes on this comparison", comparison.notes});
  append_charts(blocks, "Times", all_time_charts(groups, comparison, prefix));
  append_charts(blocks, "Losses and metrics", metric_curves(groups, prefix));
  blocks.emplace_back(Heading{"What ran"});
  blocks.emplace_back(Sentences{comparison_work(comparison)});
  blocks.emplace_back(paths(comparison));
  append_facts(blocks, groups, prefix);
  return section;
}

}  // namespace rnnlab::report
