// SPDX-License-Identifier: Apache-2.0
#include "runs/report/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <ranges>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "results/comparison_output.h"
#include "results/device_scaling.h"
#include "results/loss_agreement.h"
#include "results/run_folder.h"
#include "results/waiting.h"

namespace rnnlab::report {
namespace {

std::string gpu_text(const GpuInfo& gpu) {
  return fmt::format("{}, {} % in use, SM clock {} of {} MHz, {} C", gpu.name, gpu.utilization_percent,
                     gpu.sm_clock_mhz, gpu.max_sm_clock_mhz, gpu.temperature_celsius);
}

std::string gpus_text(const GpuSurvey& survey) {
  std::vector<std::string> gpus;
  for (const GpuInfo& gpu : survey.gpus) gpus.push_back(gpu_text(gpu));
  return gpus.empty() ? "no GPU: " + survey.note : join(gpus, "; ");
}

std::string build_text(const BuildInfo& build) { return build_kind(build) + ", " + build.compiler; }

std::string cpu_text(const CpuInfo& cpu) {
  return fmt::format("{}, {} of {} logical CPUs usable", cpu.model, cpu.usable_cpus, cpu.logical_cpus);
}

std::string load_text(const CpuInfo& cpu) {
  std::vector<std::string> averages;
  for (const double average : cpu.load_average) averages.push_back(fmt::format("{:.2f}", average));
  return fmt::format("{:.0f} % busy at the start, load {}", 100 * cpu.busy_fraction, join(averages, " "));
}

using Facts = std::vector<std::pair<std::string, std::string>>;

void append(Facts& facts, const Facts& more) { facts.insert(facts.end(), more.begin(), more.end()); }

// Members that make_report.h has emptied, because they name the machine and its user, are left out.
Facts machine_facts(const Environment& environment) {
  Facts facts = {{"started", environment.start_time}};
  const HostInfo& host = environment.host;
  if (!environment.command_line.empty()) facts.emplace_back("command", command_text(environment.command_line));
  if (!host.hostname.empty()) facts.emplace_back("host", host.hostname);
  append(facts, {{"system", host.os + (host.kernel.empty() ? "" : ", " + host.kernel)},
                 {"memory", format_bytes(host.memory_bytes)},
                 {"CPU", cpu_text(environment.cpu)},
                 {"CPU load", load_text(environment.cpu)},
                 {"threads", std::to_string(environment.num_threads)},
                 {"GPU", gpus_text(environment.nvidia)},
                 {"NVIDIA driver", environment.nvidia.driver_version},
                 {"LibTorch", environment.software.libtorch},
                 {"CUDA", environment.software.cuda},
                 {"cuDNN", environment.software.cudnn},
                 {"rnnlab", environment.software.rnnlab + ", " + rnnlab::conditions_of(environment).sources},
                 {"build", build_text(environment.build)}});
  return facts;
}

// Returns the process and the round of a run. Facts that the run does not record are left out.
Facts turn_facts(const Turn& turn) {
  Facts facts;
  if (!turn.process.empty()) facts.emplace_back("process", turn.process);
  if (turn.round > 0)
    facts.emplace_back("round",
                       fmt::format("{} of measurement {}, place {}", turn.round, turn.measurement, turn.position));
  return facts;
}

// Facts of a run of several processes.
Facts rank_facts(const RunRecord& run) {
  if (!run.environment.ranks) return {};
  const RanksInfo& ranks = *run.environment.ranks;
  Facts facts = {{"devices", fmt::format("{} on {} by {}", counted(ranks.num_processes, "process"),
                                         counted(ranks.num_hosts, "host"), ranks.exchange)}};
  if (const auto share = exchange_share(run.rows))
    facts.emplace_back("exchange that is not overlapped", fmt::format("{:.1f} % of an epoch (median)", 100 * *share));
  if (const auto quotient = slowest_over_fastest(run.rows))
    facts.emplace_back("slowest process",
                       fmt::format("computes {:.1f} % longer than the fastest (median)", 100 * (*quotient - 1)));
  return facts;
}

// A fact with its value in each run; nothing if the run does not have it.
struct Fact {
  std::string name;
  std::vector<std::optional<std::string>> values;

  bool is_shared() const {
    return std::ranges::all_of(values, [&](const auto& value) { return value && value == values[0]; });
  }
};

// Returns the facts of all runs, in the order of their first appearance.
std::vector<Fact> facts_by_name(const std::vector<RunFacts>& runs) {
  std::vector<Fact> facts;
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < runs.size(); ++i)
    for (const auto& [name, value] : runs[i].values) {
      const auto [place, is_new] = places.emplace(name, facts.size());
      if (is_new) facts.push_back({name, std::vector<std::optional<std::string>>(runs.size())});
      facts[place->second].values[i] = value;
    }
  return facts;
}

}  // namespace

