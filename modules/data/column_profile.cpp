#include "data/column_profile.h"

#include <algorithm>

#include "base/numbers.h"
#include "base/text.h"
#include "data/inspect_formats.h"
#include "data/readers/csv_columns.h"

namespace rnnlab {
namespace {

void add_up_to_most(std::set<std::string>& set, std::string_view cell) {
  if (set.size() <= kMostClasses) set.emplace(cell);
}

void count(ColumnProfile& profile, std::string_view cell) {
  if (is_missing(cell)) {
    ++profile.num_missing;
    return;
  }
  add_up_to_most(profile.values, cell);
  if (const auto number = parse_double(cell)) {
    profile.numbers.add(*number);
    ++profile.num_numbers;
    profile.num_integers += parse_int64(cell) ? 1 : 0;
    return;
  }
  ++profile.num_texts;
  profile.num_decimal_commas += has_decimal_comma(cell) ? 1 : 0;
  add_up_to_most(profile.texts, cell);
}

}  // namespace

bool ColumnProfile::is_label() const {
  constexpr size_t kMostIntegers = 20;
  const size_t distinct = values.size();
  const auto present = static_cast<size_t>(num_numbers + num_texts);
  if (distinct < 2 || distinct > kMostClasses || num_decimal_commas > 0) return false;
  if (num_texts > 0) return distinct < present;
  return num_integers == num_numbers && distinct <= kMostIntegers && 2 * distinct <= present;
}

ColumnProfile profile_column(const Table& table, int64_t column) {
  ColumnProfile profile;
  profile.name = table.column_names()[static_cast<size_t>(column)];
  for (int64_t row = 0; row < table.num_rows(); ++row) count(profile, trim(table.cell(row, column)));
  return profile;
}

}  // namespace rnnlab
