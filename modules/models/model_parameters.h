// A model's weights seen from outside: their digest, and the table that a run's log opens with. Works on any device and
// changes nothing.
#pragma once

#include <string>

#include "models/model.h"

namespace rnnlab {

// SHA-256 over every parameter's name, shape and float32 values, ordered by name: the same on every device and for
// every layer kind.
std::string weights_sha256(const Model& model);

// "name  shape  parameters" a line, and the total with the bytes that it takes.
std::string parameter_table(const Model& model);

int64_t num_parameters(const Model& model);

}  // namespace rnnlab
