// SPDX-License-Identifier: Apache-2.0
// Escapes the texts of a report, which may come from untrusted files, for each kind of output.
#pragma once

#include <string>
#include <string_view>

namespace rnnlab::report {

// Returns valid UTF-8 on one line that reads from left to right. ASCII control characters and line ends become a space;
// bytes that are not UTF-8, other control characters and marks that change the direction of text become U+FFFD.
std::string readable(std::string_view text);

// Escapes readable(text) for HTML text and for attributes in double quotes.
std::string html_escaped(std::string_view text);

// Escapes readable(text) so that it contains no markup within a paragraph, a list item or a table cell, according to
// CommonMark and GitHub's tables, links and formulas.
std::string markdown_escaped(std::string_view text);

// Returns "gru_speed_2" for "GRU speed/2": small letters, digits and '_', at most 60; "report" if the result is empty.
std::string slug(std::string_view text);

std::string base64(std::string_view bytes);

}  // namespace rnnlab::report
