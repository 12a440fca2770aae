#include "config/repeats.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/numbers.h"
#include "base/text.h"

namespace rnnlab::config {
namespace {

std::optional<int64_t> count_in(const Value& value) {
  const auto count = value.is_scalar() ? parse_int64(value.text) : std::nullopt;
  return count && *count >= 1 && *count <= kMostRepeats ? count : std::nullopt;
}

// "1 %" or 0.01.
std::optional<double> part_in(const Value& value) {
  if (!value.is_scalar()) return std::nullopt;
  const std::string_view text = trim(value.text);
  const bool is_percent = text.ends_with('%');
  auto part = parse_double(trim(is_percent ? text.substr(0, text.size() - 1) : text));
  if (part && is_percent) *part /= 100;
  return part && *part > 0 && *part < 1 ? part : std::nullopt;
}

void read_member(const Member& member, Repeats& repeats, Findings& findings) {
  if (member.key == "until") {
    repeats.until = part_in(member.value);
    if (!repeats.until)
      findings.add(member.value.place,
                   fmt::format("repeats.until: got {}, expected a part such as 1 %", shown(member.value)));
  } else if (member.key == "at_most") {
    const auto count = count_in(member.value);
    if (!count)
      findings.add(member.value.place, fmt::format("repeats.at_most: got {}, expected a whole number from 1 to {}",
                                                   shown(member.value), kMostRepeats));
    repeats.at_most = count.value_or(1);
  } else {
    findings.add(member.key_place,
                 fmt::format("unknown key {} in repeats; its keys are until and at_most", in_quotes(member.key)));
  }
}

}  // namespace

Repeats repeats_of(const Document& document, Findings& findings) {
  const Member* member = find_member(document.root(), kRepeatsKey);
  if (member == nullptr || member->value.is_null()) return {};
  if (const auto count = count_in(member->value)) return {.at_most = *count, .until = std::nullopt};
  if (!member->value.is_map()) {
    findings.add(member->value.place,
                 fmt::format("repeats: got {}, expected a whole number from 1 to {}, or a map such as "
                             "{{until: 1 %, at_most: 20}}",
                             shown(member->value), kMostRepeats));
    return {};
  }
  Repeats repeats{.at_most = kUsualMostRepeats, .until = std::nullopt};
  for (const Member& one : member->value.members) read_member(one, repeats, findings);
  if (repeats.until && repeats.at_most <= kFewestUntil)
    findings.add(
        member->value.place,
        fmt::format("repeats.at_most: got {}, but until looks at {} rounds at least; write a larger number, or "
                    "repeats: {}",
                    repeats.at_most, kFewestUntil, repeats.at_most));
  return repeats;
}

Document without_repeats(const Document& document) {
  Value root = document.root();
  std::erase_if(root.members, [](const Member& member) { return member.key == kRepeatsKey; });
  return document.with_root(std::move(root));
}

std::string print_repeats(const Repeats& repeats) {
  if (repeats == Repeats{}) return "";
  if (!repeats.until) return fmt::format("repeats: {}\n", repeats.at_most);
  return fmt::format("repeats: {{until: {:g} %, at_most: {}}}\n", 100 * *repeats.until, repeats.at_most);
}

}  // namespace rnnlab::config
