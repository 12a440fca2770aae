// SPDX-License-Identifier: Apache-2.0
// The values of an epoch's row that equal runs have in common, also a run that was stopped and resumed.
#pragma once

#include <fmt/format.h>

#include <string>

#include "base/numbers.h"
#include "results/epoch_row.h"

namespace rnnlab::testing {

inline bool is_computed(const EpochColumn& column) {
  return column.role == ColumnRole::kMetric || column.role == ColumnRole::kTraining || column.name == "epoch";
}

// Returns names and exact values: "epoch 1 train_loss 0.5 ".
inline std::string computed_values(const EpochRow& row) {
  std::string line;
  for (const EpochColumn& column : epoch_columns())
    if (const auto number = number_in(row, column); number && is_computed(column))
      line += fmt::format("{} {} ", column.name, format_shortest(*number));
  return line;
}

}  // namespace rnnlab::testing
