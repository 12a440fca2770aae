// SPDX-License-Identifier: Apache-2.0
// Writes a comparison for a terminal, and as CSV and JSON for programs. The text has reasons why rows cannot be
// compared, the table, the answer in one sentence, and reasons to doubt the times; on request also notes and details.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/system/terminal.h"
#include "results/comparison.h"
#include "results/epoch_row.h"
#include "results/ranking.h"
#include "results/run_record.h"
#include "results/table.h"

namespace rnnlab {

// ---- text and tables (comparison_output.cpp) ----

// kAnswer: the table, the answer and what speaks against it. kAll: also what took how long, what ran, and the seeds.
enum class Detail { kAnswer, kAll };

// On a terminal of `width` columns, a table that is too wide is divided into times and metrics. Of its seeds, processes
// and epochs, those that are equal in all rows become one line. Then it leaves out its least important columns, and a
// line names them. Tables fit as far as possible: long labels keep their width.
std::string comparison_text(const Comparison& comparison, size_t width = kAnyWidth, Detail detail = Detail::kAnswer);

// Returns the answer: how many times as fast as the baseline the fastest group with that verdict is, else what the
// group with the smallest ratio takes; without ratios the time of the only group, or which has the best metric
// (answer.cpp).
std::string answer_sentence(const Comparison& comparison);

// Returns the sentence of one group: its verdict over the baseline, or its time if it has no ratio.
std::string group_sentence(const GroupResult& group, const Comparison& comparison);

// Returns " (95 % interval 3.1 to 3.8)"; "" without an interval.
std::string interval_in_words(const std::optional<double>& low, const std::optional<double>& high);

// comparison_text consists of these parts, which different outputs of a comparison use, too.

// Return the times, with a row for each group in the order of the groups, whose first column contains the whole label,
// and the ending of a group that is not complete; and the metrics, of the best epoch of each group if it is recorded,
// else of the last, and those of predictions without a model.
TextTable time_table(const Comparison& comparison);
TextTable quality_table(const Comparison& comparison);
inline constexpr const char* kQualityLegend =
    "Metrics are of the best epoch, whose weights predict and evaluate use, or of the last if no best epoch is "
    "recorded.";

// Returns a label for each group that fits into a table: the whole label if all labels are short, otherwise a number
// and a part of the label. comparison_text prints the whole labels below its table.
std::vector<std::string> short_labels(const Comparison& comparison);

// Returns the first column of a table whose rows are groups of the comparison, in its memory.
Column<GroupResult> short_label(const Comparison& comparison);

// Returns sentences that explain the columns.
std::vector<std::string> comparison_legend(const Comparison& comparison);

// Returns sentences about the time of each group's work, for a sample and in total, then about the agreement of each
// group's losses with the baseline's, then about predictions without a model.
std::vector<std::string> comparison_work(const Comparison& comparison);

// Returns whether the table shows this metric: train_loss and the metrics of validation. CSV and JSON also contain the
// other metrics of the training set.
bool is_shown(const EpochColumn& column);

// Returns "0.302", or "-" if the value is absent.
std::string significant_digits(const std::optional<double>& value, int digits);

// Returns "0.302 .. 0.331", or "-" if a bound is absent.
std::string interval_text(const std::optional<double>& low, const std::optional<double>& high, int digits);

// Return "31.4 %", "30.1 .. 32.0 %", and "+3.1 %" for 1.031; "-" if a value is absent.
std::string percent_text(const std::optional<double>& part);
std::string percent_range(const std::optional<double>& low, const std::optional<double>& high);
std::string excess_text(const std::optional<double>& quotient);

// Returns what an epoch of each group costs, with a column for each part of the cost that is known of a group; an empty
// table if nothing is known.
TextTable cost_table(const Comparison& comparison);

// Returns sentences that explain the columns of cost_table.
std::vector<std::string> cost_legend(const Comparison& comparison);

// Returns the speed-up and efficiency of those groups of a comparison that have a speed-up, or an empty table.
TextTable device_speed_table(const Comparison& comparison);

// Returns sentences that explain the columns of device_speed_table.
std::vector<std::string> device_speed_legend();

// Explains the columns "exchange" and "slowest" of tables on several devices.
inline constexpr const char* kExchangeLegend =
    "exchange: the part of an epoch that was spent in the exchange of gradients without overlap; slowest: how "
    "much longer the slowest process computes than the fastest. Medians.";

// Returns the beginning of the text of a comparison that was forced, with the reasons against it; "" without reasons.
std::string forced_lines(const std::vector<std::string>& forced);

// Returns each text on a line after the prefix.
std::string lines_of_texts(const std::string& prefix, const std::vector<std::string>& texts);

// ---- conditions that were held equal (comparison_tables.cpp) ----

// HeldEqual lists each condition of a comparison with its value and states whether all runs share the value, so that a
// reader can check that the comparison is fair.

// Holds a condition and its values: a single value if it was held equal, otherwise each value once.
struct HeldCondition {
  std::string what;
  std::vector<std::string> values;

