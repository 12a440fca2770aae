// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "data/csv_part.h"

namespace rnnlab {
namespace {

// Returns whether a column is listed twice, and complains.
bool refuse_duplicates(const char* key, const std::vector<std::string>& names, config::Checker& checker) {
  std::unordered_set<std::string_view> seen;
  for (const std::string& name : names) {
    if (seen.insert(name).second) continue;
    checker.complain({key}, fmt::format("{} is listed twice: remove one of the two", in_quotes(name)));
    return true;
  }
  return false;
}

void check_target(const DataSettings& settings, config::Checker& checker) {
  if (settings.target.empty()) {
    checker.complain({"source", "target"}, "source csv needs target, the column to predict");
  }
  refuse_duplicates("features", settings.features, checker);
  const bool classes = csv_task(settings) == Task::kClassification;
  if (!refuse_duplicates("target", settings.target, checker) && classes && settings.target.size() > 1) {
    checker.complain({"target", "task", "window"},
                     "a classification has one target column; for several numbers use task: regression");
  }
}

void check_features(const DataSettings& settings, config::Checker& checker) {
  for (const std::string& name : settings.target) {
    const bool may_be_both = settings.window > 0 && !has_target_per_step(settings);
    if (may_be_both || !is_listed(settings.features, name)) continue;
    checker.complain({"features", "target"},
                     fmt::format("{} is both a feature and a target: remove it from features", in_quotes(name)));
  }
}

void check_id(const DataSettings& settings, config::Checker& checker) {
  if (refuse_duplicates("id", settings.id, checker)) return;
  for (const std::string& name : settings.id) {
    if (is_listed(settings.target, name))
      checker.complain({"id", "target"},
                       fmt::format("{} is both an id and a target: remove it from one of the two", in_quotes(name)));
  }
}

void check_group(const DataSettings& settings, config::Checker& checker) {
  if (settings.group.empty()) return;
  if (settings.window == 0 && !has_target_per_step(settings))
    checker.complain({"group", "window"},
                     "only series have a group: set window too, or target_per: step for a target in each row");
  if (settings.num_train && !has_target_per_step(settings))
    checker.complain({"group", "num_train"}, "training has all windows of the series: remove num_train");
  if (settings.num_valid.value_or(0) > 0 && has_valid_files(settings) && !has_target_per_step(settings))
    checker.complain({"group", "num_valid", "valid_file"},
                     "validation has all windows of the series in its file: remove num_valid");
  if (is_listed(settings.features, settings.group) || is_listed(settings.target, settings.group))
    checker.complain({"group", "features", "target"}, "the column of the series is neither a feature nor a target");
}

// A target at every step has no horizon at all, which check_sequences says.
void check_order_of_horizons(const DataSettings& settings, config::Checker& checker) {
  if (has_target_per_step(settings)) return;
  if (std::ranges::adjacent_find(settings.horizon, std::greater_equal()) != settings.horizon.end())
    checker.complain({"horizon"}, "several horizons are in ascending order, each once");
}

void check_changes(const DataSettings& settings, config::Checker& checker) {
  if (!are_changes(settings)) return;
  if (settings.window == 0)
    checker.complain({"target_as", "window"}, "a change is one from a value of the window: set window too");
  if (csv_task(settings) != Task::kRegression)
    checker.complain({"target_as", "task"}, "only numbers change: use task: regression");
  if (settings.target_as == TargetAs::kSeasonalChange && (!settings.season || *settings.season > settings.window))
    checker.complain({"target_as", "season", "window"},
                     "the window must have the values of one season before its targets: set season, and a window of at "
                     "least as many rows");
}

// check_sequences has the checks for a target at every step.
void check_windows(const DataSettings& settings, config::Checker& checker) {
  if (has_target_per_step(settings)) return;
  if (settings.horizon != std::vector<int64_t>{1} && settings.window == 0) {
    checker.complain({"horizon", "window"}, "a horizon is counted from the end of a window: set window too");
  }
  if (settings.horizon.size() > 1 && csv_task(settings) == Task::kClassification)
    checker.complain({"horizon", "task"}, "a classification has one horizon; for several use task: regression");
  if (settings.season && settings.window == 0)
    checker.complain({"season", "window"}, "only a series has a season: set window too");
  if (settings.window > 0 && settings.split == Split::kRandom) {
    checker.complain({"split", "window"},
                     "windows overlap, so a random split would put values of validation into training: use ordered");
  }
  check_changes(settings, checker);
  if (settings.inputs_from && settings.window == 0)
    checker.complain({"inputs_from", "window"}, "only a window reads rows before its target: set window too");
}

// Otherwise a value of validation would be copied into a row of training, or the other way round.
void check_previous(const DataSettings& settings, config::Checker& checker) {
  const bool has_series = settings.window > 0 || !settings.group.empty() || has_target_per_step(settings);
  if (settings.missing != MissingPolicy::kPrevious || has_series) return;
  if (split_request(settings).how != Split::kRandom) return;
  checker.complain({"missing", "split"},
                   "a random split gives neighbouring rows to different parts, and previous copies values from one to "
                   "the other: use drop, mean or zero, or split: ordered");
}

void check_categories(const DataSettings& settings, config::Checker& checker) {
  if (settings.categories.empty()) return;
  if (settings.normalize == Normalization::kColumnMinMax)
    checker.complain({"categories", "normalize"}, "categories are not scaled: use standard, minmax or none");
  if (refuse_duplicates("categories", settings.categories, checker)) return;
  for (const std::string& name : settings.categories)
    for (const auto& [key, names] : {std::pair("features", &settings.features), std::pair("target", &settings.target)})
      if (is_listed(*names, name))
        checker.complain({"categories", key},
                         fmt::format("{} is in both: remove it from one of the two", in_quotes(name)));
}

void check_steps_of_categories(const DataSettings& settings, config::Checker& checker) {
  if (settings.categories.empty() || settings.window > 0 || has_target_per_step(settings)) return;
  checker.complain({"categories", "window"},
                   "the columns of such a row are steps, and a category is a part of a step: set window");
}

// A row of a sequence has its own target, so nothing is forecast.
void check_sequences(const DataSettings& settings, config::Checker& checker) {
  if (!has_target_per_step(settings)) return;
  if (settings.window == 0 && settings.group.empty())
    checker.complain({"target_per", "group", "window"},
                     "the rows make one endless sequence: name the column of the sequences in group, or set window");
  for (const auto& [key, is_set] : {std::pair("horizon", settings.horizon != std::vector<int64_t>{1}),
                                    {"season", settings.season.has_value()},
                                    {"target_as", are_changes(settings)}})
    if (is_set)
      checker.complain({"target_per", key}, fmt::format("the target of a step is in its own row: remove {}", key));
  if (settings.inputs_from)
    checker.complain({"target_per", "inputs_from"}, "the sequences do not overlap: remove inputs_from");
}

// Returns whether a value that says what the rows are was refused. Rules about rows would compare with the default.
bool is_meaning_of_rows_unknown(const config::Checker& checker) {
  return checker.has_finding("window") || checker.has_finding("group") || checker.has_finding("target_per");
}

// What a key says must not be without an effect.
void check_time(const DataSettings& settings, config::Checker& checker) {
  const bool is_target = is_listed(settings.target, settings.time);
  if (!settings.time.empty() && (is_target || settings.time == settings.group))
    checker.complain({"time", is_target ? "target" : "group"},
                     fmt::format("{} is both: remove it from one of the two", in_quotes(settings.time)));
  if (!settings.time.empty() && !uses_order(settings))
    checker.complain(
        {"time", "window"},
        "the rows are independent samples, whose times do not matter: name the column in id, or set window");
  if (settings.unsorted != Unsorted::kError && !uses_order(settings))
    checker.complain({"unsorted", "window"}, "the order of independent rows does not matter: remove unsorted");
  if (has_series(settings)) return;
  if (settings.duplicates != Duplicates::kError)
    checker.complain({"duplicates", "window"}, "only series have times that repeat: remove duplicates, or set window");
  if (settings.gaps != Gaps::kError)
    checker.complain({"gaps", "window"}, "only series have gaps: remove gaps, or set window");
  if (!settings.frequency.empty())
    checker.complain({"frequency", "window"}, "only series have steps in time: remove frequency, or set window");
}

void check_grid(const DataSettings& settings, config::Checker& checker) {
  if (!has_series(settings)) return;
  if (!settings.frequency.empty() && settings.gaps == Gaps::kIgnore)
    checker.complain(
        {"frequency", "gaps"},
        "ignore reads rows as if their times did not matter: remove frequency, or set gaps to error, split "
        "or fill");
  if (inserts_rows(settings) && settings.missing == MissingPolicy::kError)
    checker.complain(
        {"gaps", "missing"},
        "the rows that are inserted have neither inputs nor targets: set missing to previous, mean or zero, "
        "which says what their inputs are");
}

// These keys make inputs that column_minmax would scale within a sample.
void check_scaled_inputs(const DataSettings& settings, config::Checker& checker) {
  if (settings.normalize != Normalization::kColumnMinMax) return;
  for (const auto& [key, is_set] : {std::pair("gaps", has_series(settings) && settings.gaps == Gaps::kMask),
                                    {"static", !settings.static_features.empty()},
                                    {"known", !settings.known.empty()},
                                    {"calendar", !settings.calendar.empty()}})
    if (is_set)
      checker.complain({key, "normalize"},
                       "each input of a sample would be scaled by itself: use standard, minmax or none");
}

// A column of one key is not one of another key too. `what` says why.
void refuse_columns_of_others(const char* own_key, const std::vector<std::string>& own, std::string_view what,
                              const std::vector<std::pair<const char*, std::vector<std::string>>>& others,
                              config::Checker& checker) {
  for (const auto& [key, names] : others)
    for (const std::string& name : own)
      if (!name.empty() && is_listed(names, name))
        checker.complain({own_key, key},
                         fmt::format("{} is in both, but {}: remove it from one of the two", in_quotes(name), what));
}

void check_static(const DataSettings& settings, config::Checker& checker) {
  if (settings.static_features.empty()) return;
  if (settings.group.empty())
    checker.complain(
        {"static", "group"},
        "a number that is constant in the only series says nothing: name the column of the series in group");
  if (refuse_duplicates("static", settings.static_features, checker)) return;
  refuse_columns_of_others("static", settings.static_features,
                           "what is constant within a series is a column of numbers of its own",
                           {{"target", settings.target},
                            {"categories", settings.categories},
                            {"known", settings.known},
                            {"group", {settings.group}},
                            {"time", {settings.time}}},
                           checker);
}

void check_scales(const DataSettings& settings, config::Checker& checker) {
  if (settings.scale_by == ScaleBy::kFile) return;
  if (settings.window == 0 || has_target_per_step(settings))
    checker.complain({"scale_by", "window"},
                     "only forecasts from windows of a series have scales of their own: set window");
  if (settings.scale_by == ScaleBy::kSeries && settings.group.empty())
    checker.complain({"scale_by", "group"}, "the file is one series: name the column of the series in group");
  if (settings.normalize == Normalization::kNone || settings.normalize == Normalization::kColumnMinMax)
    checker.complain({"scale_by", "normalize"}, "nothing is fitted to columns: use standard or minmax");
}

// What is known ahead is an input of the rows before, and the calendar needs rows with times.
void check_derived(const DataSettings& settings, config::Checker& checker) {
  if (!settings.known.empty() && (settings.window == 0 || has_target_per_step(settings)))
    checker.complain({"known", "window"}, "only a forecast reads what is known ahead: set window and horizon");
  if (!settings.calendar.empty() && !has_series(settings))
    checker.complain({"calendar", "window"}, "the rows are independent samples, without an order in time: set window");
  if (has_calendar_ahead(settings) && settings.calendar.empty())
    checker.complain({"calendar_ahead", "calendar"}, "there are no phases to read: set calendar");
  if (has_calendar_ahead(settings) && (settings.window == 0 || has_target_per_step(settings)))
    checker.complain({"calendar_ahead", "window"}, "only a forecast reads what is known ahead: set window and horizon");
  std::vector<std::string> phases;
  for (const CalendarPhase phase : settings.calendar) phases.emplace_back(config::name_of(phase));
  refuse_duplicates("calendar", phases, checker);
  if (refuse_duplicates("known", settings.known, checker)) return;
  refuse_columns_of_others("known", settings.known, "a category has a vector in its own row alone",
                           {{"categories", settings.categories}}, checker);
  refuse_columns_of_others("known", settings.known, "what is known ahead is a column of numbers of its own",
                           {{"target", settings.target}, {"group", {settings.group}}, {"time", {settings.time}}},
                           checker);
}

void check_rows(const DataSettings& settings, config::Checker& checker) {
  if (is_meaning_of_rows_unknown(checker)) return;
  check_features(settings, checker);
  check_windows(settings, checker);
  check_previous(settings, checker);
  check_group(settings, checker);
  check_sequences(settings, checker);
  check_steps_of_categories(settings, checker);
  check_time(settings, checker);
  check_grid(settings, checker);
  check_scaled_inputs(settings, checker);
  check_derived(settings, checker);
  check_static(settings, checker);
  check_scales(settings, checker);
}

}  // namespace

void check_csv(const DataSettings& settings, config::Checker& checker) {
  if (settings.path.empty() && settings.train_file.empty())
    checker.complain({"source", "path", "train_file"}, "source csv needs a file: path, or train_file");
  check_target(settings, checker);
  check_id(settings, checker);
  refuse_unit_normalization(settings, checker);
  check_rows(settings, checker);
  check_order_of_horizons(settings, checker);
  check_categories(settings, checker);
}

}  // namespace rnnlab
