#include "tensorboard/graph.h"

#include <protozero/pbf_writer.hpp>

namespace rnnlab::tensorboard {
namespace {

using protozero::pbf_tag_type;
using protozero::pbf_writer;

// Fields of TensorFlow's graph.proto, node_def.proto, attr_value.proto and tensor_shape.proto.
namespace field {
constexpr pbf_tag_type kNode = 1, kVersions = 4, kProducer = 1;
constexpr pbf_tag_type kName = 1, kOperation = 2, kInput = 3, kAttribute = 5;
constexpr pbf_tag_type kKey = 1, kValue = 2;
constexpr pbf_tag_type kList = 1, kBytes = 2, kShapeInList = 7, kDimension = 2, kSize = 1;
}  // namespace field
constexpr int32_t kProducerVersion = 22;

// The attribute from which edges get their labels: a list of one shape.
void add_shape(pbf_writer& node, const std::vector<int64_t>& shape) {
  pbf_writer entry(node, field::kAttribute);
  entry.add_string(field::kKey, "_output_shapes");
  pbf_writer value(entry, field::kValue);
  pbf_writer list(value, field::kList);
  pbf_writer message(list, field::kShapeInList);
  for (const int64_t size : shape) pbf_writer(message, field::kDimension).add_int64(field::kSize, size);
}

void add_text(pbf_writer& node, const std::string& key, const std::string& text) {
  pbf_writer entry(node, field::kAttribute);
  entry.add_string(field::kKey, key);
  pbf_writer(entry, field::kValue).add_bytes(field::kBytes, text);
}

}  // namespace

std::string graph_def_of(const std::vector<GraphNode>& nodes) {
  std::string graph;
  pbf_writer writer(graph);
  for (const GraphNode& node : nodes) {
    pbf_writer message(writer, field::kNode);
    message.add_string(field::kName, node.name);
    message.add_string(field::kOperation, node.operation);
    for (const std::string& input : node.inputs) message.add_string(field::kInput, input);
    add_shape(message, node.shape);
    for (const auto& [key, text] : node.attributes) add_text(message, key, text);
  }
  pbf_writer(writer, field::kVersions).add_int32(field::kProducer, kProducerVersion);
  return graph;
}

}  // namespace rnnlab::tensorboard
