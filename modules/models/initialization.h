// The weights that a model starts from, as a pure function of (seed, parameter name, shape): every layer kind and every
// device starts from equal ones, and adding a layer does not change the others'.
#pragma once

#include <cstdint>

#include "models/model.h"

namespace rnnlab {

// Overwrites every parameter in place, whatever its device and type; drawn in float32 on the CPU.
//   pytorch  weights and biases U(-a, a) with a = 1 / sqrt(hidden_size) in recurrent layers and 1 / sqrt(inputs) in
//            dense ones and convolutions; embedding N(0, 1), but a tied table is drawn as the dense layer that it also
//            is.
//   xavier   weights U(-a, a) with a = sqrt(6 / (inputs + outputs)); biases 0. The outputs of a recurrent kernel are
//            those of all its gates, as in Keras.
void initialize(Model& model, Initialization initialization, uint64_t seed);

}  // namespace rnnlab
