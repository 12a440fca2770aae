// SPDX-License-Identifier: Apache-2.0
// Fuzzes settings of a model that pass validation, and data of any shape: a small model is made and computes a batch
// forward and backward, or is refused. The input's bytes choose the values.
#include <ATen/Parallel.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>

#include "fuzz/choices.h"
#include "fuzz/fuzz_support.h"
#include "layers/refusals.h"
#include "train/models/model.h"

namespace rnnlab::testing {
namespace {

constexpr int64_t kMostBytes = 1 << 20;
constexpr int64_t kMostCellSteps = 64;

const std::vector<int64_t> kSizes = {1, 2, 3, 4, 5, 8, 13, 28};

struct ModelCase {
  LayerKind layer = LayerKind::kNaive;
  ConvolutionKind convolution = ConvolutionKind::kFused;
  ModelSettings settings;
  DataShape shape;
  int64_t batch_size = 1;
  bool trains = false;
};

template <class E>
E some(Choices& choices) {
  constexpr const auto& names = config::EnumNames<E>::kNames;
  return names[choices.below(names.size())].first;
}

ModelSettings some_model(Choices& choices, config::Findings& findings) {
  const std::string yaml = some_settings(ModelSettings::schema().spec(), choices);
  const auto document = config::Document::from_text(yaml, "x.yaml", findings);
  return config::read(document, ModelSettings::schema(), findings);
}

ModelCase some_case(Choices& choices, config::Findings& findings) {
  ModelCase one;
  one.layer = some<LayerKind>(choices);
  one.convolution = some<ConvolutionKind>(choices);
  one.shape = {some<Task>(choices), choices.one_of(kSizes), choices.one_of(kSizes), choices.one_of(kSizes),
               choices.below(2) == 1};
  one.batch_size = choices.one_of(kSizes);
  one.trains = choices.below(2) == 1;
  one.settings = some_model(choices, findings);
  return one;
}

// Cell steps of the recurrent layers; each is several operations with a gradient.
int64_t num_cell_steps(const ModelCase& one) {
  const RecurrentOptions options = recurrent_options(one.settings, one.shape.input_size);
  return one.shape.sequence_length * options.num_layers * options.num_directions();
}

bool is_small(const ModelCase& one) {
  return bytes_of(parameter_specs(one.settings, one.shape)) <= kMostBytes && num_cell_steps(one) <= kMostCellSteps;
}

bool is_for_this_layer(const ModelCase& one) {
  if (!info_of(one.settings.kind).has_recurrent_layers()) return true;
  return one.layer != LayerKind::kAuto && !refusal_of(one.layer, Processor::kCpu);
}

Batch batch_of(const ModelCase& one) {
  const int64_t num_steps = one.shape.sequence_length;
  Batch batch;
  batch.size = one.batch_size;
  batch.inputs = one.shape.task == Task::kLanguageModel
                     ? at::randint(one.shape.num_outputs, {num_steps, one.batch_size}, at::kLong)
                     : at::randn({num_steps, one.batch_size, one.shape.input_size});
  if (one.shape.has_lengths) batch.lengths = at::randint(1, num_steps + 1, {one.batch_size}, at::kLong);
  return batch;
}

void compute(const ModelCase& one) {
  const auto model = make_model(one.settings, {one.layer}, one.shape, one.convolution);
  require(4 * num_parameters(*model) == bytes_of(parameter_specs(one.settings, one.shape)));
  model->train(one.trains);
  const at::Tensor output = model->forward(batch_of(one));
  require(output.size(-1) == one.shape.num_outputs);
  if (one.trains) output.sum().backward();
}

}  // namespace
}  // namespace rnnlab::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rnnlab;
  static const bool is_set_up = [] { return at::set_num_threads(1), true; }();
  testing::require(is_set_up);
  const testing::OneSecond limit;
  testing::Choices choices({data, size});
  config::Findings findings;
  const testing::ModelCase one = testing::some_case(choices, findings);
  if (!findings.empty() || !testing::is_small(one) || !testing::is_for_this_layer(one)) return 0;
  testing::expect_done_or_refused({ExitCode::kUsage}, [&] { testing::compute(one); });
  return 0;
}
