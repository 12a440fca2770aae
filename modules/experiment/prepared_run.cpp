#include "experiment/prepared_run.h"

#include <ATen/Parallel.h>

#include "data/load_dataset.h"
#include "experiment/device.h"
#include "experiment/fastest_layer.h"
#include "experiment/identity.h"
#include "experiment/initial_weights.h"
#include "experiment/process.h"
#include "experiment/versions.h"
#include "models/initialization.h"

namespace rnnlab {
namespace {

// With the device that `auto` came to; UserError kUsage where the layer or the precision is not for it.
Experiment with_device(Experiment experiment, c10::Device device) {
  require_runs_on(experiment, device);
  experiment.device = device.str();
  return experiment;
}

Environment set_up(const Experiment& experiment, const std::vector<std::string>& command_line) {
  set_up_process(experiment);
  return collect_environment(command_line, at::get_num_threads(), software_versions());
}

// Puts the layer that `auto` comes to in its place.
const Experiment& settle_layer(Experiment& experiment, const Dataset& dataset, const TrainerOptions& options,
                               std::vector<std::string>& notes) {
  if (experiment.layer != LayerKind::kAuto) return experiment;
  const RecurrentOptions layer = recurrent_options(experiment.model, dataset.shape.input_size);
  const auto kinds = candidates(layer, experiment.precision, processor_of(options.device));
  const FastestLayer fastest = fastest_of(kinds, measure_training(experiment, dataset, options));
  notes.push_back(fastest.note);
  experiment.layer = fastest.kind;
  return experiment;
}

std::shared_ptr<Model> make_initial_model(const Experiment& experiment, const DataShape& shape, WeightsFrom weights) {
  auto model = make_model(experiment, shape);
  initialize(*model, experiment.model.initialization, static_cast<uint64_t>(experiment.seed));
  const std::string& file = experiment.model.initial_weights;
  if (!file.empty() && weights == WeightsFrom::kExperiment) load_initial_weights(*model, file);
  return model;
}

}  // namespace

PreparedRun::PreparedRun(const Experiment& wanted, const std::vector<std::string>& command_line, WeightsFrom weights)
    : device(resolve_device(wanted.device)),
      experiment(with_device(wanted, device)),
      environment(set_up(experiment, command_line)),
      dataset(load_dataset(experiment.data)),
      options(trainer_options(experiment, device)),
      model(make_initial_model(settle_layer(experiment, dataset, options, notes), dataset.shape, weights)),
      trainer(*model, dataset, options),
      identity(
          make_identity({experiment, device, trainer.placement(), trainer.order(0), dataset, *model, environment})) {}

}  // namespace rnnlab
