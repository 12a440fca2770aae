// SPDX-License-Identifier: Apache-2.0
#include "train/models/sequence_parts.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <torch/cuda.h>

#include "base/expect_error.h"
#include "golden.h"
#include "train/models/small_models.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;

// ---- model.front ----

ModelSettings with_front(std::vector<int64_t> front, int64_t kernel_size, int64_t stride) {
  ModelSettings settings;
  settings.hidden_size = 5;
  settings.front = std::move(front);
  settings.front_kernel_size = kernel_size;
  settings.front_stride = stride;
  return settings;
}

// The definition, step by step. steps: (T, B, I); weight: (C, I, K).
at::Tensor convolved(const at::Tensor& steps, const at::Tensor& weight, const at::Tensor& bias, int64_t stride) {
  const int64_t kernel_size = weight.size(2), num_steps = steps.size(0);
  std::vector<at::Tensor> outputs;
  for (int64_t begin = 0; begin < num_steps; begin += stride) {
    at::Tensor sum = bias.expand({steps.size(1), -1});
    for (int64_t k = 0; k < kernel_size; ++k) {
      const int64_t step = begin + stride - kernel_size + k;
      if (step >= 0 && step < num_steps) sum = sum + at::linear(steps[step], weight.select(2, k));
    }
    outputs.push_back(at::relu(sum));
  }
  return at::stack(outputs);
}

TEST(ConvolutionFront, ReadsABlockAndTheStepsBeforeIt) {
  for (const auto& [kernel_size, stride] : {std::pair(1, 1), {3, 1}, {3, 2}, {4, 4}, {5, 2}}) {
    ConvolutionFront front(with_front({4, 3}, kernel_size, stride), 2);
    front.to(at::kDouble);
    std::vector<at::Tensor> inputs = {seeded_randn({7, 3, 2}).to(at::kDouble)};
    for (const at::Tensor& parameter : front.parameters()) inputs.push_back(parameter);
    const auto reference = with_gradients(
        [stride = stride](const auto& in) {
          return convolved(convolved(in[0], in[1], in[2], stride), in[3], in[4], stride);
        },
        inputs);
    auto got = with_gradients([&](const auto& in) { return front.forward(in[0], {}).first; }, {inputs[0]});
    for (const at::Tensor& parameter : front.parameters()) got.push_back(parameter.grad());
    expect_close(got, reference, 1e-12);
  }
}

TEST(ConvolutionFront, DividesLengthsByItsStrideAndRoundsUp) {
  ConvolutionFront front(with_front({4, 4}, 2, 2), 3);
  const auto [steps, lengths] = front.forward(seeded_randn({9, 4, 3}), at::tensor({9, 8, 4, 1}, at::kLong));
  EXPECT_THAT(steps.sizes(), ElementsAre(3, 4, 4));
  EXPECT_TRUE(at::equal(lengths, at::tensor({3, 2, 1, 1}, at::kLong)));
}

TEST(ConvolutionFront, DoesNotReadLaterSteps) {
  const at::NoGradGuard no_grad;
  DataShape shape = sequence_shape(Task::kRegression, 3, 2);
  shape.target_per_step = true;
  ModelSettings settings = with_front({4, 4}, 3, 1);
  settings.kind = ModelKind::kSequenceRegressor;
  const auto model = initialized_model(settings, shape);
  const at::Tensor inputs = seeded_randn({8, 2, 3});
  const at::Tensor before = model->forward(batch_of(inputs));
  at::Tensor changed = inputs.clone();
  changed.narrow(0, 5, 3).fill_(100);
  const at::Tensor after = model->forward(batch_of(changed));
  EXPECT_TRUE(at::equal(before.narrow(0, 0, 5), after.narrow(0, 0, 5)));
  EXPECT_FALSE(at::equal(before[5], after[5]));
}

// Each sequence without padding must give the same result as in a padded batch, whatever the padding holds.
TEST(SequenceParts, PaddingHasNoInfluence) {
  const at::NoGradGuard no_grad;
  for (const Pooling pooling : {Pooling::kLast, Pooling::kMean, Pooling::kAttention})
    for (const int64_t stride : {1, 2})
      for (const bool bidirectional : {false, true}) {
        ModelSettings settings = with_front({4, 6}, 3, stride);
        settings.pooling = pooling;
        settings.bidirectional = bidirectional;
        const auto model = initialized_model(settings, sequence_shape(Task::kClassification, 3, 2));
        const at::Tensor inputs = seeded_randn({7, 3, 3});
        const auto lengths = at::tensor({2, 7, 5}, at::kLong);
        inputs.select(1, 0).narrow(0, 2, 5).fill_(std::numeric_limits<float>::quiet_NaN());
        const at::Tensor together = model->forward(batch_of(inputs, lengths));
        for (int64_t i = 0; i < 3; ++i) {
          const auto alone = inputs.narrow(1, i, 1).narrow(0, 0, lengths[i].item<int64_t>()).contiguous();
          EXPECT_TRUE(at::allclose(together[i], model->forward(batch_of(alone))[0], 1e-5, 1e-6)) << "sequence " << i;
        }
      }
}

