// epochs.csv and epochs.jsonl of a run folder: rows are appended whole as they come, so a run that is killed leaves
// every finished epoch behind. A full disk is an error.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "results/append_file.h"
#include "results/epoch_row.h"

namespace rnnlab {

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

// Both files anew, with these rows. Atomically, each file by itself. UserError kDevice.
void rewrite_epochs(const std::filesystem::path& run_folder, std::span<const EpochRow> rows);

// The rows of `run_folder`/epochs.csv. UserError kData with file and line.
std::vector<EpochRow> read_epochs(const std::filesystem::path& run_folder);

}  // namespace rnnlab
