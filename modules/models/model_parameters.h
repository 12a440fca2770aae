// The parameters of a model that exists: their digest, the table at the start of a run's log, and their initial values.
// parameter_specs in models/model.h describes them before the model exists.
#pragma once

#include <cstdint>
#include <string>

#include "models/model.h"

namespace rnnlab {

// Returns the SHA-256 over every parameter's name, shape and float32 values, ordered by name. It is equal on every
// device and for every layer kind.
std::string weights_sha256(const Model& model);

// Returns one line "name  shape  parameters" for each parameter, and the total with its bytes.
std::string parameter_table(const Model& model);

int64_t num_parameters(const Model& model);

// Overwrites every parameter in place, on every device and for every type, with initial weights drawn in float32 on the
// CPU. They are a pure function of (seed, parameter name, shape), so every layer kind and every device starts from
// equal weights, and adding a layer does not change the weights of existing layers.
//   pytorch  weights and biases U(-a, a) with a = 1 / sqrt(hidden_size) in recurrent layers and 1 / sqrt(inputs) in
//            dense layers and convolutions; embedding N(0, 1), but a tied embedding is drawn as the output layer.
//   xavier   weights U(-a, a) with a = sqrt(6 / (inputs + outputs)); biases 0. The outputs of a recurrent kernel are
//            those of all its gates, as in Keras.
void initialize(Model& model, Initialization initialization, uint64_t seed);

}  // namespace rnnlab
