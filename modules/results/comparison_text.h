// Formats a comparison for a terminal: first the reasons not to trust it, then the table, then notes and details.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/comparison.h"
#include "results/epoch_row.h"
#include "system/table.h"

namespace rnnlab {

std::string comparison_text(const Comparison& comparison);

// comparison_text consists of these parts, which different outputs of a comparison use, too.

// Returns a row for each group, in the order of the groups. The first column contains the whole label, and the ending
// of a group that is not complete.
TextTable comparison_table(const Comparison& comparison);

// Returns a label for each group that fits into a table: the whole label if all labels are short, otherwise a number
// and a part of the label. comparison_text prints the whole labels below its table.
std::vector<std::string> short_labels(const Comparison& comparison);

// Returns sentences that explain the columns.
std::vector<std::string> comparison_legend(const Comparison& comparison);

// Returns sentences about the time of each group's work, for a sample and in total, and then about the agreement of
// each group's losses with the baseline's.
std::vector<std::string> comparison_work(const Comparison& comparison);

// Returns whether the table shows this metric: train_loss and the metrics of validation. CSV and JSON also contain the
// other metrics of the training set.
bool is_shown(const EpochColumn& column);

// Returns "0.302", or "-" if the value is absent.
std::string significant_digits(const std::optional<double>& value, int digits);

}  // namespace rnnlab
