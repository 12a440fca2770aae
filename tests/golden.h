// SPDX-License-Identifier: Apache-2.0
// Compares texts for people, such as messages, with those in the file golden.txt of the test program's folder, so that
// a better wording is a change of one line, and all texts of a module can be read as a page:
//
//   TEST(CsvSource, RefusesAnEmptyCell) { expect_golden(load_error("a,b\n1,\n")); }
//
// `RNNLAB_RECORD=1 build/release/data_tests` writes the file again, whose difference is then reviewed. Names of
// temporary folders appear as <folder>, that of the sources as <sources>, and times in names of runs as <time>. Codes
// and values do not belong there: a test asserts them itself.
#pragma once

#include <concepts>
#include <optional>
#include <ranges>
#include <source_location>
#include <string>
#include <string_view>

namespace rnnlab {

// Expects the next text of the running test.
void expect_golden(std::string_view text, std::source_location where = std::source_location::current());

template <std::same_as<std::optional<std::string>> Text>
void expect_golden(const Text& text, std::source_location where = std::source_location::current()) {
  expect_golden(std::string_view(text ? *text : "(nothing)"), where);
}

template <class Remark>
concept HasKindAndText = requires(const Remark& remark) {
  { remark.kind + remark.text } -> std::same_as<std::string>;
};

inline std::string golden_line(std::string_view text) { return std::string(text); }
inline std::string golden_line(const HasKindAndText auto& remark) { return remark.kind + ": " + remark.text; }

// Expects texts, or warnings with their kinds, as one text with an entry on each line.
template <std::ranges::range Entries>
requires(!std::convertible_to<Entries, std::string_view>) void expect_golden(
    const Entries& entries, std::source_location where = std::source_location::current()) {
  std::string all;
  for (const auto& entry : entries) all += (all.empty() ? "" : "\n") + golden_line(entry);
  expect_golden(std::string_view(all), where);
}

}  // namespace rnnlab
