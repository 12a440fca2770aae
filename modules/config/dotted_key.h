// Keys such as training.batch_size, by their parts.
#pragma once

#include <string>

namespace rnnlab::config {

// "batch_size" of "training.batch_size".
inline std::string last_part(const std::string& key) { return key.substr(key.rfind('.') + 1); }

}  // namespace rnnlab::config
