// SPDX-License-Identifier: Apache-2.0
// The layers among which `layer: auto` and Python's "auto" choose. Measuring them is up to the caller.
#pragma once

#include <optional>
#include <vector>

#include "layers/layer_kind.h"

namespace rnnlab {

// Returns the kinds that support the options and the processor; the kind that is usually the fastest comes first.
// Leaves out persistent in fp32, which computes small factors with fewer digits, and for rnn_relu in tf32, whose states
// may overflow float16 (docs/persistent.md): a user must ask for these.
std::vector<LayerKind> candidates(const RecurrentOptions& options, Precision precision,
                                  std::optional<Processor> processor);

}  // namespace rnnlab
