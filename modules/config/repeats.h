// `repeats:` in a configuration: how often each of its cases is measured, each time in a process of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/document.h"
#include "config/findings.h"

namespace rnnlab::config {

inline constexpr std::string_view kRepeatsKey = "repeats";
inline constexpr int64_t kMostRepeats = 1000;
inline constexpr int64_t kUsualMostRepeats = 20;  // of `until` without `at_most`
inline constexpr int64_t kFewestUntil = 7;        // rounds before a precision ends them

struct Repeats {
  int64_t at_most = 1;          // 1: once, in the process of the command itself
  std::optional<double> until;  // no more once an interval reaches at most this part of its value to each side

  friend bool operator==(const Repeats&, const Repeats&) = default;
};

// `repeats: 5`, or `repeats: {until: 1 %, at_most: 20}`; once where the document says nothing. What is wrong goes to
// `findings`.
Repeats repeats_of(const Document& document, Findings& findings);

Document without_repeats(const Document& document);

// As YAML to put below a printed configuration; "" for once.
std::string print_repeats(const Repeats& repeats);

}  // namespace rnnlab::config
