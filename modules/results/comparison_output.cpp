// SPDX-License-Identifier: Apache-2.0
#include "results/comparison_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ranges>

#include "base/numbers.h"
#include "base/text.h"
#include "results/epoch_table.h"

namespace rnnlab {
namespace {

using GroupColumns = ColumnList<GroupResult>;

constexpr double kToPercent = 100;
constexpr const char* kWithAllColumns = "compare --csv";

std::string p_text(const std::optional<double>& p) {
  constexpr double kSmallestShown = 0.0001;
  if (!p) return kNothing;
  return *p < kSmallestShown ? "< 0.0001" : fmt::format("{:.4f}", *p);
}

// Returns a label such as "cpu naive (diverged)".
std::string marked_label(const GroupResult& group) {
  return group.ended == "complete" ? group.label : fmt::format("{} ({})", group.label, group.ended);
}

// A long label gets a number and is cut; the whole label is printed below the table.
bool has_long_label(const Comparison& comparison) {
  constexpr size_t kLongest = 28;
  return std::ranges::any_of(comparison.groups,
                             [](const GroupResult& group) { return display_width(marked_label(group)) > kLongest; });
}

// Returns the most informative short part of a label: its start, with device and layer, or for a run folder the text
// after its time.
std::string informative_part(const GroupResult& group) {
  constexpr size_t kMostBytes = 20;
  const size_t name = group.label.rfind('/') + 1;  // start of a folder's name; 0 if the label is not a folder
  const size_t after_time = name == 0 ? std::string::npos : group.label.find("Z-", name);
  const std::string telling = after_time == std::string::npos ? group.label : group.label.substr(after_time + 2);
  const std::string quoted = in_quotes(telling, kMostBytes);
  return quoted.substr(1, quoted.size() - 2);
}

std::string label_lines(const Comparison& comparison) {
  if (!has_long_label(comparison)) return "";
  std::string lines;
  for (size_t i = 0; i < comparison.groups.size(); ++i)
    lines += fmt::format("{}: {}\n", i + 1, marked_label(comparison.groups[i]));
  return lines + "\n";
}

const Column<GroupResult> kWholeLabel = {"run", marked_label, Align::kLeft};

// Returns an interval, or the spread of the epochs with a star; one timed epoch has a value instead of a spread.
std::string bounds_text(const GroupResult& group) {
  if (group.bounds_are_spread && group.low_seconds && group.low_seconds == group.high_seconds)
    return significant_digits(group.low_seconds, 4) + "*";
  return interval_text(group.low_seconds, group.high_seconds, 4) + (group.bounds_are_spread ? "*" : "");
}

std::string verdict_text(const GroupResult& group) {
  if (!group.verdict || group.verdict == TimeVerdict::kNone) return kNothing;
  return group.verdict == TimeVerdict::kNoDifference ? "no difference" : std::string(config::name_of(*group.verdict));
}

// These columns count runs and may be equal in all rows.
constexpr std::array<std::string_view, 3> kCounts = {"seeds", "processes", "epochs"};

GroupColumns time_columns(const Comparison& comparison, const Column<GroupResult>& run) {
  using Group = const GroupResult&;
  constexpr Align kRight = Align::kRight;
  return {run,
          {"seeds", [](Group g) { return fmt::format("{}", fmt::join(g.seeds, ",")); }, Align::kLeft, 1},
          {"processes", &GroupResult::num_processes, kRight, 4},
          {"epochs", &GroupResult::num_timed_epochs, kRight, 2},
          {"s/epoch", [](Group g) { return significant_digits(g.seconds, 4); }},
          {"95 % interval", bounds_text, kRight, 5},
          {"ratio", [baseline = comparison.baseline](
                        Group g) { return g.label == baseline ? "baseline" : significant_digits(g.ratio, 3); }},
          {"95 % interval", [](Group g) { return interval_text(g.ratio_low, g.ratio_high, 3); }, kRight, 6},
          {"p", [](Group g) { return p_text(g.mann_whitney_p); }, kRight, 3},
          {"verdict", verdict_text}};
}

// Holds a metric of the table, which has one format for all groups.
struct ShownMetric {
  std::string name;
  ColumnFormat format;
};

std::optional<ShownMetric> shown_metric(const EpochColumn& column, const Comparison& comparison) {
  std::vector<double> values;
  for (const GroupResult& group : comparison.groups)
    if (const auto found = group.final_metrics.find(column.name); found != group.final_metrics.end())
      values.push_back(found->second.median);
  if (!is_shown(column) || values.empty()) return std::nullopt;
  return ShownMetric{column.name, column_format(column, values)};
}

std::vector<ShownMetric> shown_metrics(const Comparison& comparison) {
  std::vector<ShownMetric> shown;
  for (const EpochColumn& column : epoch_columns())
    if (const auto metric = shown_metric(column, comparison)) shown.push_back(*metric);
  return shown;
}

// `values_of` returns the MetricValues of a row.
template <class Row, class ValuesOf>
Column<Row> metric_column(const ShownMetric& metric, ValuesOf values_of) {
  return {metric.format.heading, [=](const Row& row) -> std::string {
            const MetricValues& values = std::invoke(values_of, row);
            const auto value = values.find(metric.name);
            return value == values.end() ? kNothing : number_text(metric.format, value->second);
          }};
}

GroupColumns metric_columns(const Comparison& comparison) {
  GroupColumns columns;
  for (const ShownMetric& metric : shown_metrics(comparison))
    columns.push_back(metric_column<GroupResult>(metric, final_medians));
  return columns;
}

// Returns a reason such as "one process: no interval for another (cpu fused)", without labels if it applies to all
// groups.
std::string spread_reason(const Comparison& comparison, int64_t num_processes, const std::string& words) {
  std::vector<std::string> labels;
  for (const GroupResult& group : comparison.groups)
    if (group.bounds_are_spread && group.num_processes == num_processes) labels.push_back(group.label);
  if (labels.empty()) return "";
  return labels.size() == comparison.groups.size() ? words : fmt::format("{} ({})", words, join(labels, ", "));
}

std::string spread_legend(const Comparison& comparison) {
  std::vector<std::string> reasons;
  add_once(reasons, spread_reason(comparison, 1, "one process: no interval for other processes"));
  add_once(reasons, spread_reason(comparison, 2, "two processes: too few for an interval"));
  return reasons.empty() ? "" : "* smallest and largest epoch; " + join(reasons, "; ");
}

bool lacks_verdict(const GroupResult& group) { return group.ratio && group.verdict == TimeVerdict::kNone; }

// Returns the table of times as it fits. A column of equal counts says nothing about the rows, so it becomes a part of
// one line; whether it does depends on no other column, so the same runs look alike at every width.
std::string time_lines(GroupColumns columns, const Comparison& comparison, size_t width) {
  std::vector<std::string> equal;
  std::erase_if(columns, [&](const Column<GroupResult>& column) {
    const bool is_count = std::ranges::find(kCounts, column.heading) != kCounts.end();
    if (!is_count || !is_equal_in_all(column, comparison.groups)) return false;
    equal.push_back(fmt::format("{} {}", column.heading, column.cell(comparison.groups[0])));
    return true;
  });
  const FittedTable fitted = fitted_table(columns, comparison.groups, width);
  const std::string shared = equal.empty() ? "" : fmt::format("in each row: {}\n", join(equal, ", "));
  return fitted.table.text() + shared + fitted.note(kWithAllColumns) + "\n";
}

// Returns the table of times and metrics, in two parts if it does not fit into `width`.
std::string table_lines(const Comparison& comparison, size_t width) {
  const GroupColumns times = time_columns(comparison, short_label(comparison));
  GroupColumns metrics = metric_columns(comparison), all = times;
  append(all, metrics);
  const TextTable whole = table_of(all, comparison.groups);
  if (whole.width() <= width) return whole.text() + "\n";
  std::string text = time_lines(times, comparison, width);
  if (metrics.empty()) return text;
  metrics.insert(metrics.begin(), short_label(comparison));
  return text + table_of(metrics, comparison.groups).text_in_blocks(width) + "\n";
}

GroupColumns device_columns(const Comparison& comparison) {
  using Group = const GroupResult&;
  constexpr Align kRight = Align::kRight;
  return {short_label(comparison),
          {"devices", &GroupResult::devices},
          {"against", [](Group g) { return g.device_speed->reference_devices; }, kRight, 1},
          {"speed-up", [](Group g) { return significant_digits(g.device_speed->speed_up, 3); }},
          {"95 % interval",
           [](Group g) { return interval_text(g.device_speed->speed_up_low, g.device_speed->speed_up_high, 3); },
           kRight, 4},
          {"efficiency", [](Group g) { return percent_text(g.device_speed->efficiency); }},
          {"95 % interval",
           [](Group g) { return percent_range(g.device_speed->efficiency_low, g.device_speed->efficiency_high); },
           kRight, 5},
          {"exchange", [](Group g) { return percent_text(g.exchange_share); }, kRight, 3},
          {"slowest", [](Group g) { return excess_text(g.slowest_over_fastest); }, kRight, 2}};
}

bool has_device_speed(const GroupResult& group) { return group.device_speed.has_value(); }

std::string device_lines(const Comparison& comparison, size_t width) {
  if (std::ranges::none_of(comparison.groups, has_device_speed)) return "";
  const FittedTable fitted =
      fitted_table(device_columns(comparison), comparison.groups | std::views::filter(has_device_speed), width);
  return fitted.table.text() + "\n" + join(device_speed_legend(), "\n") + "\n" + fitted.note(kWithAllColumns);
}

std::string cost_lines(const Comparison& comparison, size_t width) {
  const TextTable table = cost_table(comparison);
  if (table.rows().empty()) return "";
  return table.text_in_blocks(width) + "\n" + join(cost_legend(comparison), "\n") + "\n\n";
}

bool differs_from_last(const GroupResult& group) {
  const MetricValues last = final_medians(group);
  return std::ranges::any_of(best_medians(group), [&](const auto& best) {
    const auto found = last.find(best.first);
    return found != last.end() && found->second != best.second;
  });
}

bool has_best_epochs(const GroupResult& group) { return !group.best_epochs.empty(); }

// Returns "5", or "3 .. 6" if the runs of a group have different best epochs, or "-" without best epochs.
std::string best_epochs_text(const GroupResult& group) {
  if (!has_best_epochs(group)) return kNothing;
  const auto [first, last] = std::ranges::minmax(group.best_epochs);
  return first == last ? fmt::format("{}", first) : fmt::format("{} .. {}", first, last);
}

// Returns the metrics of the best epochs beside those of the last ones; "" if they are equal in all groups.
std::string best_epoch_lines(const Comparison& comparison, size_t width) {
  constexpr size_t kRunAndBestEpoch = 2, kBestAndLast = 2;
  if (std::ranges::none_of(comparison.groups, differs_from_last)) return "";
  GroupColumns columns = {short_label(comparison), {"best epoch", best_epochs_text}};
  for (const ShownMetric& metric : shown_metrics(comparison)) {
    columns.push_back(metric_column<GroupResult>(metric, best_medians));
    columns.push_back(metric_column<GroupResult>(metric, final_medians));
    columns.back().heading = "(last)";
  }
  const TextTable table = table_of(columns, comparison.groups | std::views::filter(has_best_epochs));
  return "The best epoch, whose weights predict and evaluate use, beside the last epoch:\n" +
         table.text_in_blocks(width, kRunAndBestEpoch, kBestAndLast) + "\n";
}

std::optional<std::string> time_line(const GroupResult& group) {
  if (!group.microseconds_per_sample) return std::nullopt;
  const std::string whole = group.fit_seconds ? fmt::format("; the whole fit took {} s, validation included",
                                                            format_significant(*group.fit_seconds, 4))
                                              : "";
  return fmt::format("{} took {} us a training sample{}", group.label,
                     format_significant(*group.microseconds_per_sample, 4), whole);
}

std::string target_line(const GroupResult& group, const TargetTime& time) {
  const std::string text = target_text(time.stop_at);
  if (!time.seconds)
    return fmt::format("{} of {} of {} reached {}", time.num_reached, counted(time.num_runs, "run"), group.label, text);
  const std::string bounds =
      time.low_seconds ? fmt::format("95 % interval {} over {}", interval_text(time.low_seconds, time.high_seconds, 4),
                                     counted(time.num_runs, "run"))
                       : fmt::format("{}, too few for an interval", counted(time.num_runs, "run"));
  return fmt::format("{} reached {} after {} s of training, with warm-up and without validation ({})", group.label,
                     text, significant_digits(time.seconds, 4), bounds);
}

// Returns the predictions without a model of all groups, each once. Those of a fold are of its data.
std::vector<Baseline> baselines_of(const Comparison& comparison) {
  std::vector<Baseline> baselines;
  for (const GroupResult& group : comparison.groups)
    for (Baseline baseline : group.baselines) {
      if (group.fold) baseline.name += fmt::format(" in fold {}", *group.fold);
      add_once(baselines, baseline);
    }
  return baselines;
}

std::string path_lines(const Comparison& comparison) {
  std::string all;
  for (const GroupResult& group : comparison.groups) {
    if (!group.paths.empty()) all += fmt::format("{} ran {}\n", group.label, join(group.paths, " and "));
    all += lines_of_texts("  ", group.path_notes);
  }
  return all;
}

}  // namespace

bool is_shown(const EpochColumn& column) {
  return column.role == ColumnRole::kMetric && (column.name == "train_loss" || column.name.starts_with("valid_"));
}

std::string significant_digits(const std::optional<double>& value, int digits) {
  return value ? format_significant(*value, digits) : kNothing;
}

std::string interval_text(const std::optional<double>& low, const std::optional<double>& high, int digits) {
  if (!low || !high) return kNothing;
  return significant_digits(low, digits) + " .. " + significant_digits(high, digits);
}

std::string lines_of_texts(const std::string& prefix, const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += prefix + text + "\n";
  return all;
}

std::string forced_lines(const std::vector<std::string>& forced) {
  if (forced.empty()) return "";
  return "FORCED: the sides differ in more than what is compared.\n" + lines_of_texts("  ", forced) + "\n";
}

std::string percent_text(const std::optional<double>& part) {
  return part ? fmt::format("{:.1f} %", kToPercent * *part) : kNothing;
}

std::string percent_range(const std::optional<double>& low, const std::optional<double>& high) {
  return low && high ? fmt::format("{:.1f} .. {:.1f} %", kToPercent * *low, kToPercent * *high) : kNothing;
}

std::string excess_text(const std::optional<double>& quotient) {
  return quotient ? fmt::format("{:+.1f} %", kToPercent * (*quotient - 1)) : kNothing;
}

TextTable device_speed_table(const Comparison& comparison) {
  return table_of(device_columns(comparison), comparison.groups | std::views::filter(has_device_speed));
}

std::vector<std::string> device_speed_legend() {
  return {
      "speed-up: over the same work on the fewest devices; efficiency: the speed-up over how many times as many "
      "devices there are.",
      kExchangeLegend};
}

TextTable time_table(const Comparison& comparison) {
  return table_of(time_columns(comparison, kWholeLabel), comparison.groups);
}

namespace {

// A row of the table of metrics: a group, or a prediction without a model.
struct QualityRow {
  std::string label, best_epoch;
  MetricValues metrics;
};

std::vector<QualityRow> quality_rows(const Comparison& comparison) {
  std::vector<QualityRow> rows;
  for (const GroupResult& group : comparison.groups)
    rows.push_back({marked_label(group), best_epochs_text(group),
                    has_best_epochs(group) ? best_medians(group) : final_medians(group)});
  for (const Baseline& baseline : baselines_of(comparison))
    rows.push_back({"without a model: " + baseline.name, kNothing, baseline.metrics});
  return rows;
}

}  // namespace

TextTable quality_table(const Comparison& comparison) {
  ColumnList<QualityRow> columns = {{"run", &QualityRow::label, Align::kLeft}, {"best epoch", &QualityRow::best_epoch}};
  for (const ShownMetric& metric : shown_metrics(comparison))
    columns.push_back(metric_column<QualityRow>(metric, &QualityRow::metrics));
  return table_of(columns, quality_rows(comparison));
}

std::vector<std::string> short_labels(const Comparison& comparison) {
  const bool is_numbered = has_long_label(comparison);
  std::vector<std::string> labels;
  for (const GroupResult& group : comparison.groups)
    labels.push_back(is_numbered ? fmt::format("{}: {}", labels.size() + 1, informative_part(group))
                                 : marked_label(group));
  return labels;
}

Column<GroupResult> short_label(const Comparison& comparison) {
  return {"run",
          [labels = short_labels(comparison), first = comparison.groups.data()](const GroupResult& group) {
            return labels[static_cast<size_t>(&group - first)];
          },
          Align::kLeft};
}

std::vector<std::string> comparison_legend(const Comparison& comparison) {
  std::vector<std::string> legend = {
      "s/epoch: training seconds of a process's median epoch after warm-up; of several processes the geometric mean.",
      "ratio: to the baseline, below 1 is faster; p: by Mann-Whitney, over processes."};
  add_once(legend, spread_legend(comparison));
  if (std::ranges::any_of(comparison.groups, lacks_verdict))
    legend.push_back(fmt::format("no verdict with fewer than {} processes on each side", kMinProcessesForVerdict));
  return legend;
}

std::vector<std::string> comparison_work(const Comparison& comparison) {
  std::vector<std::string> times, losses;
  for (const GroupResult& group : comparison.groups) {
    if (const auto time = time_line(group)) times.push_back(*time);
    if (group.loss_agreement)
      losses.push_back(fmt::format("train losses of {} and {} {}", comparison.baseline, group.label,
                                   agreement_text(*group.loss_agreement)));
  }
  times.insert(times.end(), losses.begin(), losses.end());
  for (const Baseline& baseline : baselines_of(comparison))
    times.push_back("without a model, " + baseline_text(baseline));
  return times;
}

namespace {

// Rows may have the baseline's work beside rows that have not.
std::string_view why_times_have_no_ratio(const Comparison& comparison) {
  return num_of_same_work(comparison) > 1
             ? "NOTICE: rows without a ratio did other work than the baseline (--force shows their ratios).\n"
             : "NOTICE: these runs did different work, so their times have no ratio, p or verdict (--force shows "
               "them).\n";
}

std::string refusal_lines(const Comparison& comparison) {
  std::string text = forced_lines(comparison.forced);
  if (!comparison.other_work.empty())
    text += std::string(why_times_have_no_ratio(comparison)) + lines_of_texts("  ", comparison.other_work) + "\n";
  if (!comparison.differences.empty())
    text += "NOTICE: these runs differ in more than the device and the layer.\n" +
            lines_of_texts("  ", comparison.differences) + "\n";
  return text;
}

// Where no times are compared, the reasons to doubt them are one line.
std::vector<std::string> shown_warnings(const Comparison& comparison, Detail detail) {
  if (detail == Detail::kAll || compares_times(comparison)) return texts_of(comparison.warnings);
  const SplitWarnings split = split_by_times(comparison.warnings);
  std::vector<std::string> texts = texts_of(split.others);
  add_once(texts, one_line_on_times(split.of_times, "--verbose shows"));
  return texts;
}

bool has_price(const Comparison& comparison) {
  return std::ranges::any_of(comparison.groups,
                             [](const GroupResult& group) { return group.cost && group.cost->price.has_value(); });
}

// Returns what is read with the table: the answer, and the parts that the user asked for by settings or options.
std::string answer_lines(const Comparison& comparison, size_t width, Detail detail) {
  if (comparison.groups.empty()) return "";
  std::string text = answer_sentence(comparison) + "\n";
  for (const GroupResult& group : comparison.groups)
    if (group.target_time) text += target_line(group, *group.target_time) + "\n";
  if (const std::string star = spread_legend(comparison); !star.empty()) text += star + "\n";
  if (const std::string devices = device_lines(comparison, width); !devices.empty()) text += "\n" + devices + "\n";
  const bool shows_costs = detail == Detail::kAll || has_price(comparison);
  if (const std::string costs = shows_costs ? cost_lines(comparison, width) : ""; !costs.empty()) text += "\n" + costs;
  return text;
}

std::string detail_lines(const Comparison& comparison, size_t width) {
  std::vector<std::string> legend = comparison_legend(comparison);
  std::erase(legend, spread_legend(comparison));
  return "\n" + best_epoch_lines(comparison, width) + lines_of_texts("", legend) +
         lines_of_texts("", comparison.notes) + lines_of_texts("", comparison_work(comparison)) +
         path_lines(comparison);
}

}  // namespace

std::string comparison_text(const Comparison& comparison, size_t width, Detail detail) {
  std::string text = refusal_lines(comparison) + table_lines(comparison, width) + label_lines(comparison) +
                     answer_lines(comparison, width, detail);
  const std::vector<std::string> warnings = shown_warnings(comparison, detail);
  if (!warnings.empty()) text += "\n" + lines_of_texts("WARNING: ", warnings);
  if (detail == Detail::kAll) text += detail_lines(comparison, width);
  return without_controls(text);
}

}  // namespace rnnlab
