// YAML text to a Value tree, by yaml-cpp's event parser, stricter than YAML: one document; no anchors, aliases, tags,
// merge keys or duplicate keys; every key a text; bounded depth and size. Nothing is expanded, so that no small file
// grows large.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/value.h"

namespace rnnlab::config {

// The text of a configuration file: read with care, checked to be text, and mapped from bytes to the lines and columns
// that an editor shows.

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

inline constexpr size_t kMaxFileBytes = 1 << 20;
inline constexpr size_t kMaxValues = 10000;
inline constexpr size_t kMaxDepth = 32;

// Where the byte stands that is `column` bytes into line `line`, both from 0; both are -1 where that is not known.
using PlaceOf = std::function<Place(int line, int column)>;

// Nothing where the text is no YAML; a null value where it is empty.
std::optional<Value> parse_yaml(std::string_view text, const PlaceOf& place_of, Findings& findings);

}  // namespace rnnlab::config
