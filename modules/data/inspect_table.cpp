// csv, its delimiter and header guessed.
#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "data/inspect_formats.h"
#include "data/number_summary.h"
#include "data/readers/csv_columns.h"

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

bool is_number(std::string_view cell) { return parse_double(trim(cell)).has_value(); }

// Names are not numbers.
CsvHeader guess_header(const Table& headless) {
  for (int64_t column = 0; column < headless.num_columns(); ++column) {
    if (is_number(headless.cell(0, column))) return CsvHeader::kAbsent;
  }
  return headless.num_rows() > 1 ? CsvHeader::kPresent : CsvHeader::kAbsent;
}

bool is_numeric(const Table& table, int64_t column) {
  for (int64_t row = 0; row < table.num_rows(); ++row) {
    if (is_number(table.cell(row, column))) return true;
  }
  return false;
}

// The cells of a column, counted by what they hold.
class ColumnSummary {
 public:
  void add(std::string_view cell) {
    if (const auto number = parse_double(cell)) {
      numbers_.add(*number);
      ++num_numbers_;
    } else if (cell.empty()) {
      ++num_empty_;
    } else {
      ++num_others_;
      if (others_.size() <= kMostClasses) others_.insert(cell);
    }
  }

  void write(Json& json) const {
    json["numbers"] = num_numbers_;
    json["empty"] = num_empty_;
    json["other"] = num_others_;
    if (num_numbers_ > 0) numbers_.write(json);
    if (others_.size() > kMostClasses) return;
    for (const std::string_view text : others_) json["texts"].push_back(in_quotes(text));
  }

 private:
  NumberSummary numbers_;
  int64_t num_numbers_ = 0;
  int64_t num_empty_ = 0;
  int64_t num_others_ = 0;
  std::set<std::string_view> others_;
};

Json describe_column(const Table& table, int64_t column) {
  ColumnSummary summary;
  for (int64_t row = 0; row < table.num_rows(); ++row) summary.add(trim(table.cell(row, column)));
  Json json;
  json["name"] = table.column_names()[static_cast<size_t>(column)];
  summary.write(json);
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

std::vector<std::string> csv_yaml(const Path& path, const Table& table) {
  std::vector<std::string> lines = {"data:", "  source: csv", "  path: " + yaml_text(path.string())};
  if (table.options().delimiter != ',') lines.push_back("  delimiter: " + yaml_text({table.options().delimiter}));
  if (table.options().header == CsvHeader::kAbsent) lines.emplace_back("  header: false");
  lines.push_back("  target: [" + yaml_text(table.column_names().back()) + "]");
  const bool classes = !is_numeric(table, table.num_columns() - 1);
  lines.emplace_back(classes ? "  task: classification" : "  task: regression  # or classification");
  if (!classes) lines.emplace_back("  # window: 24       # for a series: this many rows make one sample");
  return lines;
}

Json describe_table(const Path& path, const Table& table) {
  Json json;
  json["format"] = "csv";
  json["rows"] = table.num_rows();
  json["delimiter"] = std::string{table.options().delimiter};
  json["header"] = table.options().header == CsvHeader::kPresent;
  for (int64_t column = 0; column < table.num_columns(); ++column) {
    json["columns"].push_back(describe_column(table, column));
  }
  json["first_rows"] = first_rows(table);
  json["yaml"] = csv_yaml(path, table);
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

// A table of at least two columns, by its content; a file that is called .csv must be one.
std::optional<Table> read_if_table(const Path& path, const std::string& head) {
  if (is_named_csv(path)) return read_guessing(path, head);
  try {
    Table table = read_guessing(path, head);
    if (table.num_columns() >= 2) return table;
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
