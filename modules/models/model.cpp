#include "models/model.h"

#include <ATen/ops/dropout.h>

#include <limits>

#include "base/error.h"
#include "base/numbers.h"
#include "models/image_model.h"
#include "models/language_model.h"
#include "models/model_parameters.h"
#include "models/sequence_model.h"

namespace rnnlab {
namespace {

// Returns whether the kind fits the task. A regressor may also be trained on 0/1 targets.
bool fits(ModelKind kind, Task task) {
  switch (kind) {
    case ModelKind::kSequenceClassifier:
      return task == Task::kClassification || task == Task::kBinary;
    case ModelKind::kSequenceRegressor:
      return task == Task::kRegression || task == Task::kBinary;
    case ModelKind::kLanguageModel:
      return task == Task::kLanguageModel;
    case ModelKind::kImageClassifier:
      return task == Task::kClassification;
  }
  return false;
}

ModelKind kind_for(Task task) {
  if (task == Task::kLanguageModel) return ModelKind::kLanguageModel;
  return task == Task::kRegression ? ModelKind::kSequenceRegressor : ModelKind::kSequenceClassifier;
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
  return "";
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

std::shared_ptr<Model> make_model(const ModelSettings& settings, LayerChoice layer, const DataShape& shape,
                                  ConvolutionKind convolution) {
  if (!fits(settings.kind, shape.task)) {
    throw_error(ExitCode::kUsage, "model.kind: {} does not fit data with {}; use {}", config::name_of(settings.kind),
                targets_of(shape), config::name_of(kind_for(shape.task)));
  }
  if (bytes_of(parameter_specs(settings, shape)) == std::numeric_limits<int64_t>::max())
    throw_error(ExitCode::kUsage, "model: its weights do not fit into any memory; use smaller layers or samples");
  if (settings.kind == ModelKind::kLanguageModel) return std::make_shared<LanguageModel>(settings, layer, shape);
  if (settings.kind == ModelKind::kImageClassifier) return std::make_shared<ImageModel>(settings, convolution, shape);
  return std::make_shared<SequenceModel>(settings, layer, shape);
}

}  // namespace rnnlab
