#include "bench/row_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace rnnlab {
namespace {

template <int64_t RowKey::*member>
std::string number(const RowKey& key) {
  return std::to_string(key.*member);
}

template <std::string RowKey::*member>
std::string word(const RowKey& key) {
  return key.*member;
}

// What is usual goes without saying.
std::string inputs(const RowKey& key) {
  return key.input_size == key.hidden_size ? "" : std::to_string(key.input_size);
}

std::string algorithm(const RowKey& key) { return key.cudnn_algorithm == "auto" ? "" : key.cudnn_algorithm; }

std::string directions(const RowKey& key) { return key.bidirectional ? "2" : ""; }

bool varies(const KeyColumn& column, const std::vector<BenchRow>& rows) {
  return std::ranges::any_of(rows,
                             [&](const BenchRow& row) { return column.text(row.key) != column.text(rows[0].key); });
}

// Sizes need their letter, words speak for themselves.
std::string with_heading(const KeyColumn& column, const RowKey& key) {
  const std::string text = column.text(key);
  const bool is_size = std::string_view(column.heading).size() == 1;
  return is_size && !text.empty() ? std::string(column.heading) + " " + text : text;
}

void add_part(std::vector<std::string>& parts, std::string part) {
  if (!part.empty()) parts.push_back(std::move(part));
}

}  // namespace

const std::vector<KeyColumn>& key_columns() {
  static const std::vector<KeyColumn> columns = {{"device", word<&RowKey::device>},
                                                 {"mode", word<&RowKey::mode>},
                                                 {"precision", word<&RowKey::precision>},
                                                 {"cell", word<&RowKey::cell>},
                                                 {"algorithm", algorithm, "auto"},
                                                 {"I", inputs, "I = H"},
                                                 {"H", number<&RowKey::hidden_size>},
                                                 {"B", number<&RowKey::batch_size>},
                                                 {"T", number<&RowKey::num_steps>},
                                                 {"L", number<&RowKey::num_layers>},
                                                 {"D", directions, "D 1"}};
  return columns;
}

std::vector<KeyColumn> varying_columns(const std::vector<BenchRow>& rows) {
  std::vector<KeyColumn> columns;
  for (const KeyColumn& column : key_columns())
    if (varies(column, rows)) columns.push_back(column);
  return columns;
}

std::string shared_text(const std::vector<BenchRow>& rows) {
  if (rows.empty()) return "";
  std::vector<std::string> parts;
  for (const KeyColumn& column : key_columns())
    if (!varies(column, rows)) add_part(parts, with_heading(column, rows[0].key));
  return join(parts, " ");
}

std::string significant(double value, int digits) {
  constexpr int kMostDecimals = 9;
  if (!std::isfinite(value)) return fmt::format("{}", value);
  // After rounding, for 99.99 may become 100.
  const std::string rounded = fmt::format("{:.{}e}", value, digits - 1);
  const int magnitude = std::stoi(rounded.substr(rounded.find('e') + 1));
  return fmt::format("{:.{}f}", value, std::clamp(digits - 1 - magnitude, 0, kMostDecimals));
}

std::string row_label(const RowKey& key, const std::vector<KeyColumn>& varying) {
  std::vector<std::string> parts = {key.layer};
  for (const KeyColumn& column : varying) add_part(parts, with_heading(column, key));
  return join(parts, " ");
}

}  // namespace rnnlab
