// A network as TensorBoard draws it: nodes with their operations and the shapes of what they give, joined by name. A
// slash in a name puts a node into a scope, which is drawn as one box that opens.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rnnlab::tensorboard {

struct GraphNode {
  std::string name;  // "dense0/product"
  std::string operation;
  std::vector<std::string> inputs = {};  // names of nodes
  std::vector<int64_t> shape = {};       // of its output; -1 where it varies
  std::vector<std::pair<std::string, std::string>> attributes = {};
};

// A GraphDef message.
std::string graph_def_of(const std::vector<GraphNode>& nodes);

}  // namespace rnnlab::tensorboard
