// A model's weights seen from outside: their names, shapes and size before a model is made, their digest, and the table
// that a run's log opens with. Works on any device and changes nothing.
#pragma once

#include <string>
#include <vector>

#include "models/model.h"
#include "recurrent/parameters.h"

namespace rnnlab {

// The parameters of the model that make_model would make, in its order. A size that does not fit is the largest
// int64_t.
std::vector<ParameterSpec> parameter_specs(const ModelSettings& settings, const DataShape& shape);

// Of float32 parameters, saturating.
int64_t bytes_of(const std::vector<ParameterSpec>& specs);

// SHA-256 over every parameter's name, shape and float32 values, ordered by name: the same on every device and for
// every layer kind.
std::string weights_sha256(const Model& model);

// "name  shape  parameters" a line, and the total with the bytes that it takes.
std::string parameter_table(const Model& model);

int64_t num_parameters(const Model& model);

}  // namespace rnnlab
