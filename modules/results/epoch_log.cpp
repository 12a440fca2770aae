// SPDX-License-Identifier: Apache-2.0
#include "results/epoch_log.h"

#include <algorithm>

#include "base/error.h"
#include "base/folder.h"
#include "base/numbers.h"
#include "base/sha256.h"
#include "base/system/json_fields.h"
#include "base/text.h"
#include "results/run_folder.h"

namespace rnnlab {
namespace {

// Reading loses the sign of NaN, so the hash must not depend on it.
std::string canonical_cell(const EpochRow& row, const std::string& column) {
  const std::string text = epoch_csv_cell(row, column);
  return text == "-nan" ? "nan" : text;
}

std::string link(const std::string& before, const EpochRow& row) {
  std::vector<std::string> columns = epoch_csv_columns(std::span(&row, 1));
  std::ranges::sort(columns);
  Sha256 digest;
  digest.update(before);
  for (const std::string& column : columns) {
    const std::string text = canonical_cell(row, column);
    if (!text.empty()) digest.update("\n" + column + "=" + text);
  }
  return digest.hex();
}

// Returns a JSON line without its line end; nothing if the line is not an object.
std::optional<Json> parsed(const std::string& line) {
  try {
    Json json = parse_json(line, kEpochsJsonlFile);
    if (json.is_object()) return json;
  } catch (const UserError&) {  // the line was changed
    return std::nullopt;
  }
  return std::nullopt;
}

// Returns the text of a JSON value. A row of epochs.csv is compared as its own JSON line, so that 1 and 1.0, or null
// and absent, are equal.
std::string shown_cell(const Json& line, const std::string& column) {
  const auto found = line.find(column);
  if (found == line.end() || found->is_null()) return "absent";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

std::optional<std::string> disagreement(const EpochRow& row, const Json& line) {
  const Json own = Json::parse(epoch_jsonl_line(row));
  for (const EpochColumn& column : epoch_columns()) {
    const std::string in_csv = shown_cell(own, column.name), in_jsonl = shown_cell(line, column.name);
    if (in_csv != in_jsonl)
      return fmt::format("epoch {}, {}: {} in epochs.csv, {} in epochs.jsonl", row.epoch, column.name, in_csv,
                         on_one_line(in_jsonl));
  }
  return std::nullopt;
}

}  // namespace

std::string rows_sha256(std::span<const EpochRow> rows) {
  std::string chain;
  for (const EpochRow& row : rows) chain = link(chain, row);
  return chain;
}

std::optional<std::string> disagreement(std::span<const EpochRow> rows, std::string_view jsonl) {
  std::vector<std::string> lines = split(jsonl, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  for (size_t i = 0; i < std::min(rows.size(), lines.size()); ++i) {
    const auto line = parsed(lines[i]);
    if (!line) return fmt::format("line {} of epochs.jsonl is not a JSON object", i + 1);
    if (auto found = disagreement(rows[i], *line)) return found;
  }
  if (rows.size() == lines.size()) return std::nullopt;
  return fmt::format("{} in epochs.csv, {} in epochs.jsonl", counted(std::ssize(rows), "row"), lines.size());
}

namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 28;  // enough for a million epochs

// An incomplete line at the end is left out.
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

EpochLog::EpochLog(const std::filesystem::path& run_folder, const std::vector<std::string>& on_request)
    : csv_(run_folder / kEpochsCsvFile), jsonl_(run_folder / kEpochsJsonlFile) {
  if (csv_.is_empty()) {
    columns_ = epoch_csv_columns();
    columns_.insert(columns_.end(), on_request.begin(), on_request.end());
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
  std::vector<std::string> columns = epoch_csv_columns(rows);
  const std::filesystem::path path = run_folder / kEpochsCsvFile;
  if (path_exists(path))
    for (const std::string& column : columns_in_header(read_file(path, kMaxBytes))) add_once(columns, column);
  std::string csv = epoch_csv_header(columns);
  std::string jsonl;
  for (const EpochRow& row : rows) {
    csv += epoch_csv_line(row, columns);
    jsonl += epoch_jsonl_line(row);
  }
  write_file_atomically(path, csv);
  write_file_atomically(run_folder / kEpochsJsonlFile, jsonl);
}

std::vector<EpochRow> read_epochs(const std::filesystem::path& run_folder) {
  const std::filesystem::path path = run_folder / kEpochsCsvFile;
  return parse_epochs_csv(read_file(path, kMaxBytes), path.string());
}

}  // namespace rnnlab
