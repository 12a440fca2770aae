// SPDX-License-Identifier: Apache-2.0
#include "results/comparison_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/numbers.h"
#include "base/system/json_fields.h"
#include "base/system/terminal.h"
#include "base/text.h"
#include "results/epoch_table.h"

namespace rnnlab {
namespace {

constexpr const char* kNothing = "-";
constexpr double kToPercent = 100;

std::string interval(const std::optional<double>& low, const std::optional<double>& high, int digits) {
  if (!low || !high) return kNothing;
  return significant_digits(low, digits) + " .. " + significant_digits(high, digits);
}

std::string p_text(const std::optional<double>& p) {
  constexpr double kSmallestShown = 0.0001;
  if (!p) return kNothing;
  return *p < kSmallestShown ? "< 0.0001" : fmt::format("{:.4f}", *p);
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

// Returns an interval, or the spread of the epochs with a star; one timed epoch has a value instead of a spread.
std::string bounds_text(const GroupResult& group) {
  if (group.bounds_are_spread && group.low_seconds && group.low_seconds == group.high_seconds)
    return significant_digits(group.low_seconds, 4) + "*";
  return interval(group.low_seconds, group.high_seconds, 4) + (group.bounds_are_spread ? "*" : "");
}

std::string verdict_text(const std::optional<TimeVerdict>& verdict) {
  if (!verdict || verdict == TimeVerdict::kNone) return kNothing;
  return verdict == TimeVerdict::kNoDifference ? "no difference" : std::string(config::name_of(*verdict));
}

std::vector<std::string> cells_of(const GroupResult& group, const Comparison& comparison,
                                  const std::vector<ShownMetric>& metrics) {
  const bool is_baseline = group.label == comparison.baseline;
  std::vector<std::string> cells = {
      marked_label(group),
      fmt::format("{}", fmt::join(group.seeds, ",")),
      fmt::format("{}", group.num_processes),
      fmt::format("{}", group.num_timed_epochs),
      significant_digits(group.seconds, 4),
      bounds_text(group),
      is_baseline ? "baseline" : significant_digits(group.ratio, 3),
      interval(group.ratio_low, group.ratio_high, 3),
      p_text(group.mann_whitney_p),
      verdict_text(group.verdict),
  };
  for (const ShownMetric& metric : metrics) {
    const auto found = group.final_metrics.find(metric.name);
    cells.push_back(found == group.final_metrics.end() ? kNothing : number_text(metric.format, found->second.median));
  }
  return cells;
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

// Returns the table with short labels.
TextTable make_narrow_table(const Comparison& comparison) {
  const TextTable whole = comparison_table(comparison);
  const std::vector<std::string> labels = short_labels(comparison);
  TextTable table;
  for (const TableColumn& column : whole.columns()) table.add_column(column.heading, column.align);
  for (size_t i = 0; i < whole.rows().size(); ++i) {
    std::vector<std::string> cells = whole.rows()[i];
    cells[0] = labels[i];
    table.add_row(std::move(cells));
  }
  return table;
}

constexpr const char* kWithAllColumns = "compare --csv";

bool is_equal_in_all_rows(const TextTable& table, size_t index) {
  return std::ranges::all_of(table.rows(), [&](const auto& row) { return row[index] == table.rows()[0][index]; });
}

// The columns of times, of which those that count runs may be equal in all rows; the metrics follow.
namespace column {
constexpr size_t kRun = 0, kSeeds = 1, kProcesses = 2, kEpochs = 3, kInterval = 5, kRatioInterval = 7, kP = 8,
                 kNum = 10;
constexpr std::array kLeastImportant = {kSeeds, kEpochs, kP, kProcesses, kInterval, kRatioInterval};
}  // namespace column

// Returns the table of times as it fits. A column of equal counts says nothing about the rows, so it becomes a part of
// one line; whether it does depends on no other column, so the same runs look alike at every width.
std::string time_lines(const TextTable& whole, size_t width) {
  std::vector<size_t> kept;
  std::vector<std::string> equal;
  for (size_t i = 0; i < column::kNum; ++i) {
    const bool is_count = i == column::kSeeds || i == column::kProcesses || i == column::kEpochs;
    if (is_count && is_equal_in_all_rows(whole, i))
      equal.push_back(fmt::format("{} {}", whole.columns()[i].heading, whole.rows()[0][i]));
    else
      kept.push_back(i);
  }
  std::vector<size_t> least_important;  // by their places among the kept columns
  for (const size_t one : column::kLeastImportant)
    if (const auto at = std::ranges::find(kept, one); at != kept.end())
      least_important.push_back(static_cast<size_t>(at - kept.begin()));
  const FittedTable fitted = whole.with_columns(kept).fitted(width, least_important);
  const std::string shared = equal.empty() ? "" : fmt::format("in each row: {}\n", join(equal, ", "));
  const std::string note = fitted.note(kWithAllColumns);
  return fitted.table.text() + shared + note + "\n";
}

// Returns the table of times and metrics, in two parts if it does not fit into `width`.
std::string table_lines(const Comparison& comparison, size_t width) {
  const TextTable whole = make_narrow_table(comparison);
  if (whole.width() <= width) return whole.text() + "\n";
  std::vector<size_t> metrics = {column::kRun};
  for (size_t i = column::kNum; i < whole.columns().size(); ++i) metrics.push_back(i);
  std::string text = time_lines(whole, width);
  if (metrics.size() > 1) text += whole.with_columns(metrics).text_in_blocks(width) + "\n";
  return text;
}

std::string device_lines(const Comparison& comparison, size_t width) {
  constexpr size_t kAgainst = 2, kInterval = 4, kEfficiencyInterval = 6, kExchange = 7, kSlowest = 8;
  constexpr std::array kLeastImportant = {kAgainst, kSlowest, kExchange, kInterval, kEfficiencyInterval};
  const TextTable table = device_speed_table(comparison);
  if (table.rows().empty()) return "";
  const FittedTable fitted = table.fitted(width, kLeastImportant);
  return fitted.table.text() + "\n" + join(device_speed_legend(), "\n") + "\n" + fitted.note(kWithAllColumns);
}

std::string cost_lines(const Comparison& comparison, size_t width) {
  const TextTable table = cost_table(comparison);
  if (table.rows().empty()) return "";
  return table.text_in_blocks(width) + "\n" + join(cost_legend(comparison), "\n") + "\n\n";
}

std::string best_epoch_lines(const Comparison& comparison, size_t width) {
  constexpr size_t kRunAndBestEpoch = 2, kBestAndLast = 2;
  const TextTable table = best_epoch_table(comparison);
  if (table.rows().empty()) return "";
  return std::string(kBestEpochLegend) + "\n" + table.text_in_blocks(width, kRunAndBestEpoch, kBestAndLast) + "\n";
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
      time.low_seconds ? fmt::format("95 % interval {} over {}", interval(time.low_seconds, time.high_seconds, 4),
                                     counted(time.num_runs, "run"))
                       : fmt::format("{}, too few for an interval", counted(time.num_runs, "run"));
  return fmt::format("{} reached {} after {} s of training, with warm-up and without validation ({})", group.label,
                     text, significant_digits(time.seconds, 4), bounds);
}

std::vector<std::string> quality_lines(const Comparison& comparison) {
  std::vector<std::string> lines;
  for (const GroupResult& group : comparison.groups)
    for (const Baseline& baseline : group.baselines) add_once(lines, "without a model, " + baseline_text(baseline));
  return lines;
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

std::string lines_of_texts(const std::string& prefix, const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += prefix + text + "\n";
  return all;
}

std::string csv_number(const std::optional<double>& value) { return value ? format_shortest(*value) : ""; }

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
  TextTable table;
  table.add_column("run", Align::kLeft);
  for (const char* heading :
       {"devices", "against", "speed-up", "95 % interval", "efficiency", "95 % interval", "exchange", "slowest"})
    table.add_column(heading, Align::kRight);
  const std::vector<std::string> labels = short_labels(comparison);
  for (size_t i = 0; i < comparison.groups.size(); ++i) {
    const GroupResult& group = comparison.groups[i];
    if (!group.device_speed) continue;
    const DeviceSpeed& speed = *group.device_speed;
    table.add_row({labels[i], std::to_string(group.devices), std::to_string(speed.reference_devices),
                   significant_digits(speed.speed_up, 3), interval(speed.speed_up_low, speed.speed_up_high, 3),
                   percent_text(speed.efficiency), percent_range(speed.efficiency_low, speed.efficiency_high),
                   percent_text(group.exchange_share), excess_text(group.slowest_over_fastest)});
  }
  return table;
}

std::vector<std::string> device_speed_legend() {
  return {
      "speed-up: over the same work on the fewest devices; efficiency: the speed-up over how many times as many "
      "devices there are.",
      kExchangeLegend};
}

namespace {

TextTable table_with(const std::vector<ShownMetric>& metrics, const Comparison& comparison) {
  TextTable table;
  table.add_column("run", Align::kLeft);
  table.add_column("seeds", Align::kLeft);
  for (const char* heading :
       {"processes", "epochs", "s/epoch", "95 % interval", "ratio", "95 % interval", "p", "verdict"})
    table.add_column(heading, Align::kRight);
  for (const ShownMetric& metric : metrics) table.add_column(metric.format.heading, Align::kRight);
  for (const GroupResult& group : comparison.groups) table.add_row(cells_of(group, comparison, metrics));
  return table;
}

}  // namespace

TextTable comparison_table(const Comparison& comparison) { return table_with(shown_metrics(comparison), comparison); }

TextTable time_table(const Comparison& comparison) { return table_with({}, comparison); }

namespace {

const MetricSpread* spread_in(const std::map<std::string, MetricSpread>& metrics, const std::string& name) {
  const auto found = metrics.find(name);
  return found == metrics.end() ? nullptr : &found->second;
}

bool differs_from_last(const GroupResult& group) {
  return std::ranges::any_of(group.best_metrics, [&](const auto& entry) {
    const MetricSpread* last = spread_in(group.final_metrics, entry.first);
    return last != nullptr && last->median != entry.second.median;
  });
}

// Returns "5", or "3 .. 6" if the runs of a group have different best epochs.
std::string best_epochs_text(const GroupResult& group) {
  const auto [first, last] = std::ranges::minmax(group.best_epochs);
  return first == last ? fmt::format("{}", first) : fmt::format("{} .. {}", first, last);
}

std::vector<std::string> best_epoch_cells(const GroupResult& group, const std::string& label,
                                          const std::vector<ShownMetric>& metrics) {
  std::vector<std::string> cells = {label, best_epochs_text(group)};
  for (const ShownMetric& metric : metrics)
    for (const auto* values : {&group.best_metrics, &group.final_metrics}) {
      const MetricSpread* value = spread_in(*values, metric.name);
      cells.push_back(value == nullptr ? kNothing : number_text(metric.format, value->median));
    }
  return cells;
}

}  // namespace

TextTable best_epoch_table(const Comparison& comparison) {
  TextTable table;
  if (std::ranges::none_of(comparison.groups, differs_from_last)) return table;
  const std::vector<ShownMetric> metrics = shown_metrics(comparison);
  table.add_column("run", Align::kLeft);
  table.add_column("best epoch", Align::kRight);
  for (const ShownMetric& metric : metrics)
    for (const std::string& heading : {metric.format.heading, std::string("(last)")})
      table.add_column(heading, Align::kRight);
  const std::vector<std::string> labels = short_labels(comparison);
  for (size_t i = 0; i < comparison.groups.size(); ++i)
    if (!comparison.groups[i].best_epochs.empty())
      table.add_row(best_epoch_cells(comparison.groups[i], labels[i], metrics));
  return table;
}

namespace {

std::vector<std::string> quality_cells(const GroupResult& group, const std::vector<ShownMetric>& metrics) {
  const bool has_best = !group.best_epochs.empty();
  std::vector<std::string> cells = {marked_label(group), has_best ? best_epochs_text(group) : kNothing};
  for (const ShownMetric& metric : metrics) {
    const MetricSpread* value = spread_in(has_best ? group.best_metrics : group.final_metrics, metric.name);
    cells.push_back(value == nullptr ? kNothing : number_text(metric.format, value->median));
  }
  return cells;
}

std::vector<std::string> baseline_cells(const Baseline& baseline, const std::vector<ShownMetric>& metrics) {
  std::vector<std::string> cells = {"without a model: " + baseline.name, kNothing};
  for (const ShownMetric& metric : metrics) {
    const auto value = baseline.metrics.find(metric.name);
    cells.push_back(value == baseline.metrics.end() ? kNothing : number_text(metric.format, value->second));
  }
  return cells;
}

}  // namespace

TextTable quality_table(const Comparison& comparison) {
  const std::vector<ShownMetric> metrics = shown_metrics(comparison);
  TextTable table;
  table.add_column("run", Align::kLeft);
  table.add_column("best epoch", Align::kRight);
  for (const ShownMetric& metric : metrics) table.add_column(metric.format.heading, Align::kRight);
  std::vector<std::string> known;
  for (const GroupResult& group : comparison.groups) table.add_row(quality_cells(group, metrics));
  for (const GroupResult& group : comparison.groups)
    for (const Baseline& baseline : group.baselines) {
      const std::string text = baseline_text(baseline);
      if (std::ranges::find(known, text) != known.end()) continue;
      known.push_back(text);
      table.add_row(baseline_cells(baseline, metrics));
    }
  return table;
}

std::vector<std::string> short_labels(const Comparison& comparison) {
  const bool is_numbered = has_long_label(comparison);
  std::vector<std::string> labels;
  for (const GroupResult& group : comparison.groups)
    labels.push_back(is_numbered ? fmt::format("{}: {}", labels.size() + 1, informative_part(group))
                                 : marked_label(group));
  return labels;
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
  const std::vector<std::string> quality = quality_lines(comparison);
  for (const auto& lines : {losses, quality}) times.insert(times.end(), lines.begin(), lines.end());
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

}  // namespace

namespace {

std::string refusal_lines(const Comparison& comparison) {
  std::string text;
  if (!comparison.forced.empty())
    text += "FORCED: this is not a fair comparison.\n" + lines_of_texts("  ", comparison.forced) + "\n";
  if (!comparison.other_work.empty())
    text += std::string(why_times_have_no_ratio(comparison)) + lines_of_texts("  ", comparison.other_work) + "\n";
  if (!comparison.differences.empty())
    text += "NOTICE: these runs differ in more than the device and the layer.\n" +
            lines_of_texts("  ", comparison.differences) + "\n";
  return text;
}

bool compares_times(const Comparison& comparison) {
  return std::ranges::any_of(comparison.groups, [](const GroupResult& group) { return group.ratio.has_value(); });
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