RunFacts environment_of(const RunRecord& run, const std::string& name) {
  const Identity& identity = run.summary.identity;
  constexpr size_t kDigitsShown = 12;
  Facts facts = {{"folder", run.folder.string()},
                 {"ended", run.summary.stop_reason},
                 {"epochs", std::to_string(run.summary.epochs)},
                 {"whole fit", format_seconds(run.summary.fit_seconds)},
                 {"whole run", format_seconds(run.summary.total_seconds)},
                 {"ran", run.summary.path}};
  append(facts, machine_facts(run.environment));
  append(facts, {{"precision", identity.precision},
                 {"data on", identity.placement},
                 {"data", identity.data_fingerprint.substr(0, kDigitsShown)},
                 {"model", identity.model_hash.substr(0, kDigitsShown)},
                 {"initial weights", identity.initial_weights_sha256.substr(0, kDigitsShown)},
                 {"order of the samples", identity.order_sha256.substr(0, kDigitsShown)},
                 {"training settings", identity.training_hash.substr(0, kDigitsShown)}});
  append(facts, turn_facts(run.summary.turn));
  append(facts, rank_facts(run));
  return {.run = name, .values = std::move(facts)};
}

RunFacts settings_of(const RunRecord& run, const std::string& name) {
  Facts values(run.config.begin(), run.config.end());
  values.insert(values.end(), run.own_cell.begin(), run.own_cell.end());
  return {.run = name, .values = std::move(values)};
}

namespace {

TextTable table_of(const Facts& facts, const std::string& what, const std::string& value) {
  TextTable table;
  table.add_column(what, Align::kLeft);
  table.add_column(value, Align::kLeft);
  for (const auto& [name, text] : facts) table.add_row({name, text});
  return table;
}

}  // namespace

TextTable machine_table(const Environment& environment) {
  return table_of(machine_facts(environment), "machine and build", "of all rows");
}

TextTable shared_facts(const std::vector<RunFacts>& runs, const std::string& what) {
  Facts shared;
  for (const Fact& fact : facts_by_name(runs))
    if (fact.is_shared()) shared.emplace_back(fact.name, *fact.values[0]);
  return table_of(shared, what, "of all runs");
}

TextTable differing_facts(const std::vector<RunFacts>& runs) {
  ColumnList<size_t> columns = {{"run", [&](size_t run) { return runs[run].run; }, Align::kLeft}};
  for (const Fact& fact : facts_by_name(runs))
    if (!fact.is_shared())
      columns.emplace_back(
          fact.name, [=](size_t run) { return fact.values[run].value_or("absent"); }, Align::kLeft);
  return table_of(columns, std::views::iota(size_t{0}, runs.size()));
}

void append_charts(std::vector<Block>& blocks, const std::string& heading, std::vector<Chart> charts) {
  charts = without_empty_charts(std::move(charts));
  if (charts.empty()) return;
  blocks.emplace_back(Heading{heading});
  for (Chart& chart : charts) blocks.emplace_back(std::move(chart));
}

void append_table(std::vector<Block>& blocks, NamedTable table) {
  if (!table.table.rows().empty() && table.table.columns().size() > 1) blocks.emplace_back(std::move(table));
}

void append_warnings(std::vector<Block>& blocks, const std::string& title, const std::vector<Warning>& warnings) {
  if (!warnings.empty()) blocks.emplace_back(Notice{Severity::kWarning, title, texts_of(warnings)});
}