  RNNLAB_FIELDS(what, values)
};

struct HeldEqual {
  std::vector<HeldCondition> equal;
  std::vector<HeldCondition> unequal;
  std::vector<std::string> unrecorded;  // not recorded by at least one run

  RNNLAB_FIELDS(equal, unequal, unrecorded)
};

HeldEqual held_equal(const std::vector<RunRecord>& runs);

std::string held_equal_text(const HeldEqual& held);

// ---- matrices of epochs (comparison_tables.cpp) ----

// EpochMatrices arranges the training seconds and the train loss of each epoch and group as matrices, as a speed test
// prints them at its end: an epoch is a row, a group of runs is a column. A cell combines those runs of the group that
// finished the epoch: the geometric mean of their times, the median of their losses. Warm-up epochs are included and
// marked. Intervals and ratios are left out; comparison.h has them.

// Each matrix has a row for each of `epochs`, with a cell for each of `labels`.
struct EpochMatrices {
  std::vector<std::string> labels;             // of the groups, in the comparison's order
  std::vector<int64_t> epochs;                 // epochs that at least one run finished, ascending
  std::vector<std::vector<int64_t>> num_runs;  // runs that finished the epoch
  std::vector<std::vector<bool>> is_warmup;    // in at least one run
  // A cell is absent if no run finished the epoch, and NaN if one of several runs diverged.
  std::vector<std::vector<std::optional<double>>> train_seconds, train_loss;

  RNNLAB_FIELDS(labels, epochs, num_runs, is_warmup, train_seconds, train_loss)
};

EpochMatrices epoch_matrices(const std::vector<RunRecord>& runs);

// Returns both matrices for a terminal, with the comparison's short labels as headings, and the meaning of the marks.
// `comparison` must be of the same runs. Columns that do not fit into `width` are below the others.
std::string epoch_matrices_text(const EpochMatrices& matrices, const Comparison& comparison, size_t width = kAnyWidth);

// Returns both matrices as CSV (RFC 4180), with one line for each group and each of its epochs. Every line contains the
// reasons to refuse or to doubt the comparison.
std::string epoch_matrices_csv(const EpochMatrices& matrices, const Comparison& comparison);

// ---- CSV and JSON, and text with additions (comparison_files.cpp) ----

// Returns a comparison as CSV (RFC 4180) with one line for each group. Numbers have full precision, absent numbers are
// empty fields, and several reasons or warnings share one field with "; " between them.
std::string comparison_csv(const Comparison& comparison);

// Each member that is present becomes a field of the same name in JSON, and a table of the text.
struct ComparisonAdditions {
  std::optional<HeldEqual> held_equal = std::nullopt;
  std::optional<EpochMatrices> epoch_matrices = std::nullopt;
  std::optional<Ranking> over_folds = std::nullopt;  // of runs of a back-test
};

// A back-test asks for the mean over its folds, so the table of it comes before the times; the others follow them.
std::string comparison_text(const Comparison& comparison, const ComparisonAdditions& additions, size_t width,
                            Detail detail);

// Returns a comparison as JSON with its schema version: all fields of `Comparison` under the same names, and the
// requested additions.
std::string comparison_json(const Comparison& comparison, const ComparisonAdditions& additions = {});

}  // namespace rnnlab
