// SPDX-License-Identifier: Apache-2.0
#include "runs/run_context.h"

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/numbers.h"
#include "base/sha256.h"
#include "base/text.h"
#include "data/load_dataset.h"
#include "layers/cells/cell.h"
#include "layers/device/gpu_device.h"
#include "layers/device/gpu_support.h"
#include "results/checkpoint/safetensors.h"
#include "results/work_settings.h"
#include "runs/devices.h"
#include "runs/machine_report.h"
#include "runs/memory_estimate.h"
#include "runs/model_file.h"
#include "runs/run_checkpoint.h"
#include "runs/strict.h"
#include "train/loop/determinism.h"
#include "train/loop/objective.h"
#include "train/loop/snapshot.h"
#include "train/loop/train_step.h"
#include "train/weights/layouts.h"
#include "train/weights/network_weights.h"
#include "train/weights/tensor_reader.h"

namespace rnnlab {

void require_runs_on(const Experiment& experiment, c10::Device device) {
  require_supported(computed_layer(experiment), work_on(device, layer_work(experiment)));
  if (const auto reason = unsupported_on_cpu(experiment.precision); reason && device.is_cpu())
    throw_error(ExitCode::kUsage, "{}", *reason);
}

void configure_torch(const Experiment& experiment) {
  set_num_threads(experiment.training.num_threads);
  set_determinism(experiment.deterministic ? Determinism::kOn : Determinism::kOff);
  set_precision(experiment.precision);
}

TrainerOptions trainer_options(const Experiment& experiment, c10::Device device) {
  return {.settings = experiment.training,
          .seed = static_cast<uint64_t>(experiment.seed),
          .device = device,
          .precision = experiment.precision,
          .placement = experiment.data.placement,
          .distributed = experiment.distributed};
}

namespace {

std::string order_sha256(const at::Tensor& order) {
  return Sha256().update(std::span(static_cast<const std::byte*>(order.const_data_ptr()), order.nbytes())).hex();
}

// Returns "" for a model without recurrent layers.
std::string cell_sha256(const ModelSettings& model) {
  return info_of(model.kind).has_recurrent_layers() ? program_of(recurrent_options(model, 1)).hash : "";
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
          .conditions = conditions_of(environment),
          .cell_sha256 = cell_sha256(e.model)};
}

namespace {

TrainerOptions with_batch_size(TrainerOptions options, int64_t size) {
  options.settings.batch_size = size;
  return options;
}

// Returns the sizes of batches of `size` samples; the last batch may be smaller, if it is kept.
std::set<int64_t> sizes_of_batches(const Samples& samples, int64_t size, bool keeps_tail = true) {
  std::set<int64_t> sizes = {std::min(size, samples.size())};
  if (keeps_tail) sizes.insert(samples.size() % size);
  sizes.erase(0);
  return sizes;
}

}  // namespace

ExecutionPath observe_training_path(Model& model, const Dataset& dataset, const TrainerOptions& options) {
  const Batch batch = first_batch(dataset.train, options);
  const Objective objective = training_objective(dataset, options);
  model.train();
  ExecutionPath path = observe_execution_path([&] { backpropagate(model, batch, objective, options.precision); });
  model.zero_grad();
  return path;
}

void load_kernels(Model& model, const Dataset& dataset, const TrainerOptions& options) {
  const Objective objective = training_objective(dataset, options);
  model.train();
  const bool keeps_tail = !options.settings.drop_last && !options.settings.carry_state;
  for (const int64_t size : sizes_of_batches(dataset.train, options.settings.batch_size, keeps_tail))
    backpropagate(model, first_batch(dataset.train, with_batch_size(options, size)), objective, options.precision);
  model.zero_grad();
  model.eval();
  const Objective of_validation(options.settings, dataset, options.device);
  for (const int64_t size : sizes_of_batches(dataset.valid, options.settings.valid_batch_size)) {
    const Batch batch = first_batch(dataset.valid, with_batch_size(options, size));
    evaluation_work(model, of_validation, options.precision)(std::span(&batch, 1), 0);
  }
  model.train();
}

namespace {

bool has_bare_names(const TensorFile& file) { return file.find("weight_ih_l0") != nullptr; }

// Returns the tensors with PyTorch's names, for any layout of the file.
std::vector<NamedTensor> pytorch_tensors(const TensorFile& file, const Model& model) {
  const Layout layout = layout_of(file).value_or(Layout::kPyTorch);
  if (layout == Layout::kPyTorch || !model.has_recurrent()) return to_tensors(file.tensors);
  const NetworkWeights network = read_network(file, layout);
  require_same_function(network.metadata, model.recurrent().options(), file.name);
  return export_tensors(network, Layout::kPyTorch);
}

// Checkpoints of earlier versions state the function of their weights only in their settings.
LayoutMetadata stated_function(const TensorFile& file, const std::filesystem::path& path) {
  LayoutMetadata stated = stated_in(file);
  const bool is_of_checkpoint = path.filename() == kModelFile && path_exists(path.parent_path() / kStateFile);
  if (stated.cell || !is_of_checkpoint) return stated;
  return function_of(read_saved_run(path.parent_path()).facts.experiment);
}

std::vector<NamedTensor> parameters_with(const Model& model, const std::string& prefix) {
  std::vector<NamedTensor> parameters = named_parameters(model);
  std::erase_if(parameters, [&](const NamedTensor& one) { return !one.name.starts_with(prefix); });
  return parameters;
}

// Returns the specs of the recurrent layer with short names, such as "weight_ih_l0" for "recurrent.weight_ih_l0".
std::vector<TensorSpec> recurrent_specs(const Model& model) {
  std::vector<TensorSpec> specs = specs_of(parameters_with(model, kRecurrentPrefix));
  for (TensorSpec& spec : specs) spec.name = spec.name.substr(std::string_view(kRecurrentPrefix).size());
  return specs;
}

}  // namespace

std::vector<std::string> load_initial_weights(Model& model, const std::filesystem::path& path,
                                              const std::vector<CategoryColumn>& categories) {
  std::vector<std::string> notes;
  const TensorFile given = read_safetensors(path);
  require_intact(given);
  const TensorFile source = with_float32(given, notes);
  require_same_categories(source, categories);
  if (model.has_recurrent())
    require_same_function(stated_function(source, path), std::as_const(model).recurrent().options(), source.name);
  std::vector<NamedTensor> tensors = pytorch_tensors(source, model);
  const TensorFile file{.name = path.string(), .tensors = views_of(tensors), .metadata = {}, .bytes = nullptr};
  const bool is_bare = has_bare_names(file);
  require_tensors(file, is_bare ? recurrent_specs(model) : specs_of(named_parameters(model)));
  const std::string prefix = is_bare ? kRecurrentPrefix : "";
  for (NamedTensor& tensor : tensors) tensor.name = prefix + tensor.name;
  copy_tensors(tensors, parameters_with(model, prefix));
  return notes;
}

namespace {

// Returns the experiment with the device that `auto` chose. Throws UserError kUsage if the layer or the precision does
// not support the device. Each rank on GPUs has its own GPU, so the device is then just "cuda".
Experiment with_device(Experiment experiment, c10::Device device, const Ranks& ranks) {
  require_runs_on(experiment, device);
  refuse_if_strict(experiment, [&] { return fallbacks_of_settings(experiment, device); });
  experiment.device = ranks.shared_name(device);
  return experiment;
}

Environment set_up(const Experiment& experiment, c10::Device device, const std::vector<std::string>& command_line) {
  configure_torch(experiment);
  Environment environment = collect_environment(command_line, at::get_num_threads(), libraries());
  environment.used_gpus = uuid_of(device);
  return environment;
}

FastestLayer fastest_for(const Experiment& experiment, const Dataset& dataset, const TrainerOptions& options) {
  const RecurrentOptions layer = recurrent_options(experiment.model, step_vector_size(experiment.model, dataset.shape));
  const auto kinds = candidates(layer, experiment.precision, processor_of(options.device));
  return fastest_of(kinds, measure_training(experiment, dataset, options));
}

FastestLayer reused_choice(LayerKind kind) {
  return {kind, {fmt::format("layer: auto chose {}, as in an earlier run with the same work", config::name_of(kind))}};
}

FastestLayer choose_layer(const Experiment& experiment, const Dataset& dataset, const TrainerOptions& options,
                          const AutoLayers* earlier) {
  const auto known = earlier == nullptr ? std::nullopt : earlier->find_choice(experiment);
  return known ? reused_choice(*known) : fastest_for(experiment, dataset, options);
}

FastestLayer choice_of_first_rank(const std::string& layer) {
  return {config::from_name<LayerKind>(layer).value(),
          {fmt::format("layer: auto chose {}, as rank 0 measured", layer)}};
}

// Returns the choice of `auto`, or nothing if the experiment names its layer.
std::optional<LayerKind> chosen_layer(const Experiment& experiment, const Dataset& dataset,
                                      const TrainerOptions& options, AutoLayers* earlier,
                                      std::vector<std::string>& notes) {
  if (experiment.layer != LayerKind::kAuto || experiment.auto_layer) return experiment.auto_layer;
  const auto own =
      options.ranks->on_first([&] { return std::optional(choose_layer(experiment, dataset, options, earlier)); });
  const auto choices = options.ranks->all_gather_texts(own ? std::string(config::name_of(own->kind)) : "");
  const FastestLayer fastest = own ? *own : choice_of_first_rank(choices.front());
  notes.insert(notes.end(), fastest.notes.begin(), fastest.notes.end());
  if (earlier != nullptr) earlier->remember(experiment, fastest.kind);
  return fastest.kind;
}

TrainerOptions options_with(Ranks& ranks, TrainerOptions options) {
  options.ranks = &ranks;
  return options;
}

std::vector<std::string> check_memory_before_loading(const Experiment& experiment, c10::Device device) {
  return check_memory(estimate_memory(experiment, Purpose::kTraining), memory_advice(experiment, Purpose::kTraining),
                      device);
}

// The real size of the data is known only now. A warning from before loading is kept, because it is about the data too.
Dataset load_within_memory(const Experiment& experiment, c10::Device device, std::vector<std::string>& warnings) {
  Dataset dataset = load_dataset(experiment.data);
  dataset.shape.numbers_per_target = numbers_per_target(experiment.training);
  MemoryEstimate estimate = estimate_memory(experiment, Purpose::kTraining, size_of(dataset));
  const MemoryAdvice advice = memory_advice(experiment, Purpose::kTraining);
  check_memory(estimate, advice, device);
  estimate.data = device.is_cpu() ? 0 : estimate.data;  // on a CPU the loaded data no longer count as free memory
  if (warnings.empty()) warnings = check_memory(estimate, advice, device);
  return dataset;
}

std::shared_ptr<Model> make_initial_model(const Experiment& experiment, const FittedData& data, WeightsFrom weights,
                                          std::vector<std::string>& notes) {
  auto model = make_model(experiment, data.shape);
  initialize(*model, experiment.model.initialization, static_cast<uint64_t>(experiment.seed));
  const std::string& file = experiment.model.initial_weights;
  if (file.empty() || weights == WeightsFrom::kCheckpoint) return model;
  for (std::string& note : load_initial_weights(*model, file, data.categories)) notes.push_back(std::move(note));
  return model;
}

}  // namespace

RunContext::RunContext(const Experiment& wanted, const std::vector<std::string>& command_line, WeightsFrom weights,
                       AutoLayers* auto_layers, Ranks& ranks) {
  device = device_of_process(wanted);
  notes = device_notes(wanted.device, device);
  experiment = with_device(wanted, device, ranks);
  memory_warnings = check_memory_before_loading(experiment, device);
  environment = set_up(experiment, device, command_line);
  dataset = load_within_memory(experiment, device, memory_warnings);
  options = options_with(ranks, trainer_options(experiment, device));
  experiment.auto_layer = chosen_layer(experiment, dataset, options, auto_layers, notes);
  model = make_initial_model(experiment, dataset, weights, notes);
  require_metrics(experiment, dataset.shape.task);
  for (const Samples* part : {&dataset.train, &dataset.valid}) require_targets_of(experiment.training, *part, dataset);
  trainer = std::make_unique<Trainer>(*model, dataset, options);
  identity = make_identity({experiment, device, trainer->placement(), trainer->order(0), dataset, *model, environment});
  path = observe_training_path(*model, dataset, options);
  refuse_fallbacks();
  if (info_of(computed_layer(experiment)).compiles_kernels) load_kernels(*model, dataset, options);
}

void RunContext::refuse_fallbacks() const {
  refuse_if_strict(experiment, [this] {
    return fallbacks_of_run(experiment, device,
                            {.path = path, .precision = identity.precision, .why_no_graphs = trainer->why_no_graphs()});
  });
}

namespace {

// Returns NaN if the pass fails, for example if the whole batch needs more memory than one GPU has.
double seconds_of_pass(const RunContext& run, int64_t batch_size) {
  TrainerOptions options = run.options;
  options.settings.batch_size = batch_size;
  try {
    return measure_training(run.experiment, run.dataset, options)(computed_layer(run.experiment));
  } catch (const c10::Error&) {
    return std::numeric_limits<double>::quiet_NaN();
  } catch (const UserError&) {
    return std::numeric_limits<double>::quiet_NaN();
  }
}

// The values are exchanged as texts, because the ranks wait longer for texts.
double largest_of(Ranks& ranks, double value) {
  double largest = 0;
  for (const std::string& text : ranks.all_gather_texts(format_shortest(value))) {
    const std::optional<double> one = parse_double(text);
    if (!one || !std::isfinite(*one)) return std::numeric_limits<double>::quiet_NaN();
    largest = std::max(largest, *one);
  }
  return largest;
}

// The first rank measures the whole batch while the others wait.
ScalingEstimate estimate_of(RunContext& run, const GradientExchange::Alone& exchange) {
  Ranks& ranks = *run.options.ranks;
  const int64_t batch_size = std::min(run.options.settings.batch_size, run.dataset.train.size());
  ScalingEstimate estimate{
      .num_processes = ranks.size(),
      .exchange_seconds = exchange.seconds_of_last / static_cast<double>(run.options.settings.accumulate),
      .num_bytes = exchange.num_bytes,
      .num_pieces = exchange.num_pieces};
  estimate.part_seconds = largest_of(ranks, seconds_of_pass(run, (batch_size + ranks.size() - 1) / ranks.size()));
  estimate.whole_seconds = largest_of(ranks, ranks.on_first([&] { return seconds_of_pass(run, batch_size); }));
  return estimate;
}

}  // namespace

std::string text_of(const ScalingEstimate& estimate) {
  if (!std::isfinite(estimate.speedup())) return "no estimate: a pass over the whole batch fails on one GPU";
  return fmt::format(
      "expected: {:.2g} times as fast as one GPU with this batch (a pass over it takes {}, over a part of {} {}; "
      "gradients of {} are sent in {}, the last of which takes {}); "
      "{:.0f} % of {} times if each GPU has a batch of this size",
      estimate.speedup(), format_seconds(estimate.whole_seconds), estimate.num_processes,
      format_seconds(estimate.part_seconds), format_bytes(estimate.num_bytes),
      counted(static_cast<int64_t>(estimate.num_pieces), "piece"), format_seconds(estimate.exchange_seconds),
      100 * estimate.weak_efficiency(), estimate.num_processes);
}

void note_exchange(RunContext& run) {
  if (!run.environment.ranks) return;
  const GradientExchange::Alone exchange = run.trainer->measure_exchange().value();
  const bool has_shards = run.options.settings.shards.has_value();  // their passes are smaller
  if (run.device.is_cuda() && !has_shards)
    run.exchange_note = text_of(estimate_of(run, exchange));
  else
    run.exchange_note = fmt::format("an exchange of {} takes {} without other work", format_bytes(exchange.num_bytes),
                                    format_seconds(exchange.seconds));
}

namespace {

// Returns the facts that must be equal on all ranks, by name.
SharedFacts shared_facts(const RunContext& run) {
  SharedFacts facts = {
      {"the version of rnnlab", run.environment.software.rnnlab},
      {"the LibTorch", run.environment.software.libtorch},
      {"the data", run.identity.data_fingerprint},
      {"the order of the samples", run.identity.order_sha256},
      {"the placement of the samples (data.placement, or data.memory if it is auto)", run.identity.placement},
      {"the initial weights", run.identity.initial_weights_sha256},
      {"the step to resume from", std::to_string(run.trainer->state().step)}};
  for (auto& fact : equal_settings(run.experiment)) facts.push_back(std::move(fact));
  return facts;
}

}  // namespace

void require_same_run(Ranks& ranks, const RunContext& run) { require_equal_facts(ranks, shared_facts(run)); }

void record_ranks(Ranks& ranks, Environment& environment) {
  const auto texts = ranks.descriptions([&] { return text_of(describe_rank(environment)); });
  if (!texts.empty()) record_ranks(environment, texts, ranks.backend());
}

}  // namespace rnnlab