namespace {

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

void append_device_speed(std::vector<Block>& blocks, const Comparison& comparison, const std::string& prefix) {
  const TextTable table = device_speed_table(comparison);
  if (table.rows().empty()) return;
  append_table(blocks, {prefix + "-devices", not_comparable(comparison) + "Speed-up by devices", table});
  blocks.emplace_back(Sentences{device_speed_legend()});
}

void append_costs(std::vector<Block>& blocks, const Comparison& comparison, const std::string& prefix) {
  const TextTable table = cost_table(comparison);
  if (table.rows().empty()) return;
  append_table(blocks, {prefix + "-cost", "What an epoch costs", table});
  blocks.emplace_back(Sentences{cost_legend(comparison)});
}

// Returns a row for each group: what it ran, why no faster path ran, and what its work took.
TextTable work_table(const Comparison& comparison) {
  using Group = const GroupResult&;
  const auto text_or_nothing = [](const std::string& text) { return text.empty() ? kNothing : text; };
  const ColumnList<GroupResult> columns = {
      {"run", &GroupResult::label, Align::kLeft},
      {"what ran", [=](Group g) { return text_or_nothing(join(g.paths, " and ")); }, Align::kLeft},
      {"why nothing faster ran", [=](Group g) { return text_or_nothing(join(g.path_notes, "; ")); }, Align::kLeft},
      {"train losses and those of the baseline",
       [](Group g) { return g.loss_agreement ? agreement_text(*g.loss_agreement) : kNothing; }, Align::kLeft},
      {"us a training sample", [](Group g) { return significant_digits(g.microseconds_per_sample, 4); }},
      {"s a whole fit", [](Group g) { return significant_digits(g.fit_seconds, 4); }}};
  return table_of(columns, comparison.groups);
}

std::vector<RunFacts> facts(const std::vector<RunGroup>& groups, RunFacts (*of)(const RunRecord&, const std::string&)) {
  std::vector<RunFacts> all;
  for (const RunGroup& group : groups) {
    const std::vector<std::string> names = run_names(group);
    for (size_t i = 0; i < group.runs.size(); ++i) all.push_back(of(*group.runs[i], names[i]));
  }
  return all;
}

void append_facts(std::vector<Block>& blocks, const std::vector<RunGroup>& groups, const Comparison& comparison,
                  const std::string& prefix) {
  const auto settings = facts(groups, settings_of);
  const auto environments = facts(groups, environment_of);
  blocks.emplace_back(Heading{"What ran, and where"});
  append_table(blocks, {prefix + "-work", "Paths and work", work_table(comparison)});
  append_table(blocks, {prefix + "-settings-that-differ", "Settings that differ", differing_facts(settings)});
  append_table(blocks, {prefix + "-machines-that-differ", "What else differs, run by run",
                        differing_facts(environments), Prominence::kFolded});
  append_table(blocks, {prefix + "-machine", "Machine, build and work that all runs share",
                        shared_facts(environments, "machine, build and work"), Prominence::kFolded});
  append_table(blocks, {prefix + "-settings", "Settings that all runs share", shared_facts(settings, "setting"),
                        Prominence::kFolded});
}

// Where two groups are compared, the answer at the top of the report says the rest.
Sentences opening_sentences(const Comparison& comparison) {
  std::vector<std::string> lines = headlines(comparison);
  if (comparison.forced.empty() && comparison.groups.size() == 2) lines.resize(1);
  return {lines};
}

bool is_about_quality(const Warning& warning) {
  return warning.kind == warning::kNotBetterThanBaseline || warning.kind == warning::kHighLoss;
}

}  // namespace

std::vector<Block> opening_notices(const Comparison& comparison, const std::string& name, Question question) {
  std::vector<Block> blocks;
  if (!comparison.forced.empty())
    blocks.emplace_back(Notice{Severity::kRefusal,
                               fmt::format("the runs of {} are not a fair comparison. `rnnlab compare` refuses these "
                                           "runs because they did not do the same work under the same conditions",
                                           name),
                               comparison.forced});
  if (!comparison.other_work.empty())
    blocks.emplace_back(Notice{
        Severity::kNote,
        num_of_same_work(comparison) > 1
            ? fmt::format("Some runs of {} did other work than the baseline, so their times are not compared with its",
                          name)
            : fmt::format(
                  "The runs of {} did different work, so their losses and metrics are compared, but not their times",
                  name),
        comparison.other_work});
  std::vector<Warning> of_quality, of_times;
  for (const Warning& warning : comparison.warnings)
    (is_about_quality(warning) ? of_quality : of_times).push_back(warning);
  append_warnings(blocks, fmt::format("the models of {} are not good", name), of_quality);
  if (question == Question::kTimes)
    append_warnings(blocks, fmt::format("the times of {} are not reliable", name), of_times);
  return blocks;
}

namespace {

std::vector<Warning> without_quality(const std::vector<Warning>& warnings) {
  std::vector<Warning> others;
  std::ranges::copy_if(warnings, std::back_inserter(others), [](const Warning& one) { return !is_about_quality(one); });
  return others;
}

}  // namespace

Section run_section(const std::vector<RunRecord>& runs, const Comparison& comparison, const std::string& heading,
                    const std::string& prefix, Question question) {
  const std::vector<RunGroup> groups = group_runs(runs);
  Section section = {.id = prefix, .heading = heading};
  std::vector<Block>& blocks = section.blocks;
  blocks.emplace_back(opening_sentences(comparison));
  if (question == Question::kQuality)
    append_warnings(blocks, "the times are not reliable", without_quality(comparison.warnings));
  append_table(blocks, {prefix + "-comparison", not_comparable(comparison) + "The comparison", time_table(comparison)});
  blocks.emplace_back(Sentences{comparison_legend(comparison)});
  append_table(blocks, {prefix + "-quality", "Losses and metrics", quality_table(comparison)});
  blocks.emplace_back(Sentences{{kQualityLegend}});
  append_device_speed(blocks, comparison, prefix);
  append_costs(blocks, comparison, prefix);
  if (!comparison.notes.empty()) blocks.emplace_back(Notice{Severity::kNote, "Notes", comparison.notes});
  append_charts(blocks, "Times", all_time_charts(groups, comparison, prefix));
  append_charts(blocks, "Losses and metrics", metric_curves(groups, prefix));
  append_facts(blocks, groups, comparison, prefix);
  return section;
}

}  // namespace rnnlab::report
