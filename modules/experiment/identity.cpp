#include "experiment/identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "base/sha256.h"
#include "models/model_parameters.h"

namespace rnnlab {
namespace {

std::string digest(const std::string& text) { return Sha256().update(text).hex(); }

std::string order_sha256(const at::Tensor& order) {
  return Sha256().update(std::span(static_cast<const std::byte*>(order.const_data_ptr()), order.nbytes())).hex();
}

// The weights that a file gave are compared by their own digest.
std::string model_description(ModelSettings settings) {
  settings.initial_weights.clear();
  return config::print(settings, ModelSettings::schema());
}

// The hash must stay that of earlier versions, or their runs could not be compared with new ones. It is of the printed
// text with its comments, so the keys and the upper bounds that came later are left out of the text, and a comment that
// has changed is put back.
config::StructSpec hashed_training_spec() {
  config::StructSpec spec = TrainingSettings::schema().spec();
  std::erase_if(spec.entries, [](const config::Entry& entry) { return entry.key == "tensorboard_machine"; });
  constexpr std::array<std::string_view, 13> kWithoutUpperBound = {
      "max_seconds", "learning_rate", "epsilon",      "weight_decay", "clip_norm",
      "clip_value",  "warmup_steps",  "decay_rate",   "decay_steps",  "minimum_learning_rate",
      "patience",    "min_delta",     "warmup_epochs"};
  for (config::Entry& entry : spec.entries)
    if (entry.key == "num_threads") entry.help = "threads of one operation on the CPU; by default one a core";
  for (config::Entry& entry : spec.entries)
    if (std::ranges::find(kWithoutUpperBound, entry.key) != kWithoutUpperBound.end())
      std::get<config::FieldSpec>(entry.content).upper.reset();
  return spec;
}

// How long a run lasts, and what is compared apart, is no part of the work of an epoch.
std::string training_description(const Experiment& experiment) {
  const TrainingSettings defaults;
  TrainingSettings settings = experiment.training;
  settings.epochs = defaults.epochs;
  settings.max_steps = defaults.max_steps;
  settings.max_seconds = defaults.max_seconds;
  settings.early_stopping = defaults.early_stopping;
  settings.patience = defaults.patience;
  settings.min_delta = defaults.min_delta;
  settings.warmup_epochs = defaults.warmup_epochs;
  settings.num_threads = defaults.num_threads;
  settings.batch_size = defaults.batch_size;
  settings.tensorboard = defaults.tensorboard;
  settings.tensorboard_histograms = defaults.tensorboard_histograms;
  settings.cuda_graph = defaults.cuda_graph;  // how a step is started, never what it does
  return fmt::format("deterministic: {}\n{}", experiment.deterministic,
                     config::print_struct(hashed_training_spec(), &settings, &defaults));
}

}  // namespace

Identity make_identity(const RunStart& start) {
  const Experiment& e = start.experiment;
  const Environment& environment = start.environment;
  return {.data_fingerprint = start.dataset.fingerprint,
          .batch_size = e.training.batch_size,
          .model_hash = digest(model_description(e.model)),
          .initial_weights_sha256 = weights_sha256(start.model),
          .order_sha256 = order_sha256(start.order),
          .training_hash = digest(training_description(e)),
          .placement = std::string(config::name_of(start.placement)),
          .precision = effective_precision(e.precision, start.device),
          .build_type = build_kind(environment.build),
          .cpu_model = environment.cpu.model,
          .num_threads = environment.num_threads,
          .gpu_model = gpu_model(environment.nvidia),
          .conditions = conditions_of(environment)};
}

}  // namespace rnnlab
