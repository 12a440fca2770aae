// The text of a configuration file: read with care, checked to be text, and mapped from bytes to the lines and columns
// that an editor shows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/findings.h"

namespace rnnlab::config {

// The bytes of a regular file of at most kMaxFileBytes; nothing, and a finding, for anything else. Never blocks on a
// pipe.
std::optional<std::string> read_source(const std::string& path, Findings& findings);

// Lines and columns of a text. It must outlive this.
class LineMap {
 public:
  LineMap(std::string_view text, std::string source);

  // The byte at `offset`, counted from 0.
  Place place_at(size_t offset) const;

  // Byte `column` of line `line`, both from 0; the source alone where they are negative.
  Place place(int line, int column) const;

 private:
  std::string source_;
  std::vector<size_t> line_starts_;
  std::vector<uint32_t> code_points_before_;  // code points that begin before each byte
};

// Whether `text` is UTF-8 without control characters other than tab and line ends; the first that is not is a finding.
bool is_clean_text(std::string_view text, const LineMap& lines, Findings& findings);

}  // namespace rnnlab::config
