// The weights that a model starts from, as a pure function of (seed, parameter name, shape): every layer kind and every
// device starts from equal ones, and adding a layer does not change the others'.
#pragma once

#include <cstdint>

#include "models/model.h"

namespace rnnlab {

// Overwrites every parameter in place, whatever its device and type; drawn in float32 on the CPU.
//   pytorch  recurrent weights and biases U(-1/sqrt(H), 1/sqrt(H)); dense weights and biases U(-1/sqrt(inputs),
//   1/sqrt(inputs));
//            embedding N(0, 1), but a tied table is drawn as the dense layer that it also is.
//   xavier   weights U(-a, a) with a = sqrt(6 / (inputs + outputs)), a recurrent kernel's outputs being all its gates',
//   as in Keras;
//            biases 0.
void initialize(Model& model, Initialization initialization, uint64_t seed);

}  // namespace rnnlab
