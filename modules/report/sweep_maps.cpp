#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "config/dotted_key.h"
#include "report/run_charts.h"
#include "results/config_values.h"

namespace rnnlab::report {
namespace {

constexpr size_t kMostKeys = 3;

std::string setting(const RunGroup& group, const std::string& key) {
  return value_or_absent(group.runs[0]->config, key);
}

// "cpu fused batch_size 64": what tells the rows of the map apart. Its axes have the whole keys.
std::string row_of(const RunGroup& group, const std::vector<std::string>& keys) {
  std::string row = group.runs[0]->summary.device + " " + group.runs[0]->summary.layer;
  for (const std::string& key : keys) row += fmt::format(" {} {}", config::last_part(key), setting(group, key));
  return row;
}

// ", the geometric mean of 5 processes' medians" or "of 3 to 5"; "" where one process measured each cell.
std::string pooled_text(const Comparison& comparison) {
  std::vector<int64_t> counts;
  for (const GroupResult& group : comparison.groups)
    if (group.seconds) counts.push_back(group.num_processes);
  if (counts.empty() || std::ranges::max(counts) == 1) return "";
  const auto [least, most] = std::ranges::minmax(counts);
  const std::string fewer = least == most ? "" : fmt::format("{} to ", least);
  return fmt::format(", the geometric mean of {}{} processes' medians", fewer, most);
}

}  // namespace

std::vector<Chart> sweep_maps(const std::vector<RunGroup>& groups, const Comparison& comparison,
                              const std::string& prefix) {
  std::vector<std::string> row_keys = differing_settings(groups);
  if (row_keys.empty() || row_keys.size() > kMostKeys) return {};
  const std::string column_key = row_keys.back();
  row_keys.pop_back();
  HeatMap map = {.x = {.name = column_key, .unit = ""},
                 .y = {.name = "device layer", .unit = ""},
                 .value = {.name = "training time of an epoch", .unit = "s"},
                 .columns = {},
                 .rows = {},
                 .cells = {}};
  for (const std::string& key : row_keys) map.y.name += " " + key;
  for (const RunGroup& group : groups) {
    add_once(map.columns, setting(group, column_key));
    add_once(map.rows, row_of(group, row_keys));
  }
  if (map.columns.size() < 2 || map.rows.size() < 2) return {};
  map.cells.assign(map.rows.size(), std::vector<std::optional<double>>(map.columns.size()));
  for (size_t i = 0; i < groups.size(); ++i) {
    std::optional<double>& cell = cell_of(map, row_of(groups[i], row_keys), setting(groups[i], column_key));
    if (cell) return {};  // they differ in more than their settings, by machine or revision, say
    cell = comparison.groups[i].seconds;
  }
  return {{.id = prefix + "-sweep",
           .title = "The sweep: seconds of an epoch" + pooled_text(comparison),
           .description = fmt::format("The training time of an epoch over {}. Less is faster.", column_key),
           .data = Prominence::kOpen,
           .body = std::move(map)}};
}

}  // namespace rnnlab::report
