// A small JSON file whose last line holds the SHA-256 of every byte before that line: a single changed, missing or
// added byte anywhere is noticed. Against damage and slips, not against forgery: whoever writes the file can seal it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace rnnlab {

inline constexpr const char* kSealKey = "seal";

// The members of `object`, which is not empty, and "seal".
std::string sealed_text(const nlohmann::ordered_json& object);

// Whether the whole text of a file ends with the seal of what is before it.
bool has_fitting_seal(std::string_view text);

}  // namespace rnnlab
