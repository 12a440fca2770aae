#include "models/model_parameters.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "models/small_models.h"

namespace rnnlab {
namespace {

ModelSettings settings_of_the_table() {
  ModelSettings settings;
  settings.cell = Cell::kGru;
  settings.hidden_size = 20;
  return settings;
}

const DataShape kImageRows = sequence_shape(Task::kClassification, 28, 10);

TEST(ParameterTable, ListsEveryParameterAndTheTotal) {
  EXPECT_EQ(parameter_table(*initialized_model(settings_of_the_table(), kImageRows)),
            "name                    shape       parameters\n"
            "recurrent.weight_ih_l0  (60, 28)         1,680\n"
            "recurrent.weight_hh_l0  (60, 20)         1,200\n"
            "recurrent.bias_ih_l0    (60)                60\n"
            "recurrent.bias_hh_l0    (60)                60\n"
            "output.weight           (10, 20)           200\n"
            "output.bias             (10)                10\n"
            "total                                    3,210  (12.54 KiB)\n");
}

TEST(WeightsSha256, IsTheSameForEqualWeightsAndDiffersByOneBit) {
  const auto model = initialized_model(settings_of_the_table(), kImageRows);
  const auto digest = weights_sha256(*model);
  EXPECT_EQ(digest.size(), 64U);
  EXPECT_EQ(weights_sha256(*initialized_model(settings_of_the_table(), kImageRows, LayerKind::kFused)), digest);
  const at::NoGradGuard no_grad;
  auto bias = model->named_parameters()["output.bias"];
  bias[3] = std::nextafter(bias[3].item<float>(), 1.0F);
  EXPECT_NE(weights_sha256(*model), digest);
}

TEST(WeightsSha256, TellsParametersOfTheSameBytesApart) {
  auto settings = settings_of_the_table();
  settings.initialization = Initialization::kXavier;
  const auto ten = weights_sha256(*initialized_model(settings, kImageRows));
  const auto eleven = weights_sha256(*initialized_model(settings, sequence_shape(Task::kClassification, 28, 11)));
  EXPECT_NE(ten, eleven);
}

TEST(NumParameters, CountsElements) {
  EXPECT_EQ(num_parameters(*initialized_model(settings_of_the_table(), kImageRows)), 3210);
}

void expect_specs_of(const ModelSettings& settings, const DataShape& shape) {
  const auto model = make_model(settings, {LayerKind::kNaive}, shape);
  const auto parameters = model->named_parameters();
  const auto specs = parameter_specs(settings, shape);
  ASSERT_EQ(specs.size(), parameters.size());
  for (size_t i = 0; i < specs.size(); ++i) {
    EXPECT_EQ(specs[i].name, parameters[i].key());
    EXPECT_EQ(specs[i].shape, parameters[i].value().sizes().vec()) << specs[i].name;
  }
  EXPECT_EQ(bytes_of(specs), 4 * num_parameters(*model));
}

TEST(ParameterSpecs, AreThoseOfTheModel) {
  ModelSettings sequences = settings_of_the_table();
  sequences.num_layers = 2;
  sequences.bidirectional = true;
  sequences.dense = {7, 5};
  expect_specs_of(sequences, kImageRows);
  ModelSettings text;
  text.kind = ModelKind::kLanguageModel;
  text.hidden_size = 6;
  expect_specs_of(text, text_shape(9));
  text.tied = true;
  expect_specs_of(text, text_shape(9));
  ModelSettings images;
  images.kind = ModelKind::kImageClassifier;
  images.num_convolutions = 4;
  images.dense = {8};
  DataShape rows = kImageRows;
  rows.sequence_length = 13;
  expect_specs_of(images, rows);
}

TEST(ParameterSpecs, OfImagesBeyondEveryMemoryAreRefused) {
  ModelSettings images;
  images.kind = ModelKind::kImageClassifier;
  DataShape huge = kImageRows;
  huge.sequence_length = huge.input_size = int64_t{1} << 40;
  EXPECT_EQ(bytes_of(parameter_specs(images, huge)), std::numeric_limits<int64_t>::max());
  try {
    make_model(images, {LayerKind::kNaive}, huge);
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kUsage);
    EXPECT_STREQ(error.what(), "model: its weights are more than any memory holds; use smaller layers or samples");
  }
}

}  // namespace
}  // namespace rnnlab
