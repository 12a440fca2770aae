// SPDX-License-Identifier: Apache-2.0
// What a comparison shows below its table: the conditions that it held equal, the times of all epochs, and the costs of
// an epoch.
#include "results/comparison_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <ranges>
#include <set>

#include "base/error.h"
#include "base/numbers.h"
#include "base/statistics.h"
#include "base/system/json_fields.h"
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

// A condition that has its usual value in all runs is not listed.
void add_unless_usual(HeldEqual& held, const char* what, const std::string& usual, const std::vector<RunRecord>& runs,
                      const TextOf& text) {
  if (std::ranges::all_of(runs, [&](const RunRecord& run) { return text(run) == usual; })) return;
  add_condition(held, what, runs, text, [&](const RunRecord& a, const RunRecord& b) { return text(a) == text(b); });
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
  add_unless_usual(held, "program", "rnnlab", runs, [](const RunRecord& run) { return program_of(run); });
  add_unless_usual(held, "devices", "1", runs, [](const RunRecord& run) { return std::to_string(num_devices(run)); });
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

enum class Marks { kNone, kWarmup };

// A number without a star ends in a space if others have a star, so that the digits are aligned.
std::string matrix_text(const EpochMatrices& matrices, const Matrix& matrix, const std::vector<std::string>& headings,
                        int digits, Marks marks, size_t width) {
  ColumnList<size_t> columns = {{"epoch", [&](size_t row) { return matrices.epochs[row]; }}};
  for (size_t group = 0; group < headings.size(); ++group)
    columns.emplace_back(headings[group], [&, group](size_t row) {
      const char* mark = marks == Marks::kNone ? "" : matrices.is_warmup[row][group] ? "*" : " ";
      return significant_digits(matrix[row][group], digits) + mark;
    });
  return table_of(columns, std::views::iota(size_t{0}, matrix.size())).text_in_blocks(width);
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
  struct Place {
    size_t group, row;
  };
  std::vector<Place> places;
  for (size_t group = 0; group < matrices.labels.size(); ++group)
    for (size_t row = 0; row < matrices.epochs.size(); ++row)
      if (matrices.num_runs[row][group] > 0) places.push_back({group, row});
  const auto in = [](const auto& matrix) { return [&](const Place& place) { return matrix[place.row][place.group]; }; };
  const ColumnList<Place> columns = {
      {"label", [&](const Place& place) { return matrices.labels[place.group]; }},
      {"epoch", [&](const Place& place) { return matrices.epochs[place.row]; }},
      {"num_runs", in(matrices.num_runs)},
      {"is_warmup", [&](const Place& place) -> bool { return matrices.is_warmup[place.row][place.group]; }},
      {"train_seconds", in(matrices.train_seconds)},
      {"train_loss", in(matrices.train_loss)},
      {"forced", [&](const Place&) { return comparison.forced; }},
      {"warnings", [&](const Place&) { return texts_of(comparison.warnings); }},
      {"differences", [&](const Place&) { return comparison.differences; }}};
  return csv_of(columns, places);
}

// ---- what an epoch costs ----

namespace {

constexpr const char* kJoules = "J/epoch";

template <double EnergyUse::*member>
std::optional<double> of_energy(const EpochCost& cost) {
  return cost.energy ? std::optional((*cost.energy).*member) : std::nullopt;
}

// What is known of the cost of an epoch, in the order of the columns.
struct PartOfCost {
  const char* heading;
  std::optional<double> (*value)(const EpochCost& cost);
  NumberKind kind = NumberKind::kMeasure;

  std::optional<double> of(const GroupResult& group) const { return group.cost ? value(*group.cost) : std::nullopt; }
};

const PartOfCost kPartsOfCost[] = {
    {kJoules, of_energy<&EnergyUse::joules>},
    {"J/sample", of_energy<&EnergyUse::joules_per_sample>},
    {"W", of_energy<&EnergyUse::watts>},
    {"of best rate", [](const EpochCost& cost) { return cost.share_of_best_rate; }, NumberKind::kShare},
    {"price/epoch", [](const EpochCost& cost) { return cost.price; }},
};

std::string cost_cell(const GroupResult& group, const PartOfCost& part, const ColumnFormat& format) {
  const auto value = part.of(group);
  if (!value) return kNothing;
  if (part.kind == NumberKind::kShare) return percent_text(value);
  const bool is_marked = part.heading == kJoules && group.cost->energy->is_shared;
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
  ColumnList<GroupResult> columns;
  for (const PartOfCost& part : kPartsOfCost) {
    std::vector<double> values;
    for (const GroupResult& group : comparison.groups)
      if (const auto value = part.of(group)) values.push_back(*value);
    if (values.empty()) continue;
    const ColumnFormat format = column_format(part.kind, part.heading, values);
    columns.emplace_back(part.heading, [=](const GroupResult& group) { return cost_cell(group, part, format); });
  }
  if (columns.empty()) return {};
  columns.insert(columns.begin(), short_label(comparison));
  return table_of(columns, comparison.groups);
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
