// YAML text to a Value tree, by yaml-cpp's event parser, stricter than YAML: one document; no anchors, aliases, tags,
// merge keys or duplicate keys; every key a text; bounded depth and size. Nothing is expanded, so that no small file
// grows large.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "config/findings.h"
#include "config/value.h"

namespace rnnlab::config {

inline constexpr size_t kMaxFileBytes = 1 << 20;
inline constexpr size_t kMaxValues = 10000;
inline constexpr size_t kMaxDepth = 32;

// Where the byte stands that is `column` bytes into line `line`, both from 0; both are -1 where that is not known.
using PlaceOf = std::function<Place(int line, int column)>;

// Nothing where the text is no YAML; a null value where it is empty.
std::optional<Value> parse_yaml(std::string_view text, const PlaceOf& place_of, Findings& findings);

}  // namespace rnnlab::config
