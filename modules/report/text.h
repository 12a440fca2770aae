// Texts of a report: what came from files is made harmless here, for each kind of output in its own way.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "system/table.h"

namespace rnnlab::report {

// Valid UTF-8 on one line that reads from left to right. Control characters of ASCII and line ends become a space;
// bytes that are not UTF-8, other control characters and marks that change the direction of text become U+FFFD.
std::string readable(std::string_view text);

// For text and for attributes in double quotes. Readable first.
std::string html_escaped(std::string_view text);

// So that nothing in it is markup, within a paragraph, a list's item and a table's cell, by CommonMark and GitHub's
// tables, links and formulas. Readable first.
std::string markdown_escaped(std::string_view text);

// "gru_speed_2" of "GRU speed/2": small letters, digits and '_', at most 60; "report" where nothing is left.
std::string slug(std::string_view text);

// The headings and rows, by RFC 4180 with plain line ends.
std::string csv_of(const TextTable& table);

std::string base64(std::string_view bytes);

}  // namespace rnnlab::report
