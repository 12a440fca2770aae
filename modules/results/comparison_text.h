// A comparison for reading on a terminal: first why it should not be trusted, if so, then the table, then the small
// print.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/comparison.h"
#include "results/epoch_row.h"
#include "system/table.h"

namespace rnnlab {

std::string comparison_text(const Comparison& comparison);

// What comparison_text is made of, for others who show a comparison.

// A row for each group, in their order. The first column has the whole label, with how the group ended where that was
// not well.
TextTable comparison_table(const Comparison& comparison);

// A label for each group that fits into a table: the whole label where all are short, else its number and how it
// begins. comparison_text has the whole labels below its table.
std::vector<std::string> short_labels(const Comparison& comparison);

// What the columns mean, a sentence each.
std::vector<std::string> comparison_legend(const Comparison& comparison);

// What each group's work took, by the sample and in all, then how far its losses agree with the baseline's: a sentence
// each.
std::vector<std::string> comparison_work(const Comparison& comparison);

// Of losses and metrics: train_loss and what validation says. The training set's other metrics are in the CSV and JSON.
bool is_shown(const EpochColumn& column);

// "0.302", or "-" where there is none.
std::string significant_digits(const std::optional<double>& value, int digits);

}  // namespace rnnlab
