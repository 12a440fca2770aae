// csv, its delimiter and header guessed.
#include <algorithm>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "data/inspect_formats.h"
#include "data/readers/csv_columns.h"
#include "data/table_advice.h"

namespace rnnlab {
namespace {

using Json = nlohmann::ordered_json;
using Path = std::filesystem::path;

constexpr int64_t kFirstRows = 3;

// The commonest of the usual delimiters in the first line, or a comma.
char guess_delimiter(std::string_view head) {
  const std::string_view line = head.substr(0, head.find_first_of("\r\n"));
  char best = ',';
  for (const char candidate : {';', '\t', '|'}) {
    if (std::ranges::count(line, candidate) > std::ranges::count(line, best)) best = candidate;
  }
  return best;
}

bool is_number(std::string_view cell) { return parse_double(trim(cell)).has_value() || has_decimal_comma(trim(cell)); }

// Names are not numbers.
CsvHeader guess_header(const Table& headless) {
  for (int64_t column = 0; column < headless.num_columns(); ++column) {
    if (is_number(headless.cell(0, column))) return CsvHeader::kAbsent;
  }
  return headless.num_rows() > 1 ? CsvHeader::kPresent : CsvHeader::kAbsent;
}

Json describe_column(const ColumnProfile& profile) {
  Json json;
  json["name"] = profile.name;
  json["numbers"] = profile.num_numbers;
  json["missing"] = profile.num_missing;
  json["other"] = profile.num_texts;
  if (profile.num_numbers > 0) profile.numbers.write(json);
  if (profile.texts.size() > kMostClasses) return json;
  for (const std::string& text : profile.texts) json["texts"].push_back(in_quotes(text));
  return json;
}

Json first_rows(const Table& table) {
  Json rows = Json::array();
  for (int64_t row = 0; row < std::min(kFirstRows, table.num_rows()); ++row) {
    Json cells = Json::array();
    for (int64_t column = 0; column < table.num_columns(); ++column)
      cells.push_back(in_quotes(table.cell(row, column)));
    rows.push_back(cells);
  }
  return rows;
}

Json describe_table(const Path& path, const Table& table) {
  Json json;
  json["format"] = "csv";
  json["rows"] = table.num_rows();
  json["delimiter"] = std::string{table.options().delimiter};
  json["header"] = table.options().header == CsvHeader::kPresent;
  std::vector<ColumnProfile> columns;
  for (int64_t column = 0; column < table.num_columns(); ++column) columns.push_back(profile_column(table, column));
  for (const ColumnProfile& column : columns) json["columns"].push_back(describe_column(column));
  json["first_rows"] = first_rows(table);
  TableAdvice advice = advise(path.string(), table, columns);
  json["hints"] = std::move(advice.hints);
  json["yaml"] = std::move(advice.yaml);
  return json;
}

Table read_guessing(const Path& path, std::string_view head) {
  const char delimiter = guess_delimiter(head);
  Table headless = read_csv(path, {delimiter, CsvHeader::kAbsent});
  if (guess_header(headless) == CsvHeader::kAbsent) return headless;
  return read_csv(path, {delimiter, CsvHeader::kPresent});
}

bool is_named_csv(const Path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".csv") || name.ends_with(".csv.gz") || name.ends_with(".tsv") || name.ends_with(".tsv.gz");
}

bool is_named_text(const Path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".txt") || name.ends_with(".txt.gz");
}

// A table of at least two columns and two rows, by its content; a file that is called .csv must be one, and one that is
// called .txt is a text.
std::optional<Table> read_if_table(const Path& path, const std::string& head) {
  if (is_named_csv(path)) return read_guessing(path, head);
  if (is_named_text(path)) return std::nullopt;
  try {
    Table table = read_guessing(path, head);
    const bool has_header = table.options().header == CsvHeader::kPresent;
    if (table.num_columns() >= 2 && table.num_rows() + (has_header ? 1 : 0) >= 2) return table;
  } catch (const UserError&) {
    return std::nullopt;  // ragged or empty: text
  }
  return std::nullopt;
}

}  // namespace

std::optional<Json> describe_if_table(const Path& path, const std::string& head) {
  const std::optional<Table> table = read_if_table(path, head);
  if (!table) return std::nullopt;
  return describe_table(path, *table);
}

}  // namespace rnnlab
