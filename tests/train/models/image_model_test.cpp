// SPDX-License-Identifier: Apache-2.0
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <torch/cuda.h>

#include "base/expect_error.h"
#include "golden.h"
#include "layers/execution_path.h"
#include "train/models/image_reference.h"
#include "train/models/model.h"
#include "train/models/small_models.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using testing::expect_error;

constexpr std::array kKinds = {ConvolutionKind::kPlain, ConvolutionKind::kChannelsLast, ConvolutionKind::kFusedPool,
                               ConvolutionKind::kFused};

ModelSettings image_settings(int64_t num_convolutions = 2) {
  ModelSettings settings;
  settings.kind = ModelKind::kImageClassifier;
  settings.num_convolutions = num_convolutions;
  settings.dense = {16};
  return settings;
}

DataShape image_shape(int64_t num_rows, int64_t num_columns) {
  return {Task::kClassification, /*input_size=*/num_columns, /*sequence_length=*/num_rows, /*num_outputs=*/10, false};
}

std::shared_ptr<Model> image_model(const ModelSettings& settings, ConvolutionKind kind, const DataShape& shape) {
  auto model = make_model(settings, LayerKind::kFused, shape, kind);
  initialize(*model, settings.initialization, 1);
  return model;
}

// Returns the logits and the gradients of their weighted sum, all in float64.
std::vector<at::Tensor> results_of(Model& model, const at::Tensor& logits) {
  model.zero_grad();
  (logits * seeded_randn(logits.sizes(), 9).to(logits.options())).sum().backward();
  std::vector<at::Tensor> results = {logits.detach().to(at::kDouble)};
  for (const auto& parameter : model.parameters()) results.push_back(parameter.grad().to(at::kDouble).contiguous());
  return results;
}

class ImageModelOn : public ::testing::TestWithParam<c10::DeviceType> {
 protected:
  void SetUp() override {
    if (GetParam() == at::kCUDA && !torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
    at::set_num_threads(1);  // these images are small: threads would only wait for each other
    at::globalContext().setAllowTF32CuDNN(false);
    at::globalContext().setAllowTF32CuBLAS(false);
  }

  static std::shared_ptr<Model> model_here(int64_t num_convolutions, ConvolutionKind kind, at::ScalarType type) {
    auto model = image_model(image_settings(num_convolutions), kind, image_shape(10, 8));
    model->to(GetParam());
    model->to(type);
    return model;
  }

  // Returns the results of the definition in float64.
  static std::vector<at::Tensor> expected_of(int64_t num_convolutions, const at::Tensor& images) {
    const auto exact = model_here(num_convolutions, ConvolutionKind::kPlain, at::kDouble);
    return results_of(*exact, reference_logits(*exact, num_convolutions, images.to(at::kDouble)));
  }
};

TEST_P(ImageModelOn, ComputesWhatItIsDefinedToAndAllGradients) {
  const at::Tensor images = seeded_randn({10, 3, 8}).to(GetParam());
  for (const int64_t num_convolutions : {2, 4}) {
    const auto expected = expected_of(num_convolutions, images);
    for (const auto kind : kKinds)
      for (const auto& [type, tolerance] : {std::pair{at::kDouble, 1e-10}, std::pair{at::kFloat, 1e-4}}) {
        SCOPED_TRACE(fmt::format("{}, {} convolutions", config::name_of(kind), num_convolutions));
        const auto model = model_here(num_convolutions, kind, type);
        expect_close(results_of(*model, model->forward(batch_of(images.to(type)))), expected, tolerance);
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, ImageModelOn, ::testing::Values(at::kCPU, at::kCUDA),
                         [](const auto& tested) { return c10::DeviceTypeName(tested.param, /*lower_case=*/true); });

TEST(ImageModel, HasTheSourcesParametersWhateverComputesIt) {
  auto settings = image_settings();
  settings.dense = {1024};
  const auto model = image_model(settings, ConvolutionKind::kFused, image_shape(28, 28));
  std::vector<std::string> shapes;
  for (const auto& parameter : model->named_parameters())
    shapes.push_back(parameter.key() + " " + ::testing::PrintToString(parameter.value().sizes().vec()));
  EXPECT_THAT(shapes, ElementsAre("convolution0.weight { 32, 1, 5, 5 }", "convolution0.bias { 32 }",
                                  "convolution1.weight { 64, 32, 5, 5 }", "convolution1.bias { 64 }",
                                  "dense0.weight { 1024, 3136 }", "dense0.bias { 1024 }", "output.weight { 10, 1024 }",
                                  "output.bias { 10 }"));
  for (const auto kind : kKinds)
    EXPECT_EQ(weights_sha256(*image_model(settings, kind, image_shape(28, 28))), weights_sha256(*model));
}

TEST(ImageModel, StartsAsTorchNnDrawsConvolutions) {
  const auto model = image_model(image_settings(), ConvolutionKind::kPlain, image_shape(28, 28));
  const auto largest = [&](const char* name) { return model->named_parameters()[name].abs().max().item<double>(); };
  EXPECT_NEAR(largest("convolution0.weight"), 0.2, 0.002);  // 1 / sqrt(25)
  EXPECT_NEAR(largest("convolution1.weight"), 1 / std::sqrt(800.0), 1e-5);
  auto settings = image_settings();
  settings.initialization = Initialization::kXavier;
  const auto xavier = image_model(settings, ConvolutionKind::kPlain, image_shape(28, 28));
  EXPECT_NEAR(xavier->named_parameters()["convolution1.weight"].abs().max().item<double>(),
              std::sqrt(6.0 / (800 + 1600)), 1e-4);
  EXPECT_EQ(xavier->named_parameters()["convolution1.bias"].abs().max().item<double>(), 0.0);
}

TEST(ImageModel, DropsFromDenseLayersInTrainingAlone) {
  auto settings = image_settings();
  settings.dense_dropout = 0.5;
  const auto model = image_model(settings, ConvolutionKind::kFused, image_shape(8, 8));
  const auto batch = batch_of(seeded_randn({8, 4, 8}));
  EXPECT_FALSE(at::equal(model->forward(batch), model->forward(batch)));
  model->eval();
  EXPECT_TRUE(at::equal(model->forward(batch), model->forward(batch)));
}

TEST(ImageModel, SaysWhatReallyComputesIt) {
  const auto path_of = [](ConvolutionKind kind) {
    const auto model = image_model(image_settings(), kind, image_shape(8, 8));
    return observe_execution_path([&] { model->forward(batch_of(seeded_randn({8, 4, 8}))); }).path;
  };
  EXPECT_EQ(path_of(ConvolutionKind::kPlain), "oneDNN convolution (float32)");
  expect_golden(path_of(ConvolutionKind::kFused));
}

TEST(ImageModel, RefusesWhatIsNoImageOfItsSize) {
  auto varied = image_shape(28, 28);
  varied.has_lengths = true;
  expect_error(ExitCode::kUsage, [&] { make_model(image_settings(), LayerKind::kFused, varied); });
  expect_error(ExitCode::kUsage, [&] { make_model(image_settings(), LayerKind::kFused, image_shape(50, 3)); });
  const auto model = image_model(image_settings(), ConvolutionKind::kFused, image_shape(28, 28));
  expect_error(ExitCode::kData, [&] { model->forward(batch_of(seeded_randn({30, 4, 28}))); });
  auto numbers = image_shape(28, 28);
  numbers.task = Task::kRegression;
  expect_error(ExitCode::kUsage, [&] { make_model(image_settings(), LayerKind::kFused, numbers); });
}

}  // namespace
}  // namespace rnnlab
