// A model as a drawing: its modules as scopes, in them its parameters and operations, with the shapes of what they
// give, from the inputs to the loss. What is computed, never how: every layer kind has the same graph.
#pragma once

#include <vector>

#include "data/dataset.h"
#include "models/model_settings.h"
#include "tensorboard/summaries.h"

namespace rnnlab {

// Parameters are nodes with the operation "Parameter" and their name as the attribute "parameter". A size of -1 is the
// batch's. `loss`: what the drawing calls it.
std::vector<tensorboard::GraphNode> model_graph(const ModelSettings& settings, const DataShape& shape,
                                                const std::string& loss);

}  // namespace rnnlab
