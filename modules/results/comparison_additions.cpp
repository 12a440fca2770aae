// SPDX-License-Identifier: Apache-2.0
#include "results/comparison_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "base/error.h"
#include "base/numbers.h"
#include "base/statistics.h"
#include "base/system/json_fields.h"
#include "base/system/terminal.h"
#include "base/text.h"
#include "results/comparability.h"
#include "results/conditions.h"
#include "results/epoch_table.h"

namespace rnnlab {
namespace {

using AreEqual = std::function<bool(const RunRecord&, const RunRecord&)>;
using TextOf = std::function<std::string(const RunRecord&)>;

void add_condition(HeldEqual& held, const char* what, const std::vector<RunRecord>& runs, const TextOf& text,
                   const AreEqual& are_equal) {
  HeldCondition condition{.what = what, .values = {}};
  const bool is_recorded = std::ranges::none_of(runs, [&](const RunRecord& run) { return text(run).empty(); });
  const bool is_equal = std::ranges::all_of(runs, [&](const RunRecord& run) { return are_equal(runs[0], run); });
  for (const RunRecord& run : runs) add_once(condition.values, text(run));
  if (!is_recorded)
    held.unrecorded.emplace_back(what);
  else if (is_equal)
    held.equal.push_back({what, {condition.values[0]}});
  else
    held.unequal.push_back(std::move(condition));
}

// A value that may depend on the seed is compared between runs of equal seeds.
void add_condition_by_seed(HeldEqual& held, const char* what, const std::vector<RunRecord>& runs,
                           std::string Identity::*hash) {
  constexpr size_t kDigitsShown = 12;
  const auto is_unrecorded = [&](const RunRecord& run) { return (run.summary.identity.*hash).empty(); };
  if (std::ranges::any_of(runs, is_unrecorded)) {
    held.unrecorded.emplace_back(what);
    return;
  }
  std::map<int64_t, std::set<std::string>> values;
  for (const RunRecord& run : runs)
    values[run.summary.seed].insert((run.summary.identity.*hash).substr(0, kDigitsShown));
  HeldCondition condition{.what = what, .values = {}};
  bool is_equal = true;
  for (const auto& [seed, hashes] : values) {
    is_equal = is_equal && hashes.size() == 1;
    for (const std::string& one : hashes)
      add_once(condition.values, values.size() == 1 ? one : fmt::format("{} (seed {})", one, seed));
  }
  (is_equal ? held.equal : held.unequal).push_back(std::move(condition));
}

std::string program_text(const RunRecord& run) {
  const std::string& program = other_program(run);
  return program.empty() ? "rnnlab" : program;
}

// If all runs are of rnnlab, they do not need this condition.
void add_programs(HeldEqual& held, const std::vector<RunRecord>& runs) {
  const auto is_ours = [](const RunRecord& run) { return other_program(run).empty(); };
  if (std::ranges::all_of(runs, is_ours)) return;
  const auto is_same = [](const RunRecord& a, const RunRecord& b) { return other_program(a) == other_program(b); };
  add_condition(held, "program", runs, program_text, is_same);
}

// Runs of one process each do not need this condition.
void add_devices(HeldEqual& held, const std::vector<RunRecord>& runs) {
  if (std::ranges::all_of(runs, [](const RunRecord& run) { return num_devices(run) == 1; })) return;
  const auto text = [](const RunRecord& run) { return std::to_string(num_devices(run)); };
  add_condition(held, "devices", runs, text,
                [](const RunRecord& a, const RunRecord& b) { return num_devices(a) == num_devices(b); });
}

std::string lines_of(const std::vector<HeldCondition>& conditions) {
  size_t width = 0;
  for (const HeldCondition& condition : conditions) width = std::max(width, condition.what.size());
  std::string lines;
  for (const HeldCondition& condition : conditions)
    lines += fmt::format("  {:<{}}  {}\n", condition.what, width, join(condition.values, "; "));
  return lines;
}

}  // namespace

HeldEqual held_equal(const std::vector<RunRecord>& runs) {
  HeldEqual held;
  if (runs.empty()) return held;
  add_programs(held, runs);
  add_devices(held, runs);
  add_condition_by_seed(held, "data", runs, &Identity::data_fingerprint);
  add_condition_by_seed(held, "order of the samples", runs, &Identity::order_sha256);
  add_condition_by_seed(held, "initial weights", runs, &Identity::initial_weights_sha256);
  for (const RunCondition& condition : run_conditions()) {
    const auto is_same = [&](const RunRecord& a, const RunRecord& b) { return are_equal(condition, a, b); };
    add_condition(held, condition.what, runs, condition.value, is_same);
  }
  for (const ConditionField& field : condition_fields()) {
    const auto text = [&](const RunRecord& run) { return field.text(run.summary.identity.conditions); };
    const auto is_same = [&](const RunRecord& a, const RunRecord& b) {
      return are_equal(field, a.summary.identity.conditions, b.summary.identity.conditions);
    };
    add_condition(held, field.what, runs, text, is_same);
  }
  return held;
}

std::string held_equal_text(const HeldEqual& held) {
  std::string text = "Held equal:\n" + lines_of(held.equal);
  if (!held.unequal.empty()) text += "Not held equal:\n" + lines_of(held.unequal);
  if (!held.unrecorded.empty()) text += "Not recorded by every run: " + join(held.unrecorded, ", ") + "\n";
  return text;
}

namespace {

using Cell = std::optional<double>;
using Matrix = std::vector<std::vector<Cell>>;

using Rows = std::vector<const EpochRow*>;

std::map<int64_t, Rows> rows_by_epoch(const RunGroup& group) {
  std::map<int64_t, Rows> rows;
  for (const RunRecord* run : group.runs)
    for (const EpochRow& row : run->rows)
      if (row.epoch <= run->summary.epochs) rows[row.epoch].push_back(&row);  // the last epoch may be incomplete
  return rows;
}

using Pool = double (*)(std::span<const double> samples);

Cell pooled(const Rows& rows, double EpochRow::*member, Pool pool) {
  std::vector<double> values;
  for (const EpochRow* row : rows) values.push_back(row->*member);
  if (values.empty()) return std::nullopt;
  return pool(values);
}

void add_epoch(EpochMatrices& matrices, int64_t epoch, const std::vector<std::map<int64_t, Rows>>& groups) {
  matrices.epochs.push_back(epoch);
  auto& num_runs = matrices.num_runs.emplace_back();
  auto& is_warmup = matrices.is_warmup.emplace_back();
  auto& train_seconds = matrices.train_seconds.emplace_back();
  auto& train_loss = matrices.train_loss.emplace_back();
  for (const auto& group : groups) {
    const auto found = group.find(epoch);
    const Rows rows = found == group.end() ? Rows() : found->second;
    num_runs.push_back(static_cast<int64_t>(rows.size()));
    is_warmup.push_back(std::ranges::any_of(rows, [](const EpochRow* row) { return row->warmup; }));
    train_seconds.push_back(pooled(rows, &EpochRow::train_seconds, pooled_seconds));
    train_loss.push_back(pooled(rows, &EpochRow::train_loss, pooled_metric));
  }
}

bool has_warmup(const EpochMatrices& matrices) {
  return std::ranges::any_of(matrices.is_warmup,
                             [](const std::vector<bool>& row) { return std::ranges::count(row, true); });
}

// A number without a star ends in a space if others have a star, so that the digits are aligned.
std::string cell_text(const Cell& cell, int digits, const char* mark) {
  return significant_digits(cell, digits) + mark;
}

enum class Marks { kNone, kWarmup };

std::string matrix_text(const EpochMatrices& matrices, const Matrix& matrix, const std::vector<std::string>& headings,
                        int digits, Marks marks, size_t width) {
  TextTable table;
  table.add_column("epoch", Align::kRight);
  for (const std::string& heading : headings) table.add_column(heading, Align::kRight);
  for (size_t i = 0; i < matrix.size(); ++i) {
    std::vector<std::string> cells = {fmt::format("{}", matrices.epochs[i])};
    for (size_t j = 0; j < matrix[i].size(); ++j) {
      const char* mark = marks == Marks::kNone ? "" : matrices.is_warmup[i][j] ? "*" : " ";
      cells.push_back(cell_text(matrix[i][j], digits, mark));
    }
    table.add_row(std::move(cells));
  }
  return table.text_in_blocks(width);
}

// Returns a note such as "cpu naive: times are the geometric mean, losses the median of 5 runs, from epoch 3 on of
// fewer"; "" for a single run.
std::string runs_note(const EpochMatrices& matrices, size_t column) {
  int64_t most = 0;
  for (const auto& row : matrices.num_runs) most = std::max(most, row[column]);
  if (most < 2) return "";
  const std::string note =
      fmt::format("{}: times are the geometric mean, losses the median of {} runs", matrices.labels[column], most);
  for (size_t row = 0; row < matrices.epochs.size(); ++row)
    if (matrices.num_runs[row][column] < most)
      return note + fmt::format(", from epoch {} on of fewer\n", matrices.epochs[row]);
  return note + "\n";
}

bool has_gap(const Matrix& matrix) {
  return std::ranges::any_of(matrix, [](const std::vector<Cell>& row) { return std::ranges::count(row, Cell()) > 0; });
}

}  // namespace

EpochMatrices epoch_matrices(const std::vector<RunRecord>& runs) {
  const std::vector<RunGroup> groups = group_runs(runs);
  EpochMatrices matrices;
  std::vector<std::map<int64_t, Rows>> rows;
  std::set<int64_t> epochs;
  for (const RunGroup& group : groups) {
    matrices.labels.push_back(group.label);
    for (const auto& [epoch, _] : rows.emplace_back(rows_by_epoch(group))) epochs.insert(epoch);
  }
  for (const int64_t epoch : epochs) add_epoch(matrices, epoch, rows);
  return matrices;
}

std::string epoch_matrices_text(const EpochMatrices& matrices, const Comparison& comparison, size_t width) {
  constexpr int kSecondsDigits = 4, kLossDigits = 6;
  RNNLAB_INVARIANT(matrices.labels.size() == comparison.groups.size(),
                   "the matrices and the comparison are of different runs");
  const std::vector<std::string> headings = short_labels(comparison);
  const Marks marks = has_warmup(matrices) ? Marks::kWarmup : Marks::kNone;
  std::string text = "Training seconds by epoch:\n" +
                     matrix_text(matrices, matrices.train_seconds, headings, kSecondsDigits, marks, width) +
                     "\nTrain loss by epoch:\n" +
                     matrix_text(matrices, matrices.train_loss, headings, kLossDigits, Marks::kNone, width) + "\n";
  if (marks == Marks::kWarmup) text += "* warm-up, which does not count for s/epoch\n";
  if (has_gap(matrices.train_seconds)) text += "- no run finished this epoch\n";
  for (size_t column = 0; column < matrices.labels.size(); ++column) text += runs_note(matrices, column);
  return without_controls(text);
}

std::string epoch_matrices_csv(const EpochMatrices& matrices, const Comparison& comparison) {
  std::string text = csv_line(
      {"label", "epoch", "num_runs", "is_warmup", "train_seconds", "train_loss", "forced", "warnings", "differences"});
  for (size_t column = 0; column < matrices.labels.size(); ++column)
    for (size_t row = 0; row < matrices.epochs.size(); ++row)
      if (matrices.num_runs[row][column] > 0)
        text += csv_line({matrices.labels[column], fmt::format("{}", matrices.epochs[row]),
                          fmt::format("{}", matrices.num_runs[row][column]),
                          matrices.is_warmup[row][column] ? "1" : "0", csv_number(matrices.train_seconds[row][column]),
                          csv_number(matrices.train_loss[row][column]), join(comparison.forced, "; "),
                          join(texts_of(comparison.warnings), "; "), join(comparison.differences, "; ")});
  return text;
}

// ---- what an epoch costs ----

namespace {

// A column of the table of costs, with the value of a group.
struct CostColumn {
  const char* heading;
  std::optional<double> (*value)(const EpochCost& cost);
  NumberKind kind = NumberKind::kMeasure;
};

std::optional<double> of_energy(const EpochCost& cost, double EnergyUse::*member) {
  return cost.energy ? std::optional((*cost.energy).*member) : std::nullopt;
}

constexpr const char* kJoules = "J/epoch";

const CostColumn kCostColumns[] = {
    {kJoules, [](const EpochCost& cost) { return of_energy(cost, &EnergyUse::joules); }},
    {"J/sample", [](const EpochCost& cost) { return of_energy(cost, &EnergyUse::joules_per_sample); }},
    {"W", [](const EpochCost& cost) { return of_energy(cost, &EnergyUse::watts); }},
    {"of best rate", [](const EpochCost& cost) { return cost.share_of_best_rate; }, NumberKind::kShare},
    {"price/epoch", [](const EpochCost& cost) { return cost.price; }},
};

std::vector<double> values_of(const CostColumn& column, const Comparison& comparison) {
  std::vector<double> values;
  for (const GroupResult& group : comparison.groups)
    if (const auto value = group.cost ? column.value(*group.cost) : std::nullopt) values.push_back(*value);
  return values;
}

std::string cost_cell(const GroupResult& group, const CostColumn& column, const ColumnFormat& format) {
  const auto value = group.cost ? column.value(*group.cost) : std::nullopt;
  if (!value) return "-";
  if (column.kind == NumberKind::kShare) return percent_text(value);
  const bool is_marked = column.heading == kJoules && group.cost->energy->is_shared;
  return number_text(format, *value) + (is_marked ? "*" : "");
}

bool has_energy(const GroupResult& group, bool is_of_cpu) {
  return group.cost && group.cost->energy && group.cost->energy->is_of_cpu == is_of_cpu;
}

bool has_shared_energy(const GroupResult& group) {
  return group.cost && group.cost->energy && group.cost->energy->is_shared;
}

}  // namespace

TextTable cost_table(const Comparison& comparison) {
  std::vector<CostColumn> columns;
  std::vector<ColumnFormat> formats;
  for (const CostColumn& column : kCostColumns) {
    const std::vector<double> values = values_of(column, comparison);
    if (values.empty()) continue;
    columns.push_back(column);
    formats.push_back(column_format({.name = column.heading,
                                     .heading = column.heading,
                                     .kind = column.kind,
                                     .role = ColumnRole::kMeasurement,
                                     .member = {}},
                                    values));
  }
  TextTable table;
  if (columns.empty()) return table;
  table.add_column("run", Align::kLeft);
  for (const CostColumn& column : columns) table.add_column(column.heading, Align::kRight);
  const std::vector<std::string> labels = short_labels(comparison);
  for (size_t group = 0; group < comparison.groups.size(); ++group) {
    std::vector<std::string> cells = {labels[group]};
    for (size_t i = 0; i < columns.size(); ++i)
      cells.push_back(cost_cell(comparison.groups[group], columns[i], formats[i]));
    table.add_row(std::move(cells));
  }
  return table;
}

std::vector<std::string> cost_legend(const Comparison& comparison) {
  const auto any = [&](auto is_so) { return std::ranges::any_of(comparison.groups, is_so); };
  std::vector<std::string> legend;
  if (any([](const GroupResult& group) { return has_energy(group, false); }))
    legend.emplace_back("J, W: of the GPUs of the run, by their own counters, in epochs of a second or more; medians.");
  if (any([](const GroupResult& group) { return has_energy(group, true); }))
    legend.emplace_back(
        "J, W: of all processors of the machine, with all of its programs, in epochs of a second or more; medians.");
  if (any(has_shared_energy)) legend.emplace_back("* another program used the device and is included.");
  if (any([](const GroupResult& group) { return group.cost && group.cost->share_of_best_rate; }))
    legend.emplace_back(
        "of best rate: products of training (three times the forward pass) over the rate of a large product, which was "
        "measured after the training.");
  if (any([](const GroupResult& group) { return group.cost && group.cost->price; }))
    legend.emplace_back("price/epoch: of s/epoch at the price per hour.");
  return legend;
}

}  // namespace rnnlab
