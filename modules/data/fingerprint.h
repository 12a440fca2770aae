// A name for the content of a data set: two runs saw the same data exactly when their fingerprints are equal. Where the
// data came from, and what it is called, has no part in it.
#pragma once

#include <string>

#include "data/dataset.h"

namespace rnnlab {

// SHA-256 over shapes, types and bytes of all tensors of both parts, as 64 hexadecimal digits.
std::string fingerprint(const Samples& train, const Samples& valid);

}  // namespace rnnlab
