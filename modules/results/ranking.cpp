// SPDX-License-Identifier: Apache-2.0
#include "results/ranking.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <ranges>
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

// Runs of one row share everything but the seed, the fold and the machine.
bool is_of_one_row(const RunRecord& a, const RunRecord& b) {
  if (a.summary.name != b.summary.name || a.summary.device != b.summary.device || layer_of(a) != layer_of(b))
    return false;
  return std::ranges::all_of(unequal_settings(a.config, b.config),
                             [](const std::string& key) { return key == kFoldKey || is_choice_of_run(key); });
}

// ---- the numbers of a row ----

// Returns nothing if a value is NaN, or if there are none.
std::vector<double> comparable(const std::vector<double>& values) {
  const bool has_nan = std::ranges::any_of(values, [](double value) { return std::isnan(value); });
  return has_nan ? std::vector<double>() : values;
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

// A mean over runs would weigh the folds by their numbers of runs.
void add_means(RankedRuns& ranked, const std::vector<RunValue>& runs) {
  std::vector<double> values;
  ranked.folds = values_of_folds(runs);
  for (const FoldValue& fold : ranked.folds) values.push_back(fold.mean);
  if (!ranked.folds.empty()) {
    ranked.seed_deviation = standard_deviation(means_of_seeds(runs, ranked.folds));
    ranked.baselines = baselines_over_folds(runs);
  } else {
    for (const RunValue& run : runs) values.push_back(run.value);
  }
  ranked.mean = arithmetic_mean(values);
  const bool may_differ = !ranked.folds.empty() || std::ranges::max(ranked.seeds) > std::ranges::min(ranked.seeds);
  if (may_differ) ranked.standard_deviation = standard_deviation(values);
}

void add_numbers(RankedRuns& ranked, const RunGroup& group, const std::string& metric) {
  std::vector<RunValue> runs;
  std::vector<double> values, epochs, epoch_seconds, train_seconds;
  for (const RunRecord* run : group.runs) {
    if (const auto& time = run->summary.epoch_time) epoch_seconds.push_back(time->median_seconds);
    const auto value = value_at_best(*run, metric);
    if (!value) continue;
    const EpochRow& best = *best_epoch_of(*run);
    runs.push_back({run, *value});
    values.push_back(*value);
    epochs.push_back(static_cast<double>(best.epoch));
    train_seconds.push_back(train_seconds_until(*run, best));
  }
  ranked.epoch_seconds = median_of(epoch_seconds);
  values = comparable(values);
  if (values.empty()) return;
  add_means(ranked, runs);
  ranked.best = is_larger_better(metric) ? std::ranges::max(values) : std::ranges::min(values);
  ranked.best_epoch = median_of(epochs);
  ranked.train_seconds = median_of(train_seconds);
}

RankedRuns ranked_runs(const RunGroup& group, const std::vector<std::string>& keys, const std::string& metric) {
  const RunRecord& first = *group.runs[0];
  RankedRuns ranked{.name = first.summary.name,
                    .device = first.summary.device,
                    .layer = layer_of(first),
                    .seeds = seeds(group),
                    .ended = ending_text(group),
                    .num_folds = num_folds(first)};
  for (const std::string& key : keys)
    if (const auto value = first.config.find(key); value != first.config.end())
      ranked.settings[key] = setting_without_folders(value->second);
  for (const RunRecord* run : group.runs) ranked.folders.push_back(run->folder.string());
  add_numbers(ranked, group, metric);
  return ranked;
}

bool is_whole(const RankedRuns& ranked) { return ranked.mean && ranked.missing_folds.empty(); }

bool is_ranked_before(const RankedRuns& a, const RankedRuns& b, const std::string& metric) {
  if (is_whole(a) != is_whole(b)) return is_whole(a);
  if (!a.mean || !b.mean) return a.mean.has_value() && !b.mean.has_value();
  return is_better(metric, *a.mean, *b.mean);
}

// A mean over fewer folds is one over other data.
void find_missing_folds(std::vector<RankedRuns>& ranks) {
  std::map<int64_t, std::set<int64_t>> known;  // by the number of folds
  for (const RankedRuns& ranked : ranks)
    for (const FoldValue& fold : ranked.folds) known[ranked.num_folds].insert(fold.fold);
  for (RankedRuns& ranked : ranks)
    for (const int64_t fold : known[ranked.num_folds])
      if (ranked.mean && !std::ranges::count(ranked.folds, fold, &FoldValue::fold))
        ranked.missing_folds.push_back(fold);
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

// Runs of different folds are of different data on purpose.
std::string data_note(const std::vector<RunRecord>& runs) {
  std::map<int64_t, std::set<std::string>> fingerprints;  // by the fold
  size_t most = 0;
  for (const RunRecord& run : runs) {
    std::set<std::string>& of_fold = fingerprints[fold_of(run).value_or(0)];
    of_fold.insert(run.summary.identity.data_fingerprint);
    most = std::max(most, of_fold.size());
  }
  if (fingerprints.size() > 1 && fingerprints.contains(0))
    return "some of these runs are of a fold (data.folds) and some are not, so their values are not of the same "
           "validation samples";
  if (most < 2) return "";
  return fmt::format(
      "these runs have {} different sets of data{}, so their values are not of the same validation samples", most,
      has_folds(runs) ? " in a fold" : "");
}

std::string fold_list(const std::vector<int64_t>& folds) {
  return fmt::format("fold{} {}", folds.size() == 1 ? "" : "s", fmt::join(folds, ", "));
}

std::string missing_folds_note(const Ranking& ranking) {
  const auto lacks_some = [](const RankedRuns& ranked) { return !ranked.missing_folds.empty(); };
  const auto count = std::ranges::count_if(ranking.ranks, lacks_some);
  if (count == 0) return "";
  const RankedRuns& first = *std::ranges::find_if(ranking.ranks, lacks_some);
  return fmt::format("{} without folds that others have, such as {} of {}: after the others, and without a rank",
                     counted(count, "row"), fold_list(first.missing_folds), first.num_folds);
}

// Returns a note if no row has all folds.
std::string unfinished_note(const Ranking& ranking) {
  for (const RankedRuns& ranked : ranking.ranks)
    if (ranked.missing_folds.empty() && !ranked.folds.empty() && std::ssize(ranked.folds) < ranked.num_folds)
      return fmt::format("the back-test is not complete: no run of {} of {} folds has ended with {}",
                         ranked.num_folds - std::ssize(ranked.folds), ranked.num_folds, ranking.metric);
  return "";
}

std::string missing_note(const Ranking& ranking) {
  const auto count =
      std::ranges::count_if(ranking.ranks, [](const RankedRuns& ranked) { return !ranked.mean.has_value(); });
  return count == 0 ? ""
                    : fmt::format("{} without {}: last, and without a rank", counted(count, "row"), ranking.metric);
}

void add_baselines(Ranking& ranking, const std::vector<RunRecord>& runs) {
  for (const RankedRuns& ranked : ranking.ranks | std::views::filter(is_whole))
    for (const Baseline& baseline : ranked.baselines)
      if (baseline.metrics.contains(ranking.metric)) add_once(ranking.baselines, baseline);
  for (const RunRecord& run : runs | std::views::filter([](const RunRecord& one) { return !fold_of(one); }))
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
  std::erase(ranking.settings, kFoldKey);
  for (const RunGroup& group : groups) ranking.ranks.push_back(ranked_runs(group, ranking.settings, ranking.metric));
  find_missing_folds(ranking.ranks);
  std::ranges::stable_sort(
      ranking.ranks, [&](const RankedRuns& a, const RankedRuns& b) { return is_ranked_before(a, b, ranking.metric); });
  add_baselines(ranking, runs);
  add_once(ranking.notes, data_note(runs));
  for (const std::string& note : {missing_note(ranking), missing_folds_note(ranking), unfinished_note(ranking)})
    add_once(ranking.notes, note);
  if (num_copies > 0)
    ranking.notes.push_back(
        fmt::format("{} left out, because a copied folder is not a second run", counted(num_copies, "folder")));
  return ranking;
}

std::optional<Ranking> rank_folds(const std::vector<RunRecord>& runs) {
  std::vector<RunRecord> of_folds;
  std::ranges::copy_if(runs, std::back_inserter(of_folds), [](const RunRecord& run) { return !!fold_of(run); });
  return metrics_in(of_folds).empty() ? std::nullopt : std::optional(rank(of_folds));
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
  return is_whole(ranked) ? std::optional(std::to_string(&ranked - ranking.ranks.data() + 1)) : std::nullopt;
}

std::string setting_cell(const RankedRuns& ranked, const std::string& key) {
  const auto value = ranked.settings.find(key);
  return value == ranked.settings.end() || value->second.empty() ? kNothing : value->second;
}

bool has_folds(const Ranking& ranking) {
  return std::ranges::any_of(ranking.ranks, [](const RankedRuns& ranked) { return !ranked.folds.empty(); });
}

// Returns "4 of 5".
std::string folds_cell(const RankedRuns& ranked) {
  return ranked.num_folds == 0 ? kNothing : fmt::format("{} of {}", ranked.folds.size(), ranked.num_folds);
}

// Returns the value of the best prediction without a model, as a mean over the folds.
std::optional<double> baseline_value(const RankedRuns& ranked, const std::string& metric) {
  const Baseline* best = best_baseline(ranked.baselines, metric);
  return best == nullptr ? std::nullopt : std::optional(best->metrics.at(metric));
}

std::string baseline_name(const RankedRuns& ranked, const std::string& metric) {
  const Baseline* best = best_baseline(ranked.baselines, metric);
  return best == nullptr ? "" : best->name;
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

// The folds are the columns behind the metric that a narrow table loses first.
void add_columns_of_folds(ColumnList<RankedRuns>& columns, const Ranking& ranking, const ColumnFormat& format) {
  using Ranked = const RankedRuns&;
  constexpr int kSeedSpread = 103, kFolds = 105, kBaseline = 106;
  append(
      columns,
      {{"seed spread", [=](Ranked r) { return number_cell(format, r.seed_deviation); }, Align::kRight, kSeedSpread},
       {"no model", [=, metric = ranking.metric](Ranked r) { return number_cell(format, baseline_value(r, metric)); },
        Align::kRight, kBaseline},
       {"folds", folds_cell, Align::kLeft, kFolds}});
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
  append(columns, {{"seeds", [](Ranked r) { return fmt::format("{}", fmt::join(r.seeds, ",")); }, Align::kLeft, kSeeds},
                   {mean.heading, [=](Ranked r) { return number_cell(mean, r.mean); }},
                   {"spread", [=](Ranked r) { return number_cell(mean, r.standard_deviation); }, kRight, kSpread}});
  if (has_folds(ranking)) add_columns_of_folds(columns, ranking, mean);
  append(columns,
         {{"best epoch", [](Ranked r) { return r.best_epoch ? fmt::format("{}", *r.best_epoch) : kNothing; }, kRight,
           kBestEpoch},
          {seconds.heading, [=](Ranked r) { return number_cell(seconds, r.epoch_seconds); }, kRight, kSeconds}});
  return columns;
}

std::vector<std::string> legend_of_means(const Ranking& ranking) {
  std::vector<std::string> lines;
  if (std::ranges::any_of(ranking.ranks, [](const RankedRuns& ranked) { return ranked.num_folds == 0; }))
    lines.push_back(fmt::format(
        "{}: of each run's best epoch, the mean over its runs; spread: their standard deviation.", ranking.metric));
  if (!has_folds(ranking)) return lines;
  lines.push_back(
      fmt::format("{}: of each run's best epoch, the mean over the folds, of each the mean over its runs; "
                  "spread: the standard deviation over the folds.",
                  ranking.metric));
  lines.emplace_back(
      "seed spread: the standard deviation over the seeds, of each seed's mean over the folds; no model: the best "
      "prediction without a model, the mean over the folds.");
  return lines;
}

std::vector<std::string> legend_of(const Ranking& ranking, size_t num_shown) {
  std::vector<std::string> lines = legend_of_means(ranking);
  lines.emplace_back("epoch: training time of the median epoch, without comparison: `rnnlab compare` compares times.");
  const size_t num_hidden = ranking.settings.size() - num_shown;
  if (num_hidden > 0)
    lines.push_back(
        fmt::format("{} more differ; --csv has all of them.", counted(static_cast<int64_t>(num_hidden), "setting")));
  const char* const without_model = has_folds(ranking) ? "without a model, over the folds: " : "without a model, ";
  for (const Baseline& baseline : ranking.baselines) lines.push_back(without_model + baseline_text(baseline));
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

namespace {

// A column for each fold, so that a spreadsheet has the values of which the others are means.
void add_csv_of_folds(ColumnList<RankedRuns>& columns, const Ranking& ranking) {
  using Ranked = const RankedRuns&;
  add_fields(columns, {"num_folds", "missing_folds", "seed_deviation"});
  columns.emplace_back("baseline", [&](Ranked ranked) { return baseline_name(ranked, ranking.metric); });
  columns.emplace_back("baseline_mean", [&](Ranked ranked) { return baseline_value(ranked, ranking.metric); });
  std::set<int64_t> folds;
  for (const RankedRuns& ranked : ranking.ranks)
    for (const FoldValue& one : ranked.folds) folds.insert(one.fold);
  for (const int64_t fold : folds)
    columns.emplace_back(fmt::format("fold_{}", fold), [=](Ranked ranked) {
      const auto found = std::ranges::find(ranked.folds, fold, &FoldValue::fold);
      return found == ranked.folds.end() ? std::nullopt : std::optional(found->mean);
    });
}

}  // namespace

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
  if (has_folds(ranking)) add_csv_of_folds(columns, ranking);
  return csv_of(columns, ranking.ranks);
}

std::string ranking_json(const Ranking& ranking) { return json_text(to_json(ranking)); }

}  // namespace rnnlab
