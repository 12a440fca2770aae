#include "tensorboard/graph.h"

#include <gmock/gmock.h>

#include "tensorboard/event_reader.h"

namespace rnnlab::tensorboard {
namespace {

using rnnlab::testing::Message;
using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(Graph, HasNodesWithInputsShapesAndAttributes) {
  const Message graph(graph_def_of({{.name = "in", .operation = "Input", .shape = {-1, 28}},
                                    {.name = "dense0/product",
                                     .operation = "MatMul",
                                     .inputs = {"in", "dense0/weight"},
                                     .shape = {-1, 10},
                                     .attributes = {{"parameter", "dense0.weight"}}}}));
  ASSERT_THAT(graph.all_bytes.at(1), SizeIs(2));
  EXPECT_GT(graph.message(/*versions=*/4).number(/*producer=*/1), 0);
  const Message node(graph.all_bytes.at(1)[1]);
  EXPECT_EQ(node.bytes(1), "dense0/product");
  EXPECT_EQ(node.bytes(2), "MatMul");
  EXPECT_THAT(node.all_bytes.at(3), ElementsAre("in", "dense0/weight"));
  const Message shape_entry(node.all_bytes.at(5)[0]);
  EXPECT_EQ(shape_entry.bytes(1), "_output_shapes");
  const Message shape = shape_entry.message(2).message(/*list=*/1).message(/*shape=*/7);
  std::vector<double> sizes;
  for (const std::string& dimension : shape.all_bytes.at(2)) sizes.push_back(Message(dimension).number(1));
  EXPECT_THAT(sizes, ElementsAre(-1, 10));
  const Message text_entry(node.all_bytes.at(5)[1]);
  EXPECT_EQ(text_entry.bytes(1), "parameter");
  EXPECT_EQ(text_entry.message(2).bytes(2), "dense0.weight");
}

}  // namespace
}  // namespace rnnlab::tensorboard
