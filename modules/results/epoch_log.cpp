#include "results/epoch_log.h"

#include "base/error.h"
#include "base/numbers.h"
#include "results/epoch_text.h"
#include "results/files.h"
#include "results/run_folder.h"

namespace rnnlab {
namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 28;  // a million epochs

// A part of a line at the end is no line.
std::string first_lines(const std::string& text, int64_t count) {
  size_t end = 0;
  for (int64_t line = 0; line < count; ++line) {
    const size_t line_end = text.find('\n', end);
    if (line_end == std::string::npos) break;
    end = line_end + 1;
  }
  return text.substr(0, end);
}

}  // namespace

EpochLog::EpochLog(const std::filesystem::path& run_folder)
    : csv_(run_folder / kEpochsCsvFile), jsonl_(run_folder / kEpochsJsonlFile) {
  if (csv_.is_empty()) {
    columns_ = epoch_csv_columns();
    csv_.append(epoch_csv_header(columns_));
  } else {
    columns_ = columns_in_header(read_file(run_folder / kEpochsCsvFile, kMaxBytes));
  }
}

void EpochLog::append(const EpochRow& row) {
  csv_.append(epoch_csv_line(row, columns_));
  jsonl_.append(epoch_jsonl_line(row));
}

void EpochLog::sync() {
  csv_.sync();
  jsonl_.sync();
}

std::vector<EpochRow> read_first_epochs(const std::filesystem::path& run_folder, int64_t last) {
  const std::filesystem::path path = run_folder / kEpochsCsvFile;
  std::vector<EpochRow> rows;
  if (last > 0) rows = parse_epochs_csv(first_lines(read_file(path, kMaxBytes), 1 + last), path.string());
  if (std::ssize(rows) != last || (last > 0 && rows.back().epoch != last))
    throw_error(ExitCode::kData, "{}: {}, expected at least {}; the file was cut off: restore it, or train again",
                path.string(), counted(std::ssize(rows), "epoch"), last);
  return rows;
}

void rewrite_epochs(const std::filesystem::path& run_folder, std::span<const EpochRow> rows) {
  const std::vector<std::string> columns = epoch_csv_columns(rows);
  std::string csv = epoch_csv_header(columns);
  std::string jsonl;
  for (const EpochRow& row : rows) {
    csv += epoch_csv_line(row, columns);
    jsonl += epoch_jsonl_line(row);
  }
  write_file_atomically(run_folder / kEpochsCsvFile, csv);
  write_file_atomically(run_folder / kEpochsJsonlFile, jsonl);
}

std::vector<EpochRow> read_epochs(const std::filesystem::path& run_folder) {
  const std::filesystem::path path = run_folder / kEpochsCsvFile;
  return parse_epochs_csv(read_file(path, kMaxBytes), path.string());
}

}  // namespace rnnlab
