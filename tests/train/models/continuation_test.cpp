// SPDX-License-Identifier: Apache-2.0
// Sequences that are read in pieces, with the state in between, give what they give as a whole.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/randint.h>
#include <gtest/gtest.h>

#include <vector>

#include "layers/cells/cell.h"
#include "train/models/small_models.h"

namespace rnnlab {
namespace {

constexpr int64_t kNumSteps = 9, kBatchSize = 3;
constexpr double kTolerance = 1e-5;

// The last piece is the rest.
const std::vector<std::vector<int64_t>> kCuts = {{1, 3, 5}, {9}, {1, 1, 1, 1, 1, 1, 1, 1, 1}, {8, 1}};

at::Tensor in_pieces(Model& model, const at::Tensor& inputs, const std::vector<int64_t>& lengths) {
  const at::NoGradGuard no_grad;
  RecurrentState state;
  std::vector<at::Tensor> outputs;
  int64_t begin = 0;
  for (const int64_t length : lengths) {
    Continuation next = model.continue_from(state, inputs.narrow(0, begin, length));
    outputs.push_back(next.outputs);
    state = std::move(next.state);
    begin += length;
  }
  return at::cat(outputs);
}

ModelSettings stacked(ModelKind kind, Cell cell) {
  ModelSettings settings;
  settings.kind = kind;
  settings.cell = cell;
  settings.hidden_size = 6;
  settings.num_layers = 2;
  return settings;
}

void expect_equal_in_pieces(Model& model, const at::Tensor& inputs) {
  const at::NoGradGuard no_grad;
  model.eval();
  const at::Tensor whole = model.forward(batch_of(inputs));
  for (const auto& lengths : kCuts) expect_close({in_pieces(model, inputs, lengths)}, {whole}, kTolerance);
}

TEST(Continuation, OfStepsWithTargetsIsThatOfOneSequenceForEveryCell) {
  for (const Cell cell : all_cells()) {
    SCOPED_TRACE(cell_name(cell));
    ModelSettings settings = stacked(ModelKind::kSequenceRegressor, cell);
    settings.dense = {5};
    DataShape shape = sequence_shape(Task::kRegression, 4, 2);
    shape.target_per_step = true;
    expect_equal_in_pieces(*initialized_model(settings, shape), seeded_randn({kNumSteps, kBatchSize, 4}));
  }
}

TEST(Continuation, OfATextIsThatOfOneTextForEveryCell) {
  const at::Tensor tokens = at::randint(5, {kNumSteps, kBatchSize}, at::detail::createCPUGenerator(1), at::kLong);
  for (const Cell cell : all_cells()) {
    SCOPED_TRACE(cell_name(cell));
    expect_equal_in_pieces(*initialized_model(stacked(ModelKind::kLanguageModel, cell), text_shape(5)), tokens);
  }
}

// A window's output is that after its last step, so each step ends a window that begins with the first one.
TEST(Continuation, OfAWindowHasTheOutputOfEachWindowThatEndsThereForEveryCell) {
  const at::NoGradGuard no_grad;
  const at::Tensor inputs = seeded_randn({kNumSteps, kBatchSize, 4});
  for (const Cell cell : all_cells()) {
    SCOPED_TRACE(cell_name(cell));
    ModelSettings settings = stacked(ModelKind::kSequenceClassifier, cell);
    settings.dense = {5};
    const auto model = initialized_model(settings, sequence_shape(Task::kClassification, 4, 3));
    model->eval();
    std::vector<at::Tensor> ends;
    for (int64_t length = 1; length <= kNumSteps; ++length)
      ends.push_back(model->forward(batch_of(inputs.narrow(0, 0, length))).unsqueeze(0));
    for (const auto& lengths : kCuts) expect_close({in_pieces(*model, inputs, lengths)}, {at::cat(ends)}, kTolerance);
  }
}

TEST(Continuation, IsTheSameWithEveryLayerOfTheCpu) {
  const at::Tensor inputs = seeded_randn({kNumSteps, kBatchSize, 4});
  for (const LayerKind layer : {LayerKind::kFused, LayerKind::kHoisted, LayerKind::kBlocked, LayerKind::kGrouped}) {
    SCOPED_TRACE(config::name_of(layer));
    DataShape shape = sequence_shape(Task::kRegression, 4, 2);
    shape.target_per_step = true;
    expect_equal_in_pieces(*initialized_model(stacked(ModelKind::kSequenceRegressor, Cell::kLstm), shape, layer),
                           inputs);
  }
}

TEST(Continuation, ReadsCategories) {
  DataShape shape = sequence_shape(Task::kRegression, 3, 1);
  shape.target_per_step = true;
  shape.category_sizes = {4};
  const at::Tensor numbers = seeded_randn({kNumSteps, kBatchSize, 2});
  const at::Tensor codes =
      at::randint(4, {kNumSteps, kBatchSize, 1}, at::detail::createCPUGenerator(1), at::kLong).to(at::kFloat);
  expect_equal_in_pieces(*initialized_model(stacked(ModelKind::kSequenceRegressor, Cell::kGru), shape),
                         at::cat({numbers, codes}, 2));
}

std::string why_not(const ModelSettings& settings, bool is_per_step = false) {
  DataShape shape = sequence_shape(Task::kRegression, 4, 2);
  shape.target_per_step = is_per_step;
  return info_of(settings.kind).why_not_continued(settings, shape);
}

TEST(Continuation, HasAReasonWhereAStateIsNotEnough) {
  ModelSettings settings = stacked(ModelKind::kSequenceRegressor, Cell::kLstm);
  EXPECT_EQ(why_not(settings), "");
  settings.pooling = Pooling::kMean;
  EXPECT_NE(why_not(settings), "");
  EXPECT_EQ(why_not(settings, true), "") << "steps with targets are not pooled";
  settings.pooling = Pooling::kLast;
  settings.bidirectional = true;
  EXPECT_NE(why_not(settings), "");
  EXPECT_NE(why_not(settings, true), "");
  EXPECT_EQ(info_of(ModelKind::kImageClassifier).why_not_continued, nullptr);
}

}  // namespace
}  // namespace rnnlab
