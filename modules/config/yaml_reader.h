// Converts YAML text to a Value tree with yaml-cpp's event parser. The rules are stricter than YAML: one document; no
// anchors, aliases, tags, merge keys or duplicate keys; every key a text; bounded depth and size. Nothing is expanded,
// so a small file cannot become large.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/value.h"

namespace rnnlab::config {

// The functions below read the text of a configuration file, check that it is text, and convert byte positions to the
// lines and columns that an editor shows.

// Returns the bytes of a regular file of at most kMaxFileBytes. For every other file it adds a finding and returns
// nullopt. It never blocks on a pipe.
std::optional<std::string> read_source(const std::string& path, Findings& findings);

// Maps bytes of a text to lines and columns. The text may be destroyed afterwards.
class LineMap {
 public:
  LineMap(std::string_view text, std::string source);

  // Returns the place of the byte at `offset`, counted from 0.
  Place place_at(size_t offset) const;

  // Returns the place of byte `column` of line `line`, both from 0; only the source if one of them is negative.
  Place place(int line, int column) const;

 private:
  std::string source_;
  std::vector<size_t> line_starts_;
  std::vector<uint32_t> code_points_before_;  // code points that begin before each byte
};

// Returns whether `text` is UTF-8 without control characters except tabs and line ends. If not, the first invalid byte
// and the first control character are findings.
bool is_clean_text(std::string_view text, const LineMap& lines, Findings& findings);

inline constexpr size_t kMaxFileBytes = 1 << 20;
inline constexpr size_t kMaxValues = 10000;
inline constexpr size_t kMaxDepth = 32;

// Returns the place of byte `column` of line `line`, both from 0; both are -1 if the position is not known.
using PlaceOf = std::function<Place(int line, int column)>;

// Returns nullopt, and adds a finding, if the text is not valid YAML; a null value if the text is empty.
std::optional<Value> parse_yaml(std::string_view text, const PlaceOf& place_of, Findings& findings);

}  // namespace rnnlab::config
