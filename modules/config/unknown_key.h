// What to say about a key that no schema lists.
#pragma once

#include <string>

#include "config/spec.h"

namespace rnnlab::config {

struct UnknownKey {
  std::string message;  // "unknown key 'epoch' in training (did you mean 'epochs'?)"
  std::string meant;    // the dotted key that was probably meant, or ""
  bool lists_keys = false;
};

// `key` stands in the group at `prefix` ("" or "training."), whose keys are `group`'s.
// The keys that there are stand in the message where none is near, unless `listing` says that they were said before.
enum class Listing { kOfKeys, kNone };
UnknownKey explain_unknown_key(const StructSpec& root, const StructSpec& group, const std::string& prefix,
                               const std::string& key, Listing listing);

}  // namespace rnnlab::config