// ---- model.pooling: attention ----

TEST(AttentionPooling, IsAMeanByLearnedWeights) {
  AttentionPooling attention(4);
  attention.to(at::kDouble);
  std::vector<at::Tensor> inputs = {seeded_randn({6, 3, 4}).to(at::kDouble)};
  for (const at::Tensor& parameter : attention.parameters()) inputs.push_back(parameter);
  const auto lengths = at::tensor({6, 1, 4}, at::kLong);
  const auto reference = with_gradients(
      [&](const auto& in) {
        std::vector<at::Tensor> rows;
        for (int64_t i = 0; i < 3; ++i) {
          const at::Tensor own = in[0].select(1, i).narrow(0, 0, lengths[i].template item<int64_t>());
          const at::Tensor scores = at::linear(at::tanh(at::linear(own, in[1], in[2])), in[3]).squeeze(1);
          rows.push_back(at::softmax(scores, 0).matmul(own));
        }
        return at::stack(rows);
      },
      inputs);
  auto got = with_gradients([&](const auto& in) { return attention.forward(in[0], lengths); }, {inputs[0]});
  for (const at::Tensor& parameter : attention.parameters()) got.push_back(parameter.grad());
  expect_close(got, reference, 1e-12);
  EXPECT_TRUE(at::equal(attention.weights(inputs[0], lengths).select(1, 1),
                        at::tensor({1, 0, 0, 0, 0, 0}, at::kLong).to(at::kDouble)));
}

// The sum of weights in bfloat16 would miss 1 by their rounding.
TEST(AttentionPooling, HasWeightsInFloat32) {
  AttentionPooling attention(4);
  attention.to(at::kBFloat16);
  const at::Tensor weights = attention.weights(seeded_randn({50, 3, 4}).to(at::kBFloat16), {});
  EXPECT_EQ(weights.scalar_type(), at::kFloat);
  EXPECT_TRUE(at::allclose(weights.sum(0), at::tensor({1.0F, 1.0F, 1.0F}), 0, 1e-5));
}

// ---- model.decoder ----

// Two columns of targets over three horizons. A step has a number, what two columns will be, and another number.
DataShape forecast_shape() {
  DataShape shape = sequence_shape(Task::kRegression, 8, 6);
  shape.sequence_length = 5;
  shape.num_horizons = 3;
  shape.first_ahead = 1;
  shape.num_ahead = 2;
  return shape;
}

ModelSettings with_decoder() {
  ModelSettings settings;
  settings.kind = ModelKind::kSequenceRegressor;
  settings.hidden_size = 4;
  settings.decoder = true;
  return settings;
}

RecurrentLayer& network_of(const Model& model, const std::string& name) {
  return *std::dynamic_pointer_cast<RecurrentLayer>(model.named_children()[name]);
}

TEST(Decoder, ReadsThePooledVectorAndWhatIsKnownOfItsHorizon) {
  DataShape shape = forecast_shape();
  shape.numbers_per_target = 2;
  const auto model = initialized_model(with_decoder(), shape);
  const at::Tensor inputs = seeded_randn({5, 7, 8});

  const at::Tensor measured = at::cat({inputs.narrow(2, 0, 1), inputs.narrow(2, 7, 1)}, 2);
  const RecurrentResult encoded = network_of(*model, "recurrent").forward(measured);
  std::vector<at::Tensor> steps;
  for (int64_t horizon = 0; horizon < 3; ++horizon)
    steps.push_back(
        at::cat({encoded.output[-1], inputs[-1].narrow(1, 1 + horizon, 1), inputs[-1].narrow(1, 4 + horizon, 1)}, 1));
  const at::Tensor decoded = network_of(*model, "decoder").forward(at::stack(steps), encoded.state).output;
  const auto parameters = model->named_parameters();
  const at::Tensor outputs = at::linear(decoded, parameters["output.weight"], parameters["output.bias"]);

  const at::Tensor got = model->forward(batch_of(inputs));
  EXPECT_THAT(got.sizes(), ElementsAre(7, 12));
  for (int64_t column = 0; column < 2; ++column)
    for (int64_t horizon = 0; horizon < 3; ++horizon)
      for (int64_t number = 0; number < 2; ++number)
        EXPECT_TRUE(at::allclose(got.select(1, (column * 3 + horizon) * 2 + number),
                                 outputs[horizon].select(1, column * 2 + number), 1e-6, 1e-6));
}

