// SPDX-License-Identifier: Apache-2.0
// cuDNN requires all weights of a call in one piece of memory; LibTorch warns at every call if they are not.
#include <ATen/ATen.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "layers/on_cuda.h"
#include "layers/recurrent_layer.h"

namespace rnnlab {
namespace {

class CollectedWarnings : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override { messages.push_back(warning.msg()); }
  std::vector<std::string> messages;
};

class FusedOnCuda : public OnCuda, public ::testing::WithParamInterface<Cell> {
 protected:
  std::shared_ptr<RecurrentLayer> make() const {
    return make_layer(LayerKind::kFused, {.cell = GetParam(),
                                          .input_size = 12,
                                          .hidden_size = 16,
                                          .num_layers = 2,
                                          .bidirectional = true,
                                          .dropout = 0.1});
  }
};

INSTANTIATE_TEST_SUITE_P(Cells, FusedOnCuda, ::testing::Values(Cell::kLstm, Cell::kGru, Cell::kRnnTanh, Cell::kRnnRelu),
                         [](const auto& tested) { return std::string(config::name_of(tested.param)); });

// Returns the number of calls of cuDNN. With dropout there is one call for each layer.
void expect_whole_pieces(const RecurrentLayer& layer) {
  std::set<const void*> pieces;
  for (const at::Tensor& parameter : layer.parameters()) pieces.insert(parameter.storage().data());
  EXPECT_EQ(std::ssize(pieces), layer.options().num_layers);
}

// Counts LibTorch's warnings that weights are "not part of single contiguous chunk of memory".
std::vector<std::string> complaints_of_a_step(RecurrentLayer& layer, at::ScalarType type) {
  CollectedWarnings warnings;
  const c10::WarningUtils::WarningHandlerGuard guard(&warnings);
  const c10::WarningUtils::WarnAlways always(true);
  const at::Tensor input = at::randn({6, 4, 12}, at::device(at::kCUDA).dtype(type));
  layer.forward(input).output.sum().backward();
  layer.forward(input, {}, at::tensor({6, 1, 3, 2}, at::kLong)).output.sum().backward();
  std::erase_if(warnings.messages,
                [](const auto& message) { return message.find("contiguous chunk") == std::string::npos; });
  return warnings.messages;
}

TEST_P(FusedOnCuda, KeepsItsWeightsInWholePiecesWhereverItMoves) {
  const auto layer = make();
  torch::nn::Module model;
  model.register_module("layer", layer);
  model.to(at::kCUDA);
  expect_whole_pieces(*layer);
  EXPECT_THAT(complaints_of_a_step(*layer, at::kFloat), ::testing::IsEmpty());
  model.to(at::kBFloat16);
  expect_whole_pieces(*layer);
  EXPECT_THAT(complaints_of_a_step(*layer, at::kBFloat16), ::testing::IsEmpty());
  model.to(at::kCPU, at::kFloat);
  model.to(at::kCUDA, at::kDouble);
  expect_whole_pieces(*layer);
  EXPECT_THAT(complaints_of_a_step(*layer, at::kDouble), ::testing::IsEmpty());
}

TEST_P(FusedOnCuda, KeepsItsWeightsInWholePiecesWhenTheyAreCopiedInto) {
  const auto layer = make();
  layer->to(at::kCUDA);
  copy_weights(*make(), *layer);
  expect_whole_pieces(*layer);
  EXPECT_THAT(complaints_of_a_step(*layer, at::kFloat), ::testing::IsEmpty());
}

TEST_P(FusedOnCuda, DrawsNoComplaintUnderAutocast) {
  const auto layer = make();
  layer->to(at::kCUDA);
  const Autocast autocast(at::kCUDA);
  EXPECT_THAT(complaints_of_a_step(*layer, at::kFloat), ::testing::IsEmpty());
}

// This test shows that LibTorch does print the warning whose absence the other tests check.
TEST_P(FusedOnCuda, DrawsTheComplaintWhenATensorIsReplaced) {
  const auto layer = make();
  layer->to(at::kCUDA);
  at::Tensor weight = layer->parameters().front();
  weight.set_data(weight.data().clone());
  EXPECT_THAT(complaints_of_a_step(*layer, at::kFloat), ::testing::Not(::testing::IsEmpty()));
  layer->to(at::kCUDA);
  EXPECT_THAT(complaints_of_a_step(*layer, at::kFloat), ::testing::IsEmpty());
}

}  // namespace
}  // namespace rnnlab
