// SPDX-License-Identifier: Apache-2.0
#include "results/ranking.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/numbers.h"
#include "base/statistics.h"
#include "base/system/json_fields.h"
#include "base/text.h"
#include "results/checks.h"
#include "results/epoch_table.h"
#include "results/run_folder.h"
#include "results/table.h"
#include "results/work_settings.h"

namespace rnnlab {
namespace {

// ---- which runs belong together ----

std::string layer_of(const RunRecord& run) {
  return other_program(run).empty() ? run.summary.layer : other_program(run);
}

// Runs of one row share everything but the seed and the machine.
bool is_of_one_row(const RunRecord& a, const RunRecord& b) {
  if (a.summary.name != b.summary.name || a.summary.device != b.summary.device || layer_of(a) != layer_of(b))
    return false;
  return std::ranges::all_of(unequal_settings(a.config, b.config), is_choice_of_run);
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
    const bool is_goal = column.role == ColumnRole::kMetric && find_metric(column.name)->is_goal;
    if (is_goal && std::ranges::any_of(runs, has_it)) names.push_back(column.name);
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
    if (const EpochRow* best = best_epoch_of(run)) return own_metric(metrics_in_row(*best));
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
  for (const RunRecord& run : runs)
    for (const Baseline& baseline : run.summary.baselines)
      if (baseline.metrics.contains(ranking.metric)) add_once(ranking.baselines, baseline);
}

}  // namespace

std::optional<double> value_at_best(const RunRecord& run, const std::string& metric) {
  const EpochRow* best = best_epoch_of(run);
  return best == nullptr ? std::nullopt : metric_in(*best, metric);
}

Ranking rank(const std::vector<RunRecord>& runs, const std::string& metric) {
  if (runs.empty()) throw_error(ExitCode::kUsage, "no runs to rank: name at least one run folder");
  const std::vector<RunGroup> groups =
      group_by(runs, [](const RunGroup& group, const RunRecord& run) { return is_of_one_row(*group.runs[0], run); });
  int64_t num_copies = 0;
  for (const RunGroup& group : groups) num_copies += std::ssize(group.copies);
  Ranking ranking;
  ranking.metric = metric_for(runs, metric);
  ranking.settings = unequal_settings(groups);
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

std::string number_cell(const ColumnFormat& format, const std::optional<double>& value) {
  return value ? number_text(format, *value) : kNothing;
}

// Returns the format for a member of all rows.
ColumnFormat format_of(const Ranking& ranking, const EpochColumn& column, const std::string& heading,
                       std::optional<double> RankedRuns::*member) {
  std::vector<double> values;
  for (const RankedRuns& ranked : ranking.ranks)
    if (const auto& value = ranked.*member) values.push_back(*value);
  return column_format(column.kind, heading, values);
}

std::string run_cell(const RankedRuns& ranked) {
  const std::string label = ranked.device + " " + ranked.layer;
  return ranked.ended == "complete" ? label : fmt::format("{} ({})", label, ranked.ended);
}

// Returns the number of the row; nothing if it has no value.
std::optional<std::string> place_of(const RankedRuns& ranked, const Ranking& ranking) {
  return ranked.mean ? std::optional(std::to_string(&ranked - ranking.ranks.data() + 1)) : std::nullopt;
}

std::string setting_cell(const RankedRuns& ranked, const std::string& key) {
  const auto value = ranked.settings.find(key);
  return value == ranked.settings.end() || value->second.empty() ? kNothing : value->second;
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

// The values of training.stop_at keep its name, because they are called like metrics.
std::string heading_of_key(const std::string& key, const std::vector<std::string>& keys) {
  constexpr std::string_view kStopAt = "training.stop_at.", kTraining = "training.";
  if (key.starts_with(kStopAt)) return key.substr(kTraining.size());
  return short_key(key, keys);
}

// The settings that tell no rows apart are the least important columns, then those behind the metric and the seeds, and
// at last the settings that tell the fewest rows apart.
void add_settings(ColumnList<RankedRuns>& columns, const ShownSettings& settings) {
  constexpr int kMostSettings = 100;
  for (size_t i = 0; i < settings.keys.size(); ++i) {
    const std::string& key = settings.keys[i];
    const int left_out = (i < settings.num_telling ? 2 : 1) * kMostSettings - static_cast<int>(i);
    columns.emplace_back(
        heading_of_key(key, settings.keys), [=](const RankedRuns& ranked) { return setting_cell(ranked, key); },
        Align::kLeft, left_out);
  }
}

ColumnList<RankedRuns> columns_of(const Ranking& ranking, const ShownSettings& settings) {
  using Ranked = const RankedRuns&;
  constexpr Align kRight = Align::kRight;
  constexpr int kSeconds = 101, kBestEpoch = 102, kSeeds = 103, kSpread = 104;  // between both kinds of settings
  const EpochColumn& metric = *find_column(ranking.metric);
  const ColumnFormat mean = format_of(ranking, metric, metric.heading, &RankedRuns::mean);
  const ColumnFormat seconds = format_of(ranking, *find_column("train_seconds"), "epoch", &RankedRuns::epoch_seconds);
  const Column<RankedRuns> name = {"name", &RankedRuns::name, Align::kLeft};
  ColumnList<RankedRuns> columns = {{"#", [&](Ranked r) { return place_of(r, ranking).value_or(kNothing); }}};
  if (!is_equal_in_all(name, ranking.ranks)) columns.push_back(name);
  columns.emplace_back("run", run_cell, Align::kLeft);
  add_settings(columns, settings);
  append(columns,
         {{"seeds", [](Ranked r) { return fmt::format("{}", fmt::join(r.seeds, ",")); }, Align::kLeft, kSeeds},
          {mean.heading, [=](Ranked r) { return number_cell(mean, r.mean); }},
          {"spread", [=](Ranked r) { return number_cell(mean, r.standard_deviation); }, kRight, kSpread},
          {"best epoch", [](Ranked r) { return r.best_epoch ? fmt::format("{}", *r.best_epoch) : kNothing; }, kRight,
           kBestEpoch},
          {seconds.heading, [=](Ranked r) { return number_cell(seconds, r.epoch_seconds); }, kRight, kSeconds}});
  return columns;
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

}  // namespace

std::string ranking_text(const Ranking& ranking, size_t width) {
  const ShownSettings settings = shown_settings(ranking);
  const FittedTable fitted = fitted_table(columns_of(ranking, settings), ranking.ranks, width);
  const std::vector<std::string> legend = legend_of(ranking, settings.keys.size());
  return without_controls(fitted.table.text() + "\n" + fitted.note("--csv") + join(legend, "\n") + "\n");
}

std::string ranking_csv(const Ranking& ranking) {
  using Ranked = const RankedRuns&;
  ColumnList<RankedRuns> columns = {{"rank", [&](Ranked ranked) { return place_of(ranked, ranking); }}};
  add_fields(columns, {"name", "device", "layer"});
  for (const std::string& key : ranking.settings)
    columns.emplace_back(key, [=](Ranked r) { return r.settings.contains(key) ? r.settings.at(key) : ""; });
  add_fields(columns, {"seeds"});
  columns.emplace_back("num_runs", [](Ranked ranked) { return ranked.folders.size(); });
  add_fields(columns, {"ended"});
  columns.emplace_back("metric", [&](Ranked) { return ranking.metric; });
  add_fields(columns,
             {"mean", "standard_deviation", "best", "best_epoch", "epoch_seconds", "train_seconds", "folders"});
  return csv_of(columns, ranking.ranks);
}

std::string ranking_json(const Ranking& ranking) { return json_text(to_json(ranking)); }

}  // namespace rnnlab
