// A model's weights seen from outside: their names, shapes and size before a model is made, their digest, and the table
// that a run's log opens with. Works on any device and changes nothing.
#pragma once

#include <cstdint>
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

// The weights that a model starts from, as a pure function of (seed, parameter name, shape): every layer kind and every
// device starts from equal ones, and adding a layer does not change the others'.

// Overwrites every parameter in place, whatever its device and type; drawn in float32 on the CPU.
//   pytorch  weights and biases U(-a, a) with a = 1 / sqrt(hidden_size) in recurrent layers and 1 / sqrt(inputs) in
//            dense ones and convolutions; embedding N(0, 1), but a tied table is drawn as the dense layer that it also
//            is.
//   xavier   weights U(-a, a) with a = sqrt(6 / (inputs + outputs)); biases 0. The outputs of a recurrent kernel are
//            those of all its gates, as in Keras.
void initialize(Model& model, Initialization initialization, uint64_t seed);

}  // namespace rnnlab
