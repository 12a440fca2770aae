// A stack of layers of one direction as one autograd function: the loop over steps forward, back-propagation through
// time backward. Autograd sees neither the steps nor their intermediate results; it cannot differentiate twice.
#pragma once

#include <vector>

#include "recurrent/unrolled/trace.h"

namespace rnnlab {

struct UnrolledInput {
  at::Tensor sequence;                   // (T, B, I); with tokens a table, (V, I) float32
  at::Tensor tokens;                     // (T, B) int64, for one_kernel: whose rows are the inputs; or undefined
  at::Tensor hidden;                     // (L, B, H), or for one_kernel undefined: zeros
  at::Tensor cell;                       // (L, B, H) acc, LSTM only; likewise
  std::vector<DirectionWeights> layers;  // L, in the type of the sequence; for one_kernel in any
  std::vector<at::Tensor> masks;         // (T, B, H) each, L - 1 of them or none: factors of what the next layer reads
};

// All states of each layer, (T, B, H) each: those after each step, at the step's place in the sequence. For one_kernel
// those after the last step read besides, of all layers: where nothing else is used, what comes back for all steps need
// not be made.
struct UnrolledResult {
  std::vector<at::Tensor> hidden;
  std::vector<at::Tensor> cell;         // acc, LSTM only
  at::Tensor final_hidden, final_cell;  // (L, B, H), for one_kernel; likewise
};

// Differentiable with respect to the sequence, the initial states and the weights, not the masks. Autocast does
// not reach in: everything must have the type of the sequence, or acc where that is said.
UnrolledResult run_unrolled(const UnrolledSpec& spec, const UnrolledInput& input);

}  // namespace rnnlab
