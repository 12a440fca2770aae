#include "results/row_seal.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/sha256.h"
#include "base/text.h"
#include "results/epoch_text.h"
#include "results/json_fields.h"

namespace rnnlab {
namespace {

// The sign of what is no number is lost where it is read back.
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

// A JSON line without its line end; nothing where it is no object.
std::optional<Json> parsed(const std::string& line) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  return json;
}

// As the row's own line has it, so that 1 and 1.0, or null and absent, are the same.
std::string shown_cell(const Json& line, const std::string& column) {
  const auto found = line.find(column);
  if (found == line.end() || found->is_null()) return "absent";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

std::optional<std::string> disagreement(const EpochRow& row, const Json& line) {
  const Json own = Json::parse(epoch_jsonl_line(row));
  for (const EpochColumn& column : epoch_columns()) {
    const std::string name(column.name);
    const std::string in_csv = shown_cell(own, name), in_jsonl = shown_cell(line, name);
    if (in_csv != in_jsonl)
      return fmt::format("epoch {}, {}: {} in epochs.csv, {} in epochs.jsonl", row.epoch, name, in_csv,
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
    if (!line) return fmt::format("line {} of epochs.jsonl is no JSON object", i + 1);
    if (auto found = disagreement(rows[i], *line)) return found;
  }
  if (rows.size() == lines.size()) return std::nullopt;
  return fmt::format("{} in epochs.csv, {} in epochs.jsonl", counted(std::ssize(rows), "row"), lines.size());
}

}  // namespace rnnlab
