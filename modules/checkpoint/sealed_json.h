// A small JSON file whose last line holds the SHA-256 of every byte before that line: a single changed, missing or
// added byte anywhere is noticed. Against damage, not against forgery: whoever writes the file can seal it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace rnnlab {

// The members of `object`, which is not empty, and "seal".
std::string sealed_text(const nlohmann::ordered_json& object);

// The object without its seal. UserError kCheckpoint, with `file`.
nlohmann::ordered_json unsealed(const std::string& text, const std::string& file);

}  // namespace rnnlab
