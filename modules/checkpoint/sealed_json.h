// Reading a sealed JSON file (results/seal.h) of a checkpoint: one whose seal does not fit is refused.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "results/seal.h"

namespace rnnlab {

// The object without its seal. UserError kCheckpoint, with `file`.
nlohmann::ordered_json unsealed(const std::string& text, const std::string& file);

}  // namespace rnnlab
