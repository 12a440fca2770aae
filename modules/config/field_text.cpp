#include "config/field_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "config/expectation.h"

namespace rnnlab::config {

std::string one_line(std::string_view text) {
  std::string line(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return line;
}

std::string value_text(const FieldSpec& field, const void* object) {
  std::vector<std::string> parts;
  for (const Scalar& scalar : field.get(object)) parts.push_back(scalar_text(scalar));
  if (field.arity == Arity::kList) return "[" + join(parts, ", ") + "]";
  return parts.empty() ? "null" : parts[0];
}

std::string meaning(const Entry& entry) {
  const std::string& unit = entry.field()->unit;
  return one_line(unit.empty() ? entry.help : fmt::format("{} [{}]", entry.help, unit));
}

std::string limits_text(const FieldSpec& field, const void* defaults) {
  const std::string value = value_text(field, defaults);
  const std::string takes = field.arity == Arity::kOne ? constraints(field) : expectation(field);
  return one_line(fmt::format("default {}{}{}", value == "null" ? "none" : value, takes.empty() ? "" : "; ", takes));
}

}  // namespace rnnlab::config
