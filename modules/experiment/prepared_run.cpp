#include "experiment/prepared_run.h"

#include <ATen/Parallel.h>

#include "base/error.h"
#include "data/load_dataset.h"
#include "experiment/device.h"
#include "experiment/fastest_layer.h"
#include "experiment/identity.h"
#include "experiment/initial_weights.h"
#include "experiment/versions.h"
#include "models/initialization.h"
#include "training/determinism.h"

namespace rnnlab {
namespace {

Processor processor_of(c10::Device device) { return device.is_cpu() ? Processor::kCpu : Processor::kGpu; }

// With the device that `auto` came to; UserError kUsage where the layer or the precision is not for it.
Experiment with_device(Experiment experiment, c10::Device device) {
  if (const auto reason = refusal(experiment.layer, processor_of(device))) throw_error(ExitCode::kUsage, "{}", *reason);
  if (const auto reason = refusal_on_cpu(experiment.precision); reason && device.is_cpu())
    throw_error(ExitCode::kUsage, "{}", *reason);
  experiment.device = device.str();
  return experiment;
}

Environment set_up_process(const Experiment& experiment, const std::vector<std::string>& command_line) {
  set_num_threads(experiment.training.num_threads);
  set_determinism(experiment.deterministic ? Determinism::kOn : Determinism::kOff);
  set_precision(experiment.precision);
  return collect_environment(command_line, at::get_num_threads(), software_versions());
}

// Puts the layer that `auto` comes to in its place.
const Experiment& settle_layer(Experiment& experiment, const Dataset& dataset, const TrainerOptions& options,
                               std::vector<std::string>& notes) {
  if (experiment.layer != LayerKind::kAuto) return experiment;
  const RecurrentOptions layer = recurrent_options(experiment.model, dataset.shape.input_size);
  const auto kinds = candidates(layer, processor_of(options.device));
  const FastestLayer fastest = fastest_of(kinds, measure_training(experiment, dataset, options));
  notes.push_back(fastest.note);
  experiment.layer = fastest.kind;
  return experiment;
}

std::shared_ptr<Model> make_initial_model(const Experiment& experiment, const DataShape& shape, WeightsFrom weights) {
  auto model = make_model(experiment.model, {experiment.layer, experiment.cudnn_algorithm}, shape);
  initialize(*model, experiment.model.initialization, static_cast<uint64_t>(experiment.seed));
  const std::string& file = experiment.model.initial_weights;
  if (!file.empty() && weights == WeightsFrom::kExperiment) load_initial_weights(*model, file);
  return model;
}

TrainerOptions trainer_options(const Experiment& experiment, c10::Device device) {
  return {.settings = experiment.training,
          .seed = static_cast<uint64_t>(experiment.seed),
          .device = device,
          .precision = experiment.precision,
          .placement = experiment.data.placement};
}

}  // namespace

PreparedRun::PreparedRun(const Experiment& wanted, const std::vector<std::string>& command_line, WeightsFrom weights)
    : device(resolve_device(wanted.device)),
      experiment(with_device(wanted, device)),
      environment(set_up_process(experiment, command_line)),
      dataset(load_dataset(experiment.data)),
      options(trainer_options(experiment, device)),
      model(make_initial_model(settle_layer(experiment, dataset, options, notes), dataset.shape, weights)),
      trainer(*model, dataset, options),
      identity(make_identity({experiment, device, trainer.placement(), dataset, *model, environment})) {}

}  // namespace rnnlab
