// SPDX-License-Identifier: Apache-2.0
// Appends rows to `epochs.csv` and `epochs.jsonl` after each epoch, and seals the rows with a chain of hashes.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/system/files.h"
#include "results/epoch_row.h"

namespace rnnlab {

// Returns the last hash of a chain over the rows; "" without rows. Each SHA-256 is of the hash before it and of a row's
// values, as epochs.csv writes them, in alphabetical order of their columns. Absent values are left out, so a column of
// a later version changes no hash.
std::string rows_sha256(std::span<const EpochRow> rows);

// Returns the first difference between the rows of an epochs.csv and the whole text of an epochs.jsonl: "epoch 3,
// train_seconds: 0.5 in epochs.csv, 1 in epochs.jsonl". Returns nothing if they agree in all columns of this version.
std::optional<std::string> disagreement(std::span<const EpochRow> rows, std::string_view jsonl);

// Writes epochs.csv and epochs.jsonl of a run folder. Rows are appended whole, so a killed run leaves every finished
// epoch. A full disk is an error.
class EpochLog {
 public:
  // Creates both files, with these columns of metrics on request, or appends to existing files. Throws UserError
  // kDevice.
  explicit EpochLog(const std::filesystem::path& run_folder, const std::vector<std::string>& on_request = {});

  // Throws UserError kDevice if one of the files cannot take the whole row.
  void append(const EpochRow& row);

  // Calls fsync for both files, so that a full disk is an error here at the latest. Throws UserError kDevice. Call sync
  // after the last row, too.
  void sync();

 private:
  std::vector<std::string> columns_;  // of epochs.csv
  AppendFile csv_;
  AppendFile jsonl_;
};

// Reads the rows of epochs 1 to `last` of `run_folder`/epochs.csv and ignores later rows. Throws UserError kData if a
// row is missing.
std::vector<EpochRow> read_first_epochs(const std::filesystem::path& run_folder, int64_t last);

// Writes both files again with these rows and the columns that they have, each file atomically. Throws UserError
// kDevice.
void rewrite_epochs(const std::filesystem::path& run_folder, std::span<const EpochRow> rows);

// Reads the rows of `run_folder`/epochs.csv. Throws UserError kData with file and line.
std::vector<EpochRow> read_epochs(const std::filesystem::path& run_folder);

}  // namespace rnnlab
