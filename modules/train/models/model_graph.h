// SPDX-License-Identifier: Apache-2.0
// A model as a graph of operations from the inputs to the loss. Modules are scopes with parameters and operations and
// the shapes of their outputs. The graph shows the function, not its implementation, so every layer kind has the same
// graph. It is drawn before the model exists: the names and shapes of the parameters follow from it
// (parameter_specs in train/models/model.h), and the graph that TensorBoard shows.
#pragma once

#include <string>
#include <vector>

#include "data/dataset.h"
#include "layers/cells/cell.h"
#include "results/tensorboard/event_file.h"
#include "train/models/model_settings.h"

namespace rnnlab {

inline constexpr int64_t kAnyBatchSize = -1;

// Collects operation after operation; each reads the output of the previous operation. The first is an "Input".
class ModelGraph {
 public:
  using Shape = std::vector<int64_t>;

  void add(const std::string& name, const std::string& operation, const Shape& shape,
           const std::vector<std::string>& more_inputs = {});

  // Adds an operation that reads only `inputs`, as one of several branches, and returns its name. The next operation
  // reads the output of the operation before the branch.
  std::string add_branch(const std::string& name, const std::string& operation, const Shape& shape,
                         const std::vector<std::string>& inputs);

  // Adds a parameter and returns the node's name. `scope` is the module's scope, `parameter` the name in checkpoints.
  std::string add_parameter(const std::string& scope, const std::string& parameter, const Shape& shape);

  // Adds recurrent layers, for inputs (T, B, width()); `network` is the name of their module. The first of them read
  // `more_inputs` too.
  void add_recurrent(const ModelSettings& settings, const std::string& network = "recurrent",
                     const std::vector<std::string>& more_inputs = {});

  // Adds the dense layers, each with its activation and dropout.
  void add_dense_layers(const ModelSettings& settings);

  // Adds one linear layer. `weight_of` is the scope with the weights, if they are shared.
  void add_linear(const std::string& name, int64_t num_units, const std::string& weight_of = "");

  void add_dropout(const std::string& name, double probability);

  const std::string& last() const { return last_; }  // the name of the last operation

  // Returns the shape of the last output, or the last of its sizes.
  const Shape& shape() const { return shape_; }
  int64_t width() const { return shape_.back(); }

  const std::vector<tensorboard::GraphNode>& nodes() const { return nodes_; }
  const std::vector<ParameterSpec>& parameters() const { return parameters_; }  // in the order of their addition

 private:
  std::vector<tensorboard::GraphNode> nodes_;
  std::vector<ParameterSpec> parameters_;
  std::string last_;
  Shape shape_;
};

// Returns the graph from the inputs to the outputs.
ModelGraph draw_model(const ModelSettings& settings, const DataShape& shape);

// Returns the floating-point operations of the matrix products and convolutions in a forward pass over one sample of
// shape.sequence_length steps; a multiplication and an addition are two. Point-wise work and lookups do not count.
double forward_flops(const ModelGraph& graph);

// Returns the nodes of the graph and its loss. Parameters are nodes with the operation "Parameter" and their name as
// the attribute "parameter". A size of -1 is the batch size. `loss` is the operation name of the loss in the graph.
std::vector<tensorboard::GraphNode> model_graph(const ModelSettings& settings, const DataShape& shape,
                                                const std::string& loss);

}  // namespace rnnlab
