// SPDX-License-Identifier: Apache-2.0
#include "runs/report/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ranges>

#include "base/numbers.h"
#include "base/statistics.h"
#include "base/text.h"
#include "layers/layer_kind.h"
#include "results/comparison_output.h"
#include "results/environment.h"
#include "runs/bench/bench_report.h"
#include "runs/report/text.h"

namespace rnnlab::report {
namespace {

constexpr size_t kMostWaterfalls = 6;  // sizes; heat maps show more sizes

// Returns whether the layer adds one optimisation to the layer before it. The remaining layers are shown as whole
// times.
bool is_optimisation_step(const std::string& layer) {
  const auto kind = config::from_name<LayerKind>(layer);
  return kind && info_of(*kind).is_optimisation_step;
}

// The rows measured at one size.
struct Size {
  std::string label;  // "H 256 B 64", or "" if there is only one size
  std::vector<const BenchRow*> rows;
};

std::string size_label(const RowKey& key, const std::vector<KeyColumn>& varying) {
  RowKey nameless = key;
  nameless.layer.clear();
  nameless.persistent_form.clear();
  return std::string(trim(row_label(nameless, varying)));
}

std::vector<Size> sizes_of(const BenchReport& report) {
  const std::vector<KeyColumn> varying = varying_columns(keys_of(report.rows));
  std::vector<Size> sizes;
  for (const BenchRow& row : report.rows) {
    const std::string label = size_label(row.key, varying);
    auto found = std::ranges::find(sizes, label, &Size::label);
    if (found == sizes.end()) found = sizes.insert(sizes.end(), Size{label, {}});
    if (row.measurement) found->rows.push_back(&row);
  }
  return sizes;
}

struct PartText {
  const Part* part;
  const char* name;
};

const Part& kForward = kParts[0];
const Part& kTotal = kParts[3];

const std::array<PartText, 2> kShownParts = {{{&kForward, "forward pass"}, {&kTotal, "forward and backward pass"}}};

double milliseconds(const BenchRow& row, const Part& part) {
  return 1e3 * (row.measurement->seconds.*part.seconds).value;
}

// ---- waterfalls ----

std::vector<WaterfallStep> steps_of(const Size& size, const Part& part) {
  std::vector<WaterfallStep> steps;
  std::optional<double> last_step;
  for (const BenchRow* row : size.rows) {
    const double to = milliseconds(*row, part);
    if (!is_optimisation_step(row->key.layer_text()) || !last_step)
      steps.push_back({row->key.layer_text(), 0, to, StepKind::kWhole});
    else
      steps.push_back({row->key.layer_text(), *last_step, to, to <= *last_step ? StepKind::kGain : StepKind::kLoss});
    if (is_optimisation_step(row->key.layer_text())) last_step = to;
  }
  return steps;
}

std::string in_size(const Size& size) { return size.label.empty() ? "" : ", " + size.label; }

Chart waterfall(const Size& size, const PartText& shown, const std::string& prefix) {
  return {.id = fmt::format("{}-ladder-{}{}{}", prefix, shown.part->name, size.label.empty() ? "" : "-",
                            size.label.empty() ? "" : slug(size.label)),
          .title = fmt::format("The ladder, {}{}", shown.name, in_size(size)),
          .description =
              "Each step is the change from the previous step of the ladder; full bars are whole times: of the first "
              "layer, and of layers that are not steps of the ladder.",
          .data = Prominence::kFolded,
          .body = Waterfall{{.name = "time", .unit = "ms"}, steps_of(size, *shown.part)}};
}

bool has_ladder(const Size& size) {
  return std::ranges::count_if(size.rows,
                               [](const BenchRow* row) { return is_optimisation_step(row->key.layer_text()); }) > 1;
}

void add_waterfalls(std::vector<Chart>& charts, const std::vector<Size>& sizes, const std::string& prefix) {
  if (sizes.size() > kMostWaterfalls) return;
  for (const Size& size : sizes)
    if (has_ladder(size))
      for (const PartText& shown : kShownParts) charts.push_back(waterfall(size, shown, prefix));
}

// ---- bars ----

template <class Rows>
std::vector<std::string> layers_of(Rows&& rows) {
  std::vector<std::string> layers;
  for (const BenchRow& row : rows) add_once(layers, row.key.layer_text());
  return layers;
}

size_t position_of(const std::vector<std::string>& list, const std::string& item) {
  return static_cast<size_t>(std::ranges::find(list, item) - list.begin());
}

void add_bars(std::vector<Chart>& charts, const BenchReport& report, const std::string& prefix) {
  constexpr size_t kMostBars = 60;
  const std::vector<KeyColumn> varying = varying_columns(keys_of(report.rows));
  auto measured = report.rows | std::views::filter(is_measured);
  const std::vector<std::string> layers = layers_of(measured);  // only these have a colour, so that fewer share one
  for (const PartText& shown : kShownParts) {
    Bars bars = {{.name = "time", .unit = "ms"}, {}};
    for (const BenchRow& row : measured) {
      const Estimate& seconds = row.measurement->seconds.*shown.part->seconds;
      bars.bars.push_back({row_label(row.key, varying), 1e3 * seconds.value,
                           Interval{1e3 * seconds.low, 1e3 * seconds.high}, position_of(layers, row.key.layer_text())});
    }
    if (bars.bars.empty() || bars.bars.size() > kMostBars) continue;
    charts.push_back({.id = fmt::format("{}-times-{}", prefix, shown.part->name),
                      .title = fmt::format("Time of the {}", shown.name),
                      .description = "The whiskers are 95 % intervals. Less is faster.",
                      .body = std::move(bars)});
  }
}

// ---- heat maps ----

// The rows and columns of a map: the last size that varies is on the horizontal axis.
struct Grid {
  std::vector<KeyColumn> down;
  KeyColumn across;
};

std::string across_label(const Grid& grid, const RowKey& key) {
  const std::string text = grid.across.cell(key);
  return text.empty() ? grid.across.usual : text;
}

std::string down_label(const Grid& grid, const RowKey& key) {
  std::string label = size_label(key, grid.down);
  if (!label.empty()) return label;
  std::vector<std::string> usual_values;
  for (const KeyColumn& column : grid.down) usual_values.emplace_back(column.usual);
  return join(usual_values, " ");
}

// The map of the first layer shows times; the maps of the remaining layers show gains over the first layer.
std::optional<double> value_of(const BenchRow& row, const std::string& layer, const std::string& first) {
  if (row.key.layer_text() != layer || !row.measurement) return std::nullopt;
  if (layer == first) return milliseconds(row, kTotal);
  const auto& gain = row.measurement->speedup_total;
  return gain ? std::optional(gain->value) : std::nullopt;
}

void add_heat_map(std::vector<Chart>& charts, const BenchReport& report, const Grid& grid, const std::string& layer,
                  const std::string& prefix) {
  const std::string first = report.rows[0].key.layer_text();
  const bool is_first = layer == first;
  HeatMap axes = {
      .x = {.name = grid.across.heading},
      .y = {},
      .value = is_first ? Axis{.name = "forward and backward pass", .unit = "ms"} : Axis{.name = "gain over " + first}};
  for (const KeyColumn& column : grid.down) axes.y.name += (axes.y.name.empty() ? "" : " ") + column.heading;
  std::vector<MapValue> values;
  for (const BenchRow& row : report.rows)
    values.push_back({down_label(grid, row.key), across_label(grid, row.key), value_of(row, layer, first)});
  std::optional<HeatMap> map = with_values(std::move(axes), values);
  if (!map) return;
  charts.push_back(
      {.id = fmt::format("{}-sweep-{}", prefix, slug(layer)),
       .title = is_first ? fmt::format("The sweep: time of {}", layer) : fmt::format("The sweep: gain of {}", layer),
       .description = is_first ? "Forward and backward pass with weight gradients, in milliseconds."
                               : fmt::format("How many times as fast as {}, forward and backward pass with weight "
                                             "gradients. Empty: not measured.",
                                             first),
       .data = Prominence::kOpen,
       .body = *std::move(map)});
}

void add_heat_maps(std::vector<Chart>& charts, const BenchReport& report, const std::string& prefix) {
  std::vector<KeyColumn> varying = varying_columns(keys_of(report.rows));
  if (varying.size() < 2) return;
  const KeyColumn across = varying.back();
  varying.pop_back();
  for (const std::string& layer : layers_of(report.rows))
    add_heat_map(charts, report, {varying, across}, layer, prefix);
}

}  // namespace

std::vector<Chart> bench_charts(const BenchReport& report, const std::string& prefix) {
  std::vector<Chart> charts;
  add_waterfalls(charts, sizes_of(report), prefix);
  add_heat_maps(charts, report, prefix);
  add_bars(charts, report, prefix);
  return charts;
}

namespace {

// Returns a row for each layer and path: what it ran, and why nothing faster ran.
TextTable paths_table(const BenchReport& report) {
  TextTable table;
  for (const char* heading : {"layer", "what ran", "why nothing faster ran"}) table.add_column(heading, Align::kLeft);
  std::vector<std::string> known;
  for (const BenchRow& row : report.rows) {
    if (row.path.empty()) continue;
    const std::vector<std::string> cells = {row.key.layer_text(), row.path,
                                            row.path_notes.empty() ? "-" : join(row.path_notes, "; ")};
    const size_t num_known = known.size();
    add_once(known, join(cells, "\n"));
    if (known.size() > num_known) table.add_row(cells);
  }
  return table;
}

TextTable settings_table(const std::string& settings) {
  TextTable table;
  table.add_column("settings", Align::kLeft);
  for (const std::string& line : split(settings, '\n'))
    if (!line.empty()) table.add_row({line});
  return table;
}

}  // namespace

namespace {

// The gains of one layer over the first layer, forward and backward, at all sizes.
struct Gains {
  std::string layer;
  std::vector<Estimate> at_sizes;
};

double mean_gain(const Gains& gains) {
  std::vector<double> values;
  for (const Estimate& gain : gains.at_sizes) values.push_back(gain.value);
  return geometric_mean(values);
}

std::vector<Gains> gains_of(const BenchReport& report) {
  std::vector<Gains> all;
  for (const std::string& layer : layers_of(report.rows)) {
    Gains gains = {layer, {}};
    for (const BenchRow& row : report.rows)
      if (row.key.layer_text() == layer && row.measurement && row.measurement->speedup_total)
        gains.at_sizes.push_back(*row.measurement->speedup_total);
    if (!gains.at_sizes.empty()) all.push_back(std::move(gains));
  }
  return all;
}

// Returns the number of sizes at which a layer was measured, for the layer with the most.
size_t most_sizes(const std::vector<Gains>& all) {
  size_t most = 0;
  for (const Gains& gains : all) most = std::max(most, gains.at_sizes.size());
  return most;
}

std::string range_words(const Gains& gains, const std::string& first) {
  if (gains.at_sizes.size() == 1) {
    const Estimate& gain = gains.at_sizes[0];
    return fmt::format("{:.3g} times as fast as {}{}", gain.value, first, interval_in_words(gain.low, gain.high));
  }
  const auto [low, high] = std::ranges::minmax_element(gains.at_sizes, {}, &Estimate::value);
  return fmt::format("{:.3g} to {:.3g} times as fast as {} at {} sizes", low->value, high->value, first,
                     gains.at_sizes.size());
}

// A layer that was measured at few of the sizes is not compared with the others.
std::string sentence_of(const BenchReport& report) {
  std::vector<Gains> all = gains_of(report);
  const size_t most = most_sizes(all);
  std::erase_if(all, [&](const Gains& gains) { return gains.at_sizes.size() < most; });
  if (all.empty()) return "No layer was compared with the first one.";
  const std::string first = report.rows[0].key.layer_text();
  const Gains& best = *std::ranges::max_element(all, {}, mean_gain);
  if (best.layer == first) return first + " is the fastest layer, forward and backward pass.";
  return fmt::format("{} is {}, forward and backward pass.", best.layer, range_words(best, first));
}

}  // namespace

Answer answer_of(const Benchmark& benchmark) {
  const BenchReport& report = benchmark.report;
  constexpr size_t kDay = 10;  // characters of "2026-11-21"
  const std::string work = report.rows.empty() ? "" : "; " + shared_text(keys_of(report.rows));
  return {sentence_of(report), fmt::format("{}; {}{}", machine_text(report.environment, report.environment.nvidia.gpus),
                                           report.environment.start_time.substr(0, kDay), work)};
}

std::vector<Block> opening_notices(const Benchmark& benchmark) {
  std::vector<Warning> all = benchmark.report.warnings;
  for (const Warning& warning : warnings(benchmark.report.environment)) add_once(all, warning);
  for (const Warning& warning : report_warnings(benchmark.report)) add_once(all, warning);
  std::vector<Block> blocks;
  append_warnings(blocks, "numbers of " + benchmark.file + " are missing or not reliable", all);
  return blocks;
}

Section bench_section(const Benchmark& benchmark, const std::string& prefix) {
  const BenchReport& report = benchmark.report;
  Section section = {.id = prefix, .heading = "Benchmark " + benchmark.file};
  std::vector<Block>& blocks = section.blocks;
  Sentences opening;
  if (!report.rows.empty()) opening.lines.push_back("All rows: " + shared_text(keys_of(report.rows)) + ".");
  for (const std::string& ceiling : report_ceilings(report)) opening.lines.push_back(ceiling);
  if (!opening.lines.empty()) blocks.emplace_back(opening);
  blocks.emplace_back(NamedTable{prefix + "-rows", "Layers", report_table(report, TableWidth::kNarrow)});
  blocks.emplace_back(Sentences{report_legend(report)});
  append_charts(blocks, "Times and gains", bench_charts(report, prefix));
  blocks.emplace_back(Heading{"What ran"});
  append_table(blocks, {prefix + "-paths", "Paths of the layers", paths_table(report)});
  append_table(blocks,
               {prefix + "-machine", "Machine and build", machine_table(report.environment), Prominence::kFolded});
  blocks.emplace_back(NamedTable{prefix + "-settings", "Settings of the benchmark", settings_table(report.settings),
                                 Prominence::kFolded});
  return section;
}

}  // namespace rnnlab::report
