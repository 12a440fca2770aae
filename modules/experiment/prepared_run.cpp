#include "experiment/prepared_run.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <set>
#include <span>

#include "base/error.h"
#include "base/numbers.h"
#include "base/sha256.h"
#include "data/load_dataset.h"
#include "experiment/device.h"
#include "experiment/experiment.h"
#include "experiment/fastest_layer.h"
#include "experiment/initial_weights.h"
#include "experiment/machine_report.h"
#include "experiment/memory_estimate.h"
#include "experiment/run_ranks.h"
#include "models/model_parameters.h"
#include "recurrent/device/gpu_device.h"
#include "recurrent/device/gpu_support.h"
#include "results/work_settings.h"
#include "training/determinism.h"
#include "training/evaluate.h"
#include "training/train_step.h"

namespace rnnlab {

void require_runs_on(const Experiment& experiment, c10::Device device) {
  if (const auto reason = unsupported_reason(computed_layer(experiment), device))
    throw_error(ExitCode::kUsage, "{}", *reason);
  if (device.is_cuda())
    if (const auto reason = unsupported_size(computed_layer(experiment), experiment.model.hidden_size, gpu_of(device)))
      throw_error(ExitCode::kUsage, "{}", *reason);
  if (const auto reason = refusal_on_cpu(experiment.precision); reason && device.is_cpu())
    throw_error(ExitCode::kUsage, "{}", *reason);
}

void set_up_process(const Experiment& experiment) {
  set_num_threads(experiment.training.num_threads);
  set_determinism(experiment.deterministic ? Determinism::kOn : Determinism::kOff);
  set_precision(experiment.precision);
}

TrainerOptions trainer_options(const Experiment& experiment, c10::Device device) {
  return {.settings = experiment.training,
          .seed = static_cast<uint64_t>(experiment.seed),
          .device = device,
          .precision = experiment.precision,
          .placement = experiment.data.placement};
}

namespace {

std::string order_sha256(const at::Tensor& order) {
  return Sha256().update(std::span(static_cast<const std::byte*>(order.const_data_ptr()), order.nbytes())).hex();
}

}  // namespace

Identity make_identity(const RunStart& start) {
  const Experiment& e = start.experiment;
  const Environment& environment = start.environment;
  const WorkHashes hashes = work_hashes(effective_settings(e));
  return {.data_fingerprint = start.dataset.fingerprint,
          .batch_size = e.training.batch_size,
          .model_hash = hashes.model,
          .initial_weights_sha256 = weights_sha256(start.model),
          .order_sha256 = order_sha256(start.order),
          .training_hash = hashes.training,
          .placement = std::string(config::name_of(start.placement)),
          .precision = effective_precision(e.precision, start.device),
          .build_type = build_kind(environment.build),
          .cpu_model = environment.cpu.model,
          .num_threads = environment.num_threads,
          .gpu_model = gpu_model(environment.nvidia),
          .conditions = conditions_of(environment)};
}

namespace {

TrainerOptions with_batch_size(TrainerOptions options, int64_t size) {
  options.settings.batch_size = size;
  return options;
}

// Returns the sizes of batches of `size` samples; the last batch may be smaller.
std::set<int64_t> sizes_of_batches(const Samples& samples, int64_t size) {
  std::set<int64_t> sizes = {std::min(size, samples.size()), samples.size() % size};
  sizes.erase(0);
  return sizes;
}

}  // namespace

ExecutionPath observe_training_path(Model& model, const Dataset& dataset, const TrainerOptions& options) {
  const Batch batch = first_batch(dataset.train, options);
  const Objective objective(options.settings.loss, dataset, options.device);
  model.train();
  ExecutionPath path = observe_execution_path([&] { backpropagate(model, batch, objective, options.precision); });
  model.zero_grad();
  return path;
}

void load_kernels(Model& model, const Dataset& dataset, const TrainerOptions& options) {
  const Objective objective(options.settings.loss, dataset, options.device);
  model.train();
  for (const int64_t size : sizes_of_batches(dataset.train, options.settings.batch_size))
    backpropagate(model, first_batch(dataset.train, with_batch_size(options, size)), objective, options.precision);
  model.zero_grad();
  model.eval();
  for (const int64_t size : sizes_of_batches(dataset.valid, options.settings.valid_batch_size)) {
    const Batch batch = first_batch(dataset.valid, with_batch_size(options, size));
    evaluation_work(model, objective, options.precision)(std::span(&batch, 1), 0);
  }
  model.train();
}

namespace {

// Returns the experiment with the device that `auto` chose. Throws UserError kUsage if the layer or the precision does
// not support the device. Each rank on GPUs has its own GPU, so the device is then just "cuda".
Experiment with_device(Experiment experiment, c10::Device device, const Ranks* ranks) {
  require_runs_on(experiment, device);
  const bool is_one_of_several = ranks != nullptr && device.is_cuda();
  experiment.device = is_one_of_several ? "cuda" : device.str();
  return experiment;
}

Environment set_up(const Experiment& experiment, c10::Device device, const std::vector<std::string>& command_line) {
  set_up_process(experiment);
  Environment environment = collect_environment(command_line, at::get_num_threads(), libraries());
  if (device.is_cuda()) environment.used_gpus = uuid_of_gpu(device);
  return environment;
}

FastestLayer fastest_for(const Experiment& experiment, const Dataset& dataset, const TrainerOptions& options) {
  const RecurrentOptions layer = recurrent_options(experiment.model, dataset.shape.input_size);
  const auto kinds = candidates(layer, experiment.precision, processor_of(options.device));
  return fastest_of(kinds, measure_training(experiment, dataset, options));
}

FastestLayer taken_before(LayerKind kind) {
  return {kind, {fmt::format("layer: auto chose {}, as in an earlier run with the same work", config::name_of(kind))}};
}

FastestLayer choose_layer(const Experiment& experiment, const Dataset& dataset, const TrainerOptions& options,
                          const AutoLayers* earlier) {
  const auto known = earlier == nullptr ? std::nullopt : earlier->taken_for(experiment);
  return known ? taken_before(*known) : fastest_for(experiment, dataset, options);
}

FastestLayer taken_by_first_rank(const std::string& layer) {
  return {config::from_name<LayerKind>(layer).value(),
          {fmt::format("layer: auto chose {}, as rank 0 measured", layer)}};
}

// Sets auto_layer to the choice of `auto`.
const Experiment& settle_layer(Experiment& experiment, const Dataset& dataset, const TrainerOptions& options,
                               AutoLayers* earlier, std::vector<std::string>& notes) {
  if (experiment.layer != LayerKind::kAuto || experiment.auto_layer) return experiment;
  std::optional<FastestLayer> fastest;
  const bool is_first = options.ranks == nullptr || options.ranks->is_first();
  if (is_first) fastest = choose_layer(experiment, dataset, options, earlier);
  if (options.ranks != nullptr) {
    const auto told = options.ranks->gather_texts(is_first ? std::string(config::name_of(fastest->kind)) : "");
    if (!is_first) fastest = taken_by_first_rank(told.front());
  }
  notes.insert(notes.end(), fastest->notes.begin(), fastest->notes.end());
  if (earlier != nullptr) earlier->remember(experiment, fastest->kind);
  experiment.auto_layer = fastest->kind;
  return experiment;
}

TrainerOptions options_with(Ranks* ranks, TrainerOptions options) {
  options.ranks = ranks;
  return options;
}

std::vector<std::string> check_memory_before_loading(const Experiment& experiment, c10::Device device) {
  return check_memory(estimate_memory(experiment, Purpose::kTraining), memory_advice(experiment, Purpose::kTraining),
                      device);
}

// The real size of the data is known only now. A warning from before loading is kept, because it is about the data too.
Dataset load_within_memory(const Experiment& experiment, c10::Device device, std::vector<std::string>& warnings) {
  Dataset dataset = load_dataset(experiment.data);
  const DataSize size{dataset.shape, saturating_add(dataset.train.bytes(), dataset.valid.bytes()),
                      dataset.train.size()};
  MemoryEstimate estimate = estimate_memory(experiment, Purpose::kTraining, size);
  const MemoryAdvice advice = memory_advice(experiment, Purpose::kTraining);
  check_memory(estimate, advice, device);
  estimate.data = device.is_cpu() ? 0 : estimate.data;  // on a CPU the loaded data no longer count as free memory
  if (warnings.empty()) warnings = check_memory(estimate, advice, device);
  return dataset;
}

std::shared_ptr<Model> make_initial_model(const Experiment& experiment, const DataShape& shape, WeightsFrom weights) {
  auto model = make_model(experiment, shape);
  initialize(*model, experiment.model.initialization, static_cast<uint64_t>(experiment.seed));
  const std::string& file = experiment.model.initial_weights;
  if (!file.empty() && weights == WeightsFrom::kExperiment) load_initial_weights(*model, file);
  return model;
}

}  // namespace

PreparedRun::PreparedRun(const Experiment& wanted, const std::vector<std::string>& command_line, WeightsFrom weights,
                         AutoLayers* auto_layers, Ranks* ranks)
    : device(device_here(wanted)),
      notes(notes_on_device(wanted.device, device)),
      experiment(with_device(wanted, device, ranks)),
      memory_warnings(check_memory_before_loading(experiment, device)),
      environment(set_up(experiment, device, command_line)),
      dataset(load_within_memory(experiment, device, memory_warnings)),
      options(options_with(ranks, trainer_options(experiment, device))),
      model(make_initial_model(settle_layer(experiment, dataset, options, auto_layers, notes), dataset.shape, weights)),
      trainer(*model, dataset, options),
      identity(
          make_identity({experiment, device, trainer.placement(), trainer.order(0), dataset, *model, environment})),
      path(observe_training_path(*model, dataset, options)) {
  if (info_of(computed_layer(experiment)).compiles_kernels) load_kernels(*model, dataset, options);
}

}  // namespace rnnlab
