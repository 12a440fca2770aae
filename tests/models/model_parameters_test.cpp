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

}  // namespace
}  // namespace rnnlab
