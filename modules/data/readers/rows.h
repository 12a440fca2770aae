// SPDX-License-Identifier: Apache-2.0
// Lists of the numbers of rows, from 0, and of what rows have.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace rnnlab {

// Returns 0, 1 ... count - 1.
inline std::vector<int64_t> first_rows(int64_t count) {
  std::vector<int64_t> rows(static_cast<size_t>(count));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

// Returns what these rows have, of `values` for each row. Where no row has a value, the result is empty too.
template <class T>
std::vector<T> at_rows(const std::vector<T>& values, const std::vector<int64_t>& rows) {
  std::vector<T> some;
  if (values.empty()) return some;
  some.reserve(rows.size());
  for (const int64_t row : rows) some.push_back(values[static_cast<size_t>(row)]);
  return some;
}

inline bool has_repeated(std::vector<int64_t> numbers) {
  std::ranges::sort(numbers);
  return std::ranges::adjacent_find(numbers) != numbers.end();
}

}  // namespace rnnlab
