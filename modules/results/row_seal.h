// What holds the rows of a run together: a chain of hashes over them, and the two files that have them both.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "results/epoch_row.h"

namespace rnnlab {

// Each row's SHA-256 is of the one before it and of the row's values, by the names of their columns in alphabetical
// order as epochs.csv writes them. Values that are absent are left out, so a column that comes later changes nothing.
// Of no rows: "".
std::string rows_sha256(std::span<const EpochRow> rows);

// Where the rows of an epochs.csv and the whole text of an epochs.jsonl do not say the same: "epoch 3, train_seconds:
// 0.5 in epochs.csv, 1 in epochs.jsonl". Nothing where they agree in all columns that are known here.
std::optional<std::string> disagreement(std::span<const EpochRow> rows, std::string_view jsonl);

}  // namespace rnnlab
