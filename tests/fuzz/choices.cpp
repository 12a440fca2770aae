// SPDX-License-Identifier: Apache-2.0
#include "fuzz/choices.h"

namespace rnnlab::testing {
namespace {

const std::vector<std::string> kIntegers = {"1", "2", "3", "4", "5", "7", "8", "9", "16", "17", "33", "64", "0"};
const std::vector<std::string> kNumbers = {"0", "0.1", "0.5", "0.999", "1e-30", "1", "1e30", "2"};

std::string some_value(const config::FieldSpec& field, Choices& choices) {
  switch (field.kind) {
    case config::ScalarKind::kBool:
      return choices.below(2) == 1 ? "true" : "false";
    case config::ScalarKind::kChoice:
      return choices.one_of(field.choices);
    case config::ScalarKind::kInteger:
      return choices.one_of(kIntegers);
    case config::ScalarKind::kNumber:
      return choices.one_of(kNumbers);
    case config::ScalarKind::kText:
      break;
  }
  return "\"\"";
}

std::string some_list(const config::FieldSpec& field, Choices& choices) {
  std::string items;
  for (size_t count = choices.below(4); count > 0; --count)
    items += (items.empty() ? "" : ", ") + some_value(field, choices);
  return "[" + items + "]";
}

}  // namespace

uint8_t Choices::byte() {
  if (bytes_.empty()) return 0;
  const uint8_t first = bytes_.front();
  bytes_ = bytes_.subspan(1);
  return first;
}

size_t Choices::below(size_t count) {
  const size_t low = byte();
  return (count > 256 ? low + 256 * size_t{byte()} : low) % count;
}

std::string some_settings(const config::StructSpec& spec, Choices& choices) {
  std::string yaml = "{}\n";
  for (const config::Entry& entry : spec.entries) {
    const config::FieldSpec* field = entry.field();
    if (field == nullptr || choices.below(3) != 1) continue;
    if (yaml == "{}\n") yaml.clear();
    const bool is_list = field->arity == config::Arity::kList;
    yaml += entry.key + ": " + (is_list ? some_list(*field, choices) : some_value(*field, choices)) + "\n";
  }
  return yaml;
}

}  // namespace rnnlab::testing
