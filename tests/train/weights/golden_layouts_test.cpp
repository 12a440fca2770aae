// SPDX-License-Identifier: Apache-2.0
// Tests weights and outputs of the real libraries, as check_layouts.py wrote them: rnnlab's layers compute equal
// outputs.
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "base/system/temporary_folder.h"
#include "runs/run_context.h"
#include "train/models/model.h"
#include "train/weights/layouts.h"
#include "train/weights/tensor_reader.h"

namespace rnnlab {
namespace {

using testing::TemporaryFolder;

constexpr double kGoldenTolerance = 1e-6;  // outputs of order one, in float32

struct GoldenCase {
  std::string name;
  Layout layout;
  Cell cell;
  ResetGate reset_gate;
  bool is_stack;
};

std::vector<GoldenCase> golden_cases() {
  std::vector<GoldenCase> cases;
  for (const Layout layout : written_layouts()) {
    const auto layout_name = config::name_of(layout);
    for (const bool is_stack : {false, true}) {
      const auto add = [&](const std::string& name, Cell cell, ResetGate reset_gate) {
        cases.push_back(
            {std::string(layout_name) + "_" + name + (is_stack ? "_stack" : ""), layout, cell, reset_gate, is_stack});
      };
      for (const auto& [cell, name] : config::EnumNames<Cell>::kNames)
        if (info_of(cell).library) add(std::string(name), cell, ResetGate::kAfter);
      if (layout != Layout::kPyTorch) add("gru_before", Cell::kGru, ResetGate::kBefore);
    }
  }
  return cases;
}

class GoldenLayouts : public ::testing::TestWithParam<GoldenCase> {};

// Writes only the weights, as a user has them.
void write_weights(const TensorFile& golden, const std::filesystem::path& file) {
  std::vector<TensorView> weights = golden.tensors;
  std::erase_if(weights, [](const TensorView& view) { return view.spec.name.starts_with("golden."); });
  write_safetensors(file, SafetensorsImage(weights));
}

TEST_P(GoldenLayouts, GiveTheLibrarysOutputs) {
  const GoldenCase& golden_case = GetParam();
  const TensorFile golden =
      read_safetensors(std::string(RNNLAB_SOURCE_DIR "/tests/train/weights/data/") + golden_case.name + ".safetensors");
  const TemporaryFolder folder;
  write_weights(golden, folder.path() / "weights.safetensors");
  EXPECT_EQ(layout_of(golden), golden_case.layout);

  const at::Tensor inputs = to_tensor(*golden.find("golden.inputs")).tensor;    // (N, T, F)
  const at::Tensor outputs = to_tensor(*golden.find("golden.outputs")).tensor;  // (N, K)
  const ModelSettings settings{.kind = ModelKind::kSequenceRegressor,
                               .cell = golden_case.cell,
                               .hidden_size = 3,
                               .num_layers = golden_case.is_stack ? 2 : 1,
                               .bidirectional = golden_case.is_stack,
                               .reset_gate = golden_case.reset_gate,
                               .dense = {4},
                               .dense_activation = Activation::kTanh,
                               .embedding_size = {},
                               .initial_weights = {}};
  const DataShape shape{.task = Task::kRegression,
                        .input_size = inputs.size(2),
                        .sequence_length = inputs.size(1),
                        .num_outputs = outputs.size(1),
                        .has_lengths = false};
  const auto model = make_model(settings, LayerKind::kNaive, shape);
  load_initial_weights(*model, folder.path() / "weights.safetensors");

  const at::NoGradGuard no_grad;
  model->eval();
  Batch batch;
  batch.inputs = inputs.transpose(0, 1).contiguous();
  batch.size = inputs.size(0);
  EXPECT_LT((model->forward(batch) - outputs).abs().max().item<double>(), kGoldenTolerance);
  EXPECT_GT(outputs.abs().max().item<double>(), 0.01) << "outputs near zero would not prove anything";
}

INSTANTIATE_TEST_SUITE_P(OfEveryLibrary, GoldenLayouts, ::testing::ValuesIn(golden_cases()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace rnnlab
