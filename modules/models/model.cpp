#include "models/model.h"

#include <ATen/ops/dropout.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/numbers.h"
#include "models/model_graph.h"

namespace rnnlab {
namespace {

bool fits(const ModelInfo& model, Task task) { return std::ranges::count(model.tasks, task) > 0; }

// Returns the first listed model that fits the task.
std::string_view model_for(Task task) {
  for (const auto& [kind, name] : config::EnumNames<ModelKind>::kNames)
    if (fits(info_of(kind), task)) return name;
  fail_invariant("a task with a model", __FILE__, __LINE__, "no model fits the task");
}

std::string targets_of(const DataShape& shape) {
  switch (shape.task) {
    case Task::kClassification:
      return counted(shape.num_outputs, "class");
    case Task::kBinary:
    case Task::kRegression:
      return counted(shape.num_outputs, "real-valued target");
    case Task::kLanguageModel:
      return fmt::format("a text of {} different tokens", shape.num_outputs);
  }
  fail_invariant("a listed task", __FILE__, __LINE__, "targets_of does not know the task");
}

RecurrentOptions computed_by(LayerChoice layer, RecurrentOptions options) {
  options.cudnn_algorithm = layer.cudnn_algorithm;
  return options;
}

}  // namespace

Model::Model(LayerChoice layer, const RecurrentOptions& options)
    : recurrent_(register_module("recurrent", make_layer(layer.kind, computed_by(layer, options)))) {}

at::Tensor Model::dropped(const at::Tensor& values, double probability) const {
  if (probability == 0.0 || !is_training()) return values;
  return at::dropout(values, probability, /*train=*/true);
}

std::vector<ParameterSpec> parameter_specs(const ModelSettings& settings, const DataShape& shape) {
  std::vector<ParameterSpec> specs = draw_model(settings, shape).parameters();
  std::ranges::stable_partition(specs, [](const ParameterSpec& spec) { return spec.name.starts_with("recurrent."); });
  return specs;
}

int64_t bytes_of(const std::vector<ParameterSpec>& specs) {
  int64_t bytes = 0;
  for (const ParameterSpec& spec : specs) {
    int64_t size = sizeof(float);
    for (const int64_t dimension : spec.shape) size = saturating_multiply(size, dimension);
    bytes = saturating_add(bytes, size);
  }
  return bytes;
}

std::shared_ptr<Model> make_model(const ModelSettings& settings, LayerChoice layer, const DataShape& shape,
                                  ConvolutionKind convolution) {
  const ModelInfo& info = info_of(settings.kind);
  if (!fits(info, shape.task)) {
    throw_error(ExitCode::kUsage, "model.kind: {} does not fit data with {}; use {}", config::name_of(settings.kind),
                targets_of(shape), model_for(shape.task));
  }
  if (bytes_of(parameter_specs(settings, shape)) == std::numeric_limits<int64_t>::max())
    throw_error(ExitCode::kUsage, "model: its weights do not fit into any memory; use smaller layers or samples");
  return info.make(settings, layer, shape, convolution);
}

}  // namespace rnnlab