TEST(Decoder, NeedsNothingThatIsKnownAhead) {
  DataShape shape = forecast_shape();
  shape.num_ahead = 0;
  const auto model = initialized_model(with_decoder(), shape);
  EXPECT_THAT(model->named_parameters()["recurrent.weight_ih_l0"].sizes(), ElementsAre(16, 8));
  EXPECT_THAT(model->named_parameters()["decoder.weight_ih_l0"].sizes(), ElementsAre(16, 4));
  EXPECT_THAT(model->forward(batch_of(seeded_randn({5, 7, 8}))).sizes(), ElementsAre(7, 6));
}

TEST(Decoder, DoesNotReadWhatIsKnownOfLaterHorizons) {
  const at::NoGradGuard no_grad;
  const auto model = initialized_model(with_decoder(), forecast_shape());
  const at::Tensor inputs = seeded_randn({5, 2, 8});
  const at::Tensor before = model->forward(batch_of(inputs)).view({2, 2, 3});
  at::Tensor changed = inputs.clone();
  changed.select(2, 2).fill_(9);  // the first column, of the second horizon
  const at::Tensor after = model->forward(batch_of(changed)).view({2, 2, 3});
  EXPECT_TRUE(at::equal(before.select(2, 0), after.select(2, 0)));
  EXPECT_FALSE(at::equal(before.select(2, 1), after.select(2, 1)));
}

// A step has a number, the calendar of two phases ahead by two shifts, and three numbers more.
DataShape shape_with_calendar() {
  DataShape shape = forecast_shape();
  shape.num_ahead = 0;
  shape.calendar_ahead = {.num_phases = 2, .num_numbers = 4, .places = {{4, 3}, {3, 1}, {4, 1}}};
  return shape;
}

TEST(Decoder, ReadsTheCalendarOfTheRowOfItsHorizon) {
  const at::NoGradGuard no_grad;
  const DataShape shape = shape_with_calendar();
  const auto model = initialized_model(with_decoder(), shape);
  const at::Tensor inputs = seeded_randn({5, 7, 8});
  const at::Tensor measured = at::cat({inputs.narrow(2, 0, 1), inputs.narrow(2, 5, 3)}, 2);
  const RecurrentResult encoded = network_of(*model, "recurrent").forward(measured);
  std::vector<at::Tensor> steps;
  for (const auto& [step, number] : shape.calendar_ahead.places)
    steps.push_back(at::cat({encoded.output[-1], inputs[step].narrow(1, number, 2)}, 1));
  const at::Tensor decoded = network_of(*model, "decoder").forward(at::stack(steps), encoded.state).output;
  const auto parameters = model->named_parameters();
  const at::Tensor outputs = at::linear(decoded, parameters["output.weight"], parameters["output.bias"]);
  const at::Tensor got = model->forward(batch_of(inputs)).view({7, 2, 3});
  for (int64_t horizon = 0; horizon < 3; ++horizon)
    EXPECT_TRUE(at::allclose(got.select(2, horizon), outputs[horizon], 1e-6, 1e-6));
}

TEST(Decoder, ReadsTheCalendarOfNoOtherRow) {
  const at::NoGradGuard no_grad;
  const DataShape shape = shape_with_calendar();
  const auto model = initialized_model(with_decoder(), shape);
  const at::Tensor inputs = seeded_randn({5, 2, 8});
  at::Tensor changed = inputs.clone();
  changed.narrow(2, 1, 4).fill_(NAN);
  for (const auto& [step, number] : shape.calendar_ahead.places)
    changed[step].narrow(1, number, 2).copy_(inputs[step].narrow(1, number, 2));
  EXPECT_TRUE(at::equal(model->forward(batch_of(inputs)), model->forward(batch_of(changed))));
  changed[3].narrow(1, 1, 2).fill_(9);  // the second horizon
  const at::Tensor before = model->forward(batch_of(inputs)).view({2, 2, 3});
  const at::Tensor after = model->forward(batch_of(changed)).view({2, 2, 3});
  EXPECT_TRUE(at::equal(before.select(2, 0), after.select(2, 0)));
  EXPECT_FALSE(at::equal(before.select(2, 1), after.select(2, 1)));
}

