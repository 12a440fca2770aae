// SPDX-License-Identifier: Apache-2.0
#include "base/fields.h"

#include <algorithm>

namespace rnnlab {
namespace {

// Returns where the first entry ends: at a comma outside of parentheses, or at the end.
size_t end_of_entry(std::string_view list) {
  int depth = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i] == '(') ++depth;
    if (list[i] == ')') --depth;
    if (list[i] == ',' && depth == 0) return i;
  }
  return list.size();
}

std::string_view between(std::string_view text, size_t begin, size_t end) { return text.substr(begin, end - begin); }

}  // namespace

std::string take_key(std::string_view& list) {
  std::string_view entry = list.substr(0, end_of_entry(list));
  list.remove_prefix(entry.size());
  list.remove_prefix(std::min(list.find_first_not_of(", "), list.size()));
  if (const size_t quote = entry.find('"'); quote != std::string_view::npos)
    return std::string(between(entry, quote + 1, entry.find('"', quote + 1)));
  if (const size_t open = entry.find('('); open != std::string_view::npos)
    return std::string(between(entry, open + 1, entry.find(')', open)));
  return std::string(entry);
}

}  // namespace rnnlab
