// Draws a model as a graph: modules are scopes with parameters and operations and the shapes of their outputs, from the
// inputs to the loss. The graph shows the function, not its implementation, so every layer kind has the same graph.
#pragma once

#include <vector>

#include "data/dataset.h"
#include "models/model_settings.h"
#include "tensorboard/summaries.h"

namespace rnnlab {

// Parameters are nodes with the operation "Parameter" and their name as the attribute "parameter". A size of -1 is the
// batch size. `loss` is the operation name of the loss in the graph.
std::vector<tensorboard::GraphNode> model_graph(const ModelSettings& settings, const DataShape& shape,
                                                const std::string& loss);

}  // namespace rnnlab
