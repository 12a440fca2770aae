// SPDX-License-Identifier: Apache-2.0
#include "results/ranking.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/config/sweep.h"
#include "base/error.h"
#include "base/numbers.h"
#include "base/statistics.h"
#include "base/system/json_fields.h"
#include "base/system/terminal.h"
#include "base/text.h"
#include "results/checks.h"
#include "results/epoch_table.h"
#include "results/run_folder.h"
#include "results/work_settings.h"

namespace rnnlab {
namespace {

// ---- which runs belong together ----

bool has_own_column(const std::string& key) { return key == "name" || is_choice_of_run(key); }

std::string layer_of(const RunRecord& run) {
  return other_program(run).empty() ? run.summary.layer : other_program(run);
}

// Runs of one row share everything but the seed and the machine.
bool is_of_one_row(const RunRecord& a, const RunRecord& b) {
  if (a.summary.name != b.summary.name || a.summary.device != b.summary.device || layer_of(a) != layer_of(b))
    return false;
  for (const auto* config : {&a.config, &b.config})
    for (const auto& [key, value] : *config)
      if (!has_own_column(key) && !is_same_setting(key, a.config, b.config)) return false;
  return true;
}

using Groups = std::vector<RunGroup>;

bool is_counted(const Groups& groups, const RunRecord& run) {
  return std::ranges::any_of(groups, [&](const RunGroup& group) {
    return std::ranges::any_of(group.runs, [&](const RunRecord* other) { return is_copy(*other, run); });
  });
}

Groups groups_of_one_work(const std::vector<RunRecord>& runs, int64_t& num_copies) {
  Groups groups;
  for (const RunRecord* run : in_order_of_sweeps(runs)) {
    if (is_counted(groups, *run)) {
      ++num_copies;
      continue;
    }
    auto found =
        std::ranges::find_if(groups, [&](const RunGroup& group) { return is_of_one_row(*group.runs[0], *run); });
    if (found == groups.end()) found = groups.emplace(groups.end());
    found->runs.push_back(run);
  }
  return groups;
}

std::vector<std::string> keys_that_differ(const Groups& groups) {
  std::set<std::string> keys;
  const auto& first = groups[0].runs[0]->config;
  for (const RunGroup& group : groups)
    for (const auto* one : {&group.runs[0]->config, &first})
      for (const auto& [key, value] : *one)
        if (!has_own_column(key) && !is_same_setting(key, group.runs[0]->config, first)) keys.insert(key);
  return {keys.begin(), keys.end()};
}

// ---- the numbers of a row ----

// Returns nothing if a value is NaN, or if there are none.
std::vector<double> comparable(const std::vector<double>& values) {
  const bool has_nan = std::ranges::any_of(values, [](double value) { return std::isnan(value); });
  return has_nan ? std::vector<double>() : values;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// Of a sample: the sum of squares is divided by one less than their number.
std::optional<double> standard_deviation_of(const std::vector<double>& values) {
  if (values.size() < 2) return std::nullopt;
  const double mean = mean_of(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

std::optional<double> median_of(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional(median(values));
}

double train_seconds_until(const RunRecord& run, const EpochRow& last) {
  double seconds = 0;
  for (const EpochRow& row : run.rows)
    if (row.epoch <= last.epoch) seconds += row.train_seconds;
  return seconds;
}

void add_numbers(RankedRuns& ranked, const RunGroup& group, const std::string& metric) {
  std::vector<double> values, epochs, epoch_seconds, train_seconds;
  for (const RunRecord* run : group.runs) {
    if (const auto& time = run->summary.epoch_time) epoch_seconds.push_back(time->median_seconds);
    const auto value = value_at_best(*run, metric);
    if (!value) continue;
    const EpochRow& best = *best_epoch_of(*run);
    values.push_back(*value);
    epochs.push_back(static_cast<double>(best.epoch));
    train_seconds.push_back(train_seconds_until(*run, best));
  }
  ranked.epoch_seconds = median_of(epoch_seconds);
  values = comparable(values);
  if (values.empty()) return;
  ranked.mean = mean_of(values);
  if (std::ranges::max(ranked.seeds) > std::ranges::min(ranked.seeds))
    ranked.standard_deviation = standard_deviation_of(values);
  ranked.best = is_larger_better(metric) ? std::ranges::max(values) : std::ranges::min(values);
  ranked.best_epoch = median_of(epochs);
  ranked.train_seconds = median_of(train_seconds);
}

RankedRuns ranked_runs(const RunGroup& group, const std::vector<std::string>& keys, const std::string& metric) {
  const RunRecord& first = *group.runs[0];
  RankedRuns ranked{.name = first.summary.name,
                    .device = first.summary.device,
                    .layer = layer_of(first),
                    .settings = {},
                    .folders = {},
                    .seeds = seeds(group),
                    .ended = ending_text(group),
                    .mean = {},
                    .standard_deviation = {},
                    .best = {},
                    .best_epoch = {},
                    .epoch_seconds = {},
                    .train_seconds = {}};
  for (const std::string& key : keys)
    if (const auto value = first.config.find(key); value != first.config.end())
      ranked.settings[key] = setting_without_folders(value->second);
  for (const RunRecord* run : group.runs) ranked.folders.push_back(run->folder.string());
  add_numbers(ranked, group, metric);
  return ranked;
}

bool is_ranked_before(const RankedRuns& a, const RankedRuns& b, const std::string& metric) {
  if (!a.mean || !b.mean) return a.mean.has_value() && !b.mean.has_value();
  return is_better(metric, *a.mean, *b.mean);
}

// ---- what the table rests on ----

std::vector<std::string> metrics_in(const std::vector<RunRecord>& runs) {
  std::vector<std::string> names;
  for (const EpochColumn& column : epoch_columns()) {
    const auto has_it = [&](const RunRecord& run) { return value_at_best(run, column.name).has_value(); };
    if (column.role == ColumnRole::kMetric && std::ranges::any_of(runs, has_it)) names.push_back(column.name);
  }
  return names;
}

std::string metric_for(const std::vector<RunRecord>& runs, const std::string& wanted) {
  const std::vector<std::string> there = metrics_in(runs);
  if (there.empty()) throw_error(ExitCode::kUsage, "none of {} has a whole epoch", counted(std::ssize(runs), "run"));
  if (!wanted.empty() && !std::ranges::count(there, wanted))
    throw_error(ExitCode::kUsage, "--by: got {}, expected {}{}", in_quotes(wanted), join_with_or(there),
                did_you_mean(wanted, there));
  if (!wanted.empty()) return wanted;
  for (const RunRecord& run : runs)
    if (const EpochRow* best = best_epoch_of(run)) return own_metric(metrics_of(*best));
  return there.front();
}

std::string data_note(const std::vector<RunRecord>& runs) {
  std::set<std::string> fingerprints;
  for (const RunRecord& run : runs) fingerprints.insert(run.summary.identity.data_fingerprint);
  if (fingerprints.size() < 2) return "";
  return fmt::format(
      "these runs have {} different sets of data, so their values are not of the same validation samples",
      fingerprints.size());
}

std::string missing_note(const Ranking& ranking) {
  const auto count =
      std::ranges::count_if(ranking.ranks, [](const RankedRuns& ranked) { return !ranked.mean.has_value(); });
  return count == 0 ? ""
                    : fmt::format("{} without {}: last, and without a rank", counted(count, "row"), ranking.metric);
}

void add_baselines(Ranking& ranking, const std::vector<RunRecord>& runs) {
  std::set<std::string> texts;
  for (const RunRecord& run : runs)
    for (const Baseline& baseline : run.summary.baselines)
      if (baseline.metrics.contains(ranking.metric) && texts.insert(baseline_text(baseline)).second)
        ranking.baselines.push_back(baseline);
}

}  // namespace

std::optional<double> value_at_best(const RunRecord& run, const std::string& metric) {
  const EpochRow* best = best_epoch_of(run);
  return best == nullptr ? std::nullopt : metric_in(*best, metric);
}

Ranking rank(const std::vector<RunRecord>& runs, const std::string& metric) {
  if (runs.empty()) throw_error(ExitCode::kUsage, "no runs to rank: name at least one run folder");
  int64_t num_copies = 0;
  const Groups groups = groups_of_one_work(runs, num_copies);
  Ranking ranking;
  ranking.metric = metric_for(runs, metric);
  ranking.settings = keys_that_differ(groups);
  for (const RunGroup& group : groups) ranking.ranks.push_back(ranked_runs(group, ranking.settings, ranking.metric));
  std::ranges::stable_sort(
      ranking.ranks, [&](const RankedRuns& a, const RankedRuns& b) { return is_ranked_before(a, b, ranking.metric); });
  add_baselines(ranking, runs);
  add_once(ranking.notes, data_note(runs));
  add_once(ranking.notes, missing_note(ranking));
  if (num_copies > 0)
    ranking.notes.push_back(
        fmt::format("{} left out, because a copied folder is not a second run", counted(num_copies, "folder")));
  return ranking;
}

// ---- output ----

namespace {

constexpr const char* kAbsent = "-";

const EpochColumn& column_of(const std::string& metric) { return *find_column(metric); }

std::string number_cell(const ColumnFormat& format, const std::optional<double>& value) {
  return value ? number_text(format, *value) : kAbsent;
}

// Returns the format for a member of all rows; `heading` replaces that of the column of the log.
ColumnFormat format_of(const Ranking& ranking, const EpochColumn& column, std::string_view heading,
                       std::optional<double> RankedRuns::*member) {
  EpochColumn renamed = column;
  renamed.heading = heading;
  std::vector<double> values;
  for (const RankedRuns& ranked : ranking.ranks)
    if (const auto& value = ranked.*member) values.push_back(*value);
  return column_format(renamed, values);
}

std::string run_cell(const RankedRuns& ranked) {
  const std::string label = ranked.device + " " + ranked.layer;
  return ranked.ended == "complete" ? label : fmt::format("{} ({})", label, ranked.ended);
}

bool have_several_names(const Ranking& ranking) {
  return std::ranges::any_of(ranking.ranks,
                             [&](const RankedRuns& ranked) { return ranked.name != ranking.ranks[0].name; });
}

std::string setting_cell(const RankedRuns& ranked, const std::string& key) {
  const auto value = ranked.settings.find(key);
  return value == ranked.settings.end() || value->second.empty() ? kAbsent : value->second;
}

// Settings of the model and of training tell more than those of the data and of the machine.
int importance_of(const std::string& key) {
  if (key.starts_with("model.")) return 0;
  if (key.starts_with("training.")) return 1;
  return key.starts_with("data.") ? 2 : 3;
}

// Returns how many different rows the settings make.
size_t num_distinct_rows(const Ranking& ranking, const std::vector<std::string>& keys) {
  std::set<std::vector<std::string>> rows;
  for (const RankedRuns& ranked : ranking.ranks) {
    std::vector<std::string> row = {ranked.name, ranked.device, ranked.layer};
    for (const std::string& key : keys) row.push_back(setting_cell(ranked, key));
    rows.insert(std::move(row));
  }
  return rows.size();
}

struct ShownSettings {
  std::vector<std::string> keys;
  size_t num_telling = 0;  // how many of the first ones tell rows apart
};

// A terminal has room for a few settings; --csv and --json have all of them. Returns those that tell the most rows
// apart, one after the other, and then the most important of the others.
ShownSettings shown_settings(const Ranking& ranking) {
  constexpr size_t kMost = 6;
  std::vector<std::string> left = ranking.settings, shown;
  std::ranges::stable_sort(left, {}, importance_of);
  while (!left.empty() && shown.size() < kMost && num_distinct_rows(ranking, shown) < ranking.ranks.size()) {
    const auto rows_with = [&](const std::string& key) {
      std::vector<std::string> keys = shown;
      keys.push_back(key);
      return num_distinct_rows(ranking, keys);
    };
    const auto best = std::ranges::max_element(left, {}, rows_with);
    if (rows_with(*best) == num_distinct_rows(ranking, shown)) break;
    shown.push_back(*best);
    left.erase(best);
  }
  const size_t num_telling = shown.size();
  for (auto next = left.begin(); next != left.end() && shown.size() < kMost; ++next) shown.push_back(*next);
  return {std::move(shown), num_telling};
}

// Returns the last part of a key, or the whole key if the last parts of two are equal. The values of training.stop_at
// keep its name, because they are called like metrics.
std::string short_key(const std::string& key, const std::vector<std::string>& keys) {
  constexpr std::string_view kStopAt = "training.stop_at.", kTraining = "training.";
  if (key.starts_with(kStopAt)) return key.substr(kTraining.size());
  const auto is_alike = [&](const std::string& other) { return config::last_part(other) == config::last_part(key); };
  return std::ranges::count_if(keys, is_alike) == 1 ? config::last_part(key) : key;
}

TextTable table_of(const Ranking& ranking, const std::vector<std::string>& keys) {
  const bool has_names = have_several_names(ranking);
  TextTable table;
  table.add_column("#", Align::kRight);
  if (has_names) table.add_column("name", Align::kLeft);
  table.add_column("run", Align::kLeft);
  for (const std::string& key : keys) table.add_column(short_key(key, keys), Align::kLeft);
  table.add_column("seeds", Align::kLeft);
  const EpochColumn& metric = column_of(ranking.metric);
  const ColumnFormat mean = format_of(ranking, metric, metric.heading, &RankedRuns::mean);
  const ColumnFormat seconds = format_of(ranking, column_of("train_seconds"), "epoch", &RankedRuns::epoch_seconds);
  for (const std::string& heading : {mean.heading, std::string("spread"), std::string("best epoch"), seconds.heading})
    table.add_column(heading, Align::kRight);
  for (const RankedRuns& ranked : ranking.ranks) {
    std::vector<std::string> cells = {ranked.mean ? std::to_string(table.rows().size() + 1) : kAbsent};
    if (has_names) cells.push_back(ranked.name);
    cells.push_back(run_cell(ranked));
    for (const std::string& key : keys) cells.push_back(setting_cell(ranked, key));
    cells.push_back(fmt::format("{}", fmt::join(ranked.seeds, ",")));
    cells.push_back(number_cell(mean, ranked.mean));
    cells.push_back(number_cell(mean, ranked.standard_deviation));
    cells.push_back(ranked.best_epoch ? fmt::format("{}", *ranked.best_epoch) : kAbsent);
    cells.push_back(number_cell(seconds, ranked.epoch_seconds));
    table.add_row(std::move(cells));
  }
  return table;
}

// The settings that tell no rows apart are the least important columns, then those behind the metric and the seeds, and
// at last the settings that tell the fewest rows apart.
FittedTable fitted_table_of(const Ranking& ranking, const ShownSettings& settings, size_t width) {
  const size_t num_settings = settings.keys.size();
  const size_t first_setting = have_several_names(ranking) ? 3 : 2;
  const size_t seeds = first_setting + num_settings, spread = seeds + 2, best_epoch = seeds + 3, seconds = seeds + 4;
  std::vector<size_t> least_important;
  for (size_t i = num_settings; i > settings.num_telling; --i) least_important.push_back(first_setting + i - 1);
  for (const size_t column : {seconds, best_epoch, seeds, spread}) least_important.push_back(column);
  for (size_t i = settings.num_telling; i > 0; --i) least_important.push_back(first_setting + i - 1);
  return table_of(ranking, settings.keys).fitted(width, least_important);
}

std::vector<std::string> legend_of(const Ranking& ranking, size_t num_shown) {
  std::vector<std::string> lines = {fmt::format(
      "{}: of each run's best epoch, the mean over its runs; spread: their standard deviation.", ranking.metric)};
  lines.emplace_back("epoch: training time of the median epoch, without comparison: `rnnlab compare` compares times.");
  const size_t num_hidden = ranking.settings.size() - num_shown;
  if (num_hidden > 0)
    lines.push_back(
        fmt::format("{} more differ; --csv has all of them.", counted(static_cast<int64_t>(num_hidden), "setting")));
  for (const Baseline& baseline : ranking.baselines) lines.push_back("without a model, " + baseline_text(baseline));
  for (const std::string& note : ranking.notes) lines.push_back("note: " + note);
  return lines;
}

std::string csv_cell(const std::optional<double>& value) { return value ? format_shortest(*value) : ""; }

}  // namespace

std::string ranking_text(const Ranking& ranking, size_t width) {
  const ShownSettings settings = shown_settings(ranking);
  const FittedTable fitted = fitted_table_of(ranking, settings, width);
  const std::vector<std::string> legend = legend_of(ranking, settings.keys.size());
  return without_controls(fitted.table.text() + "\n" + fitted.note("--csv") + join(legend, "\n") + "\n");
}

std::string ranking_csv(const Ranking& ranking) {
  std::vector<std::string> header = {"rank", "name", "device", "layer"};
  header.insert(header.end(), ranking.settings.begin(), ranking.settings.end());
  for (const char* name : {"seeds", "num_runs", "ended", "metric", "mean", "standard_deviation", "best", "best_epoch",
                           "epoch_seconds", "train_seconds", "folders"})
    header.emplace_back(name);
  std::string text = csv_line(header);
  int64_t place = 0;
  for (const RankedRuns& ranked : ranking.ranks) {
    const std::string rank = ranked.mean ? std::to_string(++place) : "";
    std::vector<std::string> cells = {rank, ranked.name, ranked.device, ranked.layer};
    for (const std::string& key : ranking.settings)
      cells.push_back(ranked.settings.contains(key) ? ranked.settings.at(key) : "");
    for (const std::string& cell :
         {fmt::format("{}", fmt::join(ranked.seeds, " ")), std::to_string(ranked.folders.size()), ranked.ended,
          ranking.metric, csv_cell(ranked.mean), csv_cell(ranked.standard_deviation), csv_cell(ranked.best),
          csv_cell(ranked.best_epoch), csv_cell(ranked.epoch_seconds), csv_cell(ranked.train_seconds),
          join(ranked.folders, "; ")})
      cells.push_back(cell);
    text += csv_line(cells);
  }
  return text;
}

std::string ranking_json(const Ranking& ranking) { return json_text(to_json(ranking)); }

}  // namespace rnnlab
