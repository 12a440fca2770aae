// `epochs.csv` and `epochs.jsonl`, appended to after each epoch, and the chain of hashes that seals their rows.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/epoch_row.h"
#include "system/files.h"

namespace rnnlab {

// What holds the rows of a run together: a chain of hashes over them, and the two files that have them both.

// Each row's SHA-256 is of the one before it and of the row's values, by the names of their columns in alphabetical
// order as epochs.csv writes them. Values that are absent are left out, so a column that comes later changes nothing.
// Of no rows: "".
std::string rows_sha256(std::span<const EpochRow> rows);

// Where the rows of an epochs.csv and the whole text of an epochs.jsonl do not say the same: "epoch 3, train_seconds:
// 0.5 in epochs.csv, 1 in epochs.jsonl". Nothing where they agree in all columns that are known here.
std::optional<std::string> disagreement(std::span<const EpochRow> rows, std::string_view jsonl);

// epochs.csv and epochs.jsonl of a run folder: rows are appended whole as they come, so a run that is killed leaves
// every finished epoch behind. A full disk is an error.

class EpochLog {
 public:
  // Makes both files, or goes on at their ends. UserError kDevice.
  explicit EpochLog(const std::filesystem::path& run_folder);

  // UserError kDevice when either file cannot take the whole row.
  void append(const EpochRow& row);

  // fsync of both files: a disk that was found full only now is an error here. UserError kDevice. Call it after the
  // last row too.
  void sync();

 private:
  std::vector<std::string> columns_;  // of epochs.csv
  AppendFile csv_;
  AppendFile jsonl_;
};

// The rows of epochs 1 to `last` of `run_folder`/epochs.csv, whatever comes behind them. UserError kData where one is
// missing.
std::vector<EpochRow> read_first_epochs(const std::filesystem::path& run_folder, int64_t last);

// Writes both files again, with these rows, each file atomically. UserError kDevice.
void rewrite_epochs(const std::filesystem::path& run_folder, std::span<const EpochRow> rows);

// The rows of `run_folder`/epochs.csv. UserError kData with file and line.
std::vector<EpochRow> read_epochs(const std::filesystem::path& run_folder);

}  // namespace rnnlab
