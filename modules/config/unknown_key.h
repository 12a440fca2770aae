// What to say about a key that no schema lists.
#pragma once

#include <string>

#include "config/spec.h"

namespace rnnlab::config {

struct UnknownKey {
  std::string message;  // "unknown key 'epoch' in training (did you mean 'epochs'?)"
  std::string meant;    // the dotted key that was probably meant, or ""
};

// `key` stands in the group at `prefix` ("" or "training."), whose keys are `group`'s.
UnknownKey explain_unknown_key(const StructSpec& root, const StructSpec& group, const std::string& prefix,
                               const std::string& key);

}  // namespace rnnlab::config