TEST(Decoder, AloneReadsTheCalendarAhead) {
  ModelSettings settings = with_decoder();
  EXPECT_THAT(misfits(settings, shape_with_calendar()), ::testing::IsEmpty());
  settings.decoder = false;
  const auto found = misfits(settings, shape_with_calendar());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found.front().keys, ElementsAre("data.calendar_ahead", "model.decoder"));
}

// All that a model can have, on every layer of this processor.
TEST(Decoder, GivesTheSameByEveryLayer) {
  ModelSettings settings = with_decoder();
  settings.front = {6};
  settings.pooling = Pooling::kAttention;
  settings.num_layers = 2;
  settings.dense = {5};
  for (const bool bidirectional : {false, true})
    for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kSlstm, Cell::kMinGru}) {
      settings.bidirectional = bidirectional;
      settings.cell = cell;
      const auto results = [&](LayerKind layer) {
        const auto model = initialized_model(settings, forecast_shape(), layer);
        auto found =
            with_gradients([&](const auto& in) { return model->forward(batch_of(in[0])); }, {seeded_randn({5, 3, 8})});
        for (const at::Tensor& parameter : model->parameters()) found.push_back(parameter.grad());
        return found;
      };
      const auto expected = results(LayerKind::kNaive);
      for (const LayerKind layer : candidates(recurrent_options(settings, 6), Precision::kFp32, Processor::kCpu))
        for (size_t i = 0; const at::Tensor& one : results(layer))
          EXPECT_TRUE(at::allclose(one, expected[i++], 1e-4, 1e-6)) << config::name_of(layer) << ", result " << i;
    }
}

// Outputs and all gradients.
void expect_the_same_on_a_gpu(const ModelSettings& settings, const DataShape& shape, LayerKind layer,
                              const at::Tensor& lengths) {
  const at::Tensor inputs = seeded_randn({5, 4, shape.input_size});
  const auto results = [&](LayerKind kind, at::Device device) {
    const auto model = initialized_model(settings, shape, kind);
    model->to(device);
    auto found =
        with_gradients([&](const auto& in) { return model->forward(batch_of(in[0], lengths)); }, {inputs.to(device)});
    for (const at::Tensor& parameter : model->parameters()) found.push_back(parameter.grad());
    return converted(found, at::kCPU);
  };
  const auto expected = results(LayerKind::kNaive, at::kCPU), got = results(layer, at::kCUDA);
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_TRUE(at::allclose(got[i], expected[i], 1e-3, 1e-5)) << config::name_of(layer) << ", result " << i;
}

TEST(SequenceParts, GiveTheSameOnAGpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  at::globalContext().setAllowTF32CuDNN(false);
  at::globalContext().setAllowTF32CuBLAS(false);
  ModelSettings parts = with_front({6, 4}, 3, 2), decoder = with_decoder();
  parts.pooling = Pooling::kAttention;
  decoder.num_layers = 2;
  const auto lengths = at::tensor({5, 1, 4, 2}, at::kLong);
  for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kSlstm, Cell::kMinGru}) {
    parts.cell = decoder.cell = cell;
    for (const LayerKind layer : candidates(recurrent_options(decoder, 2), Precision::kFp32, Processor::kGpu)) {
      expect_the_same_on_a_gpu(parts, sequence_shape(Task::kClassification, 3, 2), layer, lengths);
      expect_the_same_on_a_gpu(decoder, forecast_shape(), layer, {});
    }
  }
}

TEST(SequenceParts, AreRefusedForDataThatTheyDoNotFit) {
  ModelSettings settings = with_front({4}, 3, 2);
  settings.pooling = Pooling::kAttention;
  settings.decoder = true;
  DataShape shape = sequence_shape(Task::kClassification, 3, 2);
  shape.target_per_step = true;
  std::string messages;
  for (const Contradiction& one : misfits(settings, shape)) messages += one.keys.front() + ": " + one.message + "\n";
  expect_golden(messages);
  testing::expect_error(ExitCode::kUsage, [&] { make_model(settings, {LayerKind::kNaive}, shape); });
  EXPECT_THAT(misfits(with_decoder(), forecast_shape()), ::testing::IsEmpty());
}

}  // namespace
}  // namespace rnnlab
