#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "data/inspect.h"
#include "data/number_summary.h"
#include "data/readers/ascii_image.h"
#include "data/readers/csv_columns.h"
#include "data/readers/gzip.h"
#include "data/readers/idx.h"
#include "data/readers/npy.h"
#include "data/readers/text_file.h"

namespace rnnlab {
namespace {

using Json = nlohmann::ordered_json;
using Path = std::filesystem::path;

constexpr size_t kHeadBytes = 4096;
constexpr int64_t kFirstRows = 3;
constexpr size_t kMostClasses = 100;
constexpr size_t kTextShown = 200;

std::string head_of(const Path& path) {
  std::string head(kHeadBytes, '\0');
  head.resize(open_stream(path)->read(std::as_writable_bytes(std::span(head))));
  return head;
}

// JSON's strings are YAML's double-quoted ones.
std::string yaml_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string folder_of(const Path& path) { return path.has_parent_path() ? path.parent_path().string() : "."; }

// --- idx, npy

void add_class_counts(Json& json, const Array& array) {
  if (array.shape.size() != 1 || array.type == ElementType::kF32 || array.type == ElementType::kF64) return;
  std::map<int64_t, int64_t> counts;
  visit_values(array, [&](auto values) {
    for (const auto value : values) {
      if (counts.size() <= kMostClasses) ++counts[static_cast<int64_t>(value)];
    }
  });
  if (counts.size() > kMostClasses) return;
  for (const auto& [label, count] : counts) {
    json["classes"].push_back({{"class", std::to_string(label)}, {"samples", count}});
  }
}

void add_picture(Json& json, const Array& array) {
  constexpr int64_t kSmallest = 8;
  if (array.shape.size() == 3 && array.shape[1] >= kSmallest && array.shape[2] >= kSmallest) {
    json["picture"] = ascii_image(array, 0);
  }
}

std::vector<std::string> array_yaml(const std::string& source, const Path& path, const Array& array) {
  const bool labels = array.shape.size() == 1;
  return {"data:", "  source: " + source, "  path: " + yaml_text(folder_of(path)),
          "  train_inputs: " + (labels ? "..." : yaml_text(path.filename().string())),
          "  train_targets: " + (labels ? yaml_text(path.filename().string()) : "...")};
}

Json describe_array(const std::string& source, const Path& path, const Array& array) {
  Json json;
  json["format"] = source;
  json["shape"] = array.shape;
  json["type"] = element_name(array.type);
  visit_values(array, [&](auto values) { NumberSummary::of(values).write(json); });
  add_class_counts(json, array);
  add_picture(json, array);
  json["yaml"] = array_yaml(source, path, array);
  return json;
}

// --- csv

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

Json describe_column(const Table& table, int64_t column) {
  Json json;
  json["name"] = table.column_names()[static_cast<size_t>(column)];
  int64_t num_numbers = 0;
  int64_t num_empty = 0;
  std::set<std::string_view> others;
  NumberSummary summary;
  for (int64_t row = 0; row < table.num_rows(); ++row) {
    const std::string_view cell = trim(table.cell(row, column));
    if (const auto number = parse_double(cell)) {
      summary.add(*number);
      ++num_numbers;
    } else if (cell.empty()) {
      ++num_empty;
    } else if (others.size() <= kMostClasses) {
      others.insert(cell);
    }
  }
  json["numbers"] = num_numbers;
  json["empty"] = num_empty;
  json["other"] = table.num_rows() - num_numbers - num_empty;
  if (num_numbers > 0) summary.write(json);
  for (const std::string_view text : others) {
    if (others.size() <= kMostClasses) json["texts"].push_back(in_quotes(text));
  }
  return json;
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
  for (int64_t row = 0; row < std::min(kFirstRows, table.num_rows()); ++row) {
    Json cells = Json::array();
    for (int64_t column = 0; column < table.num_columns(); ++column) {
      cells.push_back(in_quotes(table.cell(row, column)));
    }
    json["first_rows"].push_back(cells);
  }
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

// --- text

Json describe_text(const Path& path, const std::string& head) {
  const TextUnit unit =
      is_valid_utf8(head.substr(0, head.find_last_of('\n') + 1)) ? TextUnit::kCodePoint : TextUnit::kByte;
  const Text text = read_text(path, unit);
  Json json;
  json["format"] = "text";
  json["tokens"] = config::name_of(unit);
  json["length"] = text.tokens.size();
  json["vocabulary_size"] = text.vocabulary.size();
  for (size_t i = 0; i < std::min<size_t>(text.vocabulary.size(), 256); ++i) {
    json["vocabulary"].push_back(in_quotes(text.vocabulary[i]));
  }
  json["begins"] = in_quotes(head, kTextShown);
  json["yaml"] = {"data:", "  source: text", "  path: " + yaml_text(path.string()),
                  fmt::format("  tokens: {}", config::name_of(unit)), "  sequence_length: 50"};
  return json;
}

Json describe_content(const Path& path, const std::string& head) {
  if (head.starts_with("\x93NUMPY")) return describe_array("npy", path, read_npy(path));
  if (head.starts_with(std::string_view("\0\0", 2))) return describe_array("idx", path, read_idx(path));
  if (const std::optional<Table> table = read_if_table(path, head)) return describe_table(path, *table);
  return describe_text(path, head);
}

}  // namespace

Json inspect_file(const Path& path) {
  Json json;
  json["file"] = path.string();
  json.update(describe_content(path, head_of(path)));
  return json;
}

}  // namespace rnnlab
