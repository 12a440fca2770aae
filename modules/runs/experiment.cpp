// SPDX-License-Identifier: Apache-2.0
#include "runs/experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <span>

#include "base/folder.h"
#include "base/numbers.h"
#include "base/text.h"
#include "data/find_data.h"
#include "data/load_dataset.h"
#include "layers/cells/cell.h"
#include "results/run_folder.h"
#include "train/loop/losses.h"
#include "train/models/model.h"

namespace rnnlab {
namespace {

using config::kMostCounted;

config::Schema<CheckpointSettings> make_checkpoint_schema() {
  using Settings = CheckpointSettings;
  config::Schema<Settings> s("When a run's state is saved");
  s.field("save", &Settings::save, "false: never, so the run cannot be resumed or used afterwards");
  s.field("every_epochs", &Settings::every_epochs, "epochs between two saves; 0: save only at the end of the run")
      .unit("epochs")
      .between(0, kMostCounted);
  s.field("every_seconds", &Settings::every_seconds,
          "least time between two saves at ends of epochs, so that saving does not slow down short epochs")
      .unit("seconds")
      .between(0.0, kMostCounted);
  s.field("every_steps", &Settings::every_steps,
          "also save within epochs, with this number of steps between two saves; the epoch's time includes the copy")
      .unit("steps")
      .between(1, kMostCounted);
  s.field("best", &Settings::best,
          "also keep the epoch with the best value of early_stopping, or else with the lowest loss");
  s.field("keep", &Settings::keep,
          "number of newest checkpoints to keep; the best and one older valid checkpoint are kept too")
      .between(1, kMostCounted);
  return s;
}

}  // namespace

const config::Schema<CheckpointSettings>& CheckpointSettings::schema() {
  static const config::Schema<CheckpointSettings> schema = make_checkpoint_schema();
  return schema;
}

namespace {

const std::vector<std::string> kDeviceWords = {"auto", "cpu", "cuda"};

}  // namespace

bool is_device_name(std::string_view text) {
  constexpr std::string_view kCudaPrefix = "cuda:";
  if (text == "auto" || text == "cpu" || text == "cuda") return true;
  if (!text.starts_with(kCudaPrefix)) return false;
  const auto index = parse_int64(text.substr(kCudaPrefix.size()));
  return index && *index >= 0 && *index < 128;
}

std::string device_advice(const std::string& text) {
  const std::string lower = lower_case(text);
  if (lower == "gpu" || lower == "nvidia") return " (write cuda)";
  if (lower.starts_with("gpu:") && is_device_name("cuda" + lower.substr(3)))
    return fmt::format(" (write cuda{})", lower.substr(3));
  return is_device_name(lower) ? fmt::format(" (write {})", lower) : did_you_mean(lower, kDeviceWords);
}

std::string layer_advice(const std::string& text, std::string_view cell_key) {
  const auto cells = config::names_of<Cell>();
  const std::string lower = lower_case(text);
  if (std::ranges::find(cells, lower) == cells.end()) return "";
  return fmt::format(" ({0} is a cell: write {1}: {0}; a layer is one way to compute it)", lower, cell_key);
}

namespace {

using config::Checker;

std::string name_advice(const std::string& text) {
  const auto is_beyond_ascii = [](unsigned char c) { return c >= 0x80; };
  return std::ranges::any_of(text, is_beyond_ascii) ? " (of the letters only a to z and A to Z)" : "";
}

// The name is a part of a run folder's name, so it has no slash and no character with a meaning for a shell.
bool is_plain_name(const std::string& name) {
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.'; };
  return !name.empty() && name.size() <= 100 && name[0] != '.' && std::ranges::all_of(name, is_plain);
}

bool has_recurrent_layers(const Experiment& e) { return info_of(e.model.kind).has_recurrent_layers(); }

Processor named_processor(const Experiment& e) { return e.device == "cpu" ? Processor::kCpu : Processor::kGpu; }

void check_layer(const Experiment& e, Checker& checker) {
  if (const auto refusal = why_unsupported(computed_layer(e), layer_work(e)))
    checker.complain(refusal->keys, refusal->message);
}

void check_auto_layer(const Experiment& e, Checker& checker) {
  if (!e.auto_layer) return;
  if (e.layer != LayerKind::kAuto)
    checker.complain({"auto_layer", "layer"}, "auto_layer works only with layer: auto; remove auto_layer");
  if (e.auto_layer == LayerKind::kAuto)
    checker.complain({"auto_layer"}, "expected the layer that auto chose; remove auto_layer to measure again");
}

void check_cudnn_algorithm(const Experiment& e, Checker& checker) {
  const bool may_be_cudnn = e.layer == LayerKind::kCudnn || e.layer == LayerKind::kAuto;
  if (e.cudnn_algorithm == CudnnAlgorithm::kAuto || may_be_cudnn) return;
  checker.complain(
      {"cudnn_algorithm", "layer"},
      fmt::format("only layer: cudnn has an algorithm for cuDNN, and layer: {} does not; remove cudnn_algorithm",
                  config::name_of(e.layer)));
}

// Reports a key that applies only to a different kind of network.
void check_implementation(const Experiment& e, Checker& checker) {
  const Experiment defaults;
  const ModelInfo& model = info_of(e.model.kind);
  const std::string_view name = config::name_of(e.model.kind);
  if (!model.has_recurrent_layers() && e.layer != defaults.layer)
    checker.complain({"layer", "model.kind"}, fmt::format("{} has no recurrent layers; remove layer", name));
  if (!model.reads("num_convolutions") && e.convolution != defaults.convolution)
    checker.complain({"convolution", "model.kind"}, fmt::format("{} has no convolutions; remove convolution", name));
}

void check_embedding(const Experiment& e, Checker& checker) {
  if (e.model.kind != ModelKind::kLanguageModel && e.model.embedding_size && e.data.categories.empty())
    checker.complain({"model.embedding_size", "data.categories"},
                     "these data have neither tokens nor categories that get a vector: remove embedding_size");
}

void check_carried_state(const Experiment& e, Checker& checker) {
  if (!e.training.carry_state) return;
  if (e.model.kind != ModelKind::kLanguageModel)
    checker.complain({"training.carry_state", "model.kind"},
                     "only a language model carries states from batch to batch: remove carry_state");
  if (e.devices.value_or(1) != 1)
    checker.complain({"training.carry_state", "devices"},
                     "states are carried by one process: remove devices, or carry_state");
}

void check_fit_of_model(const Experiment& e, Checker& checker) {
  for (const Contradiction& one : misfits(e.model, least_shape(e.data))) checker.complain(one.keys, one.message);
  if (!has_target_per_step(e.data)) return;
  if (info_of(e.model.kind).input == ModelInput::kImages)
    checker.complain({"model.kind", "data.target_per"},
                     "only sequence_classifier and sequence_regressor have an output for each step");
}

void check_kind(const Experiment& e, Checker& checker) {
  const ModelInput input = info_of(e.model.kind).input;
  const bool is_text = gives_task(e.data.source, Task::kLanguageModel);
  if (input == ModelInput::kTokens && !is_text)
    checker.complain({"model.kind", "data.source"}, "a language model reads text; use data.source: text");
  if (is_text && input != ModelInput::kTokens)
    checker.complain({"model.kind", "data.source"}, "text is for a language model; use model.kind: language_model");
  if (input == ModelInput::kImages && info_of(e.data.source).form == DataForm::kTable)
    checker.complain(
        {"model.kind", "data.source"},
        fmt::format("{} reads images; use data.source: mnist, digits, idx or npy", config::name_of(e.model.kind)));
}

// The data say so too when they are loaded, but `check` loads none.
void check_series(const Experiment& e, Checker& checker) {
  const bool is_series =
      e.data.source == Source::kCsv && e.data.window > 0 && e.data.target_per == TargetPer::kSequence;
  const bool has_numbers = e.data.task == TaskChoice::kRegression || e.data.task == TaskChoice::kAutomatic;
  if (!is_series || !has_numbers || e.model.kind != ModelKind::kSequenceClassifier) return;
  checker.complain({"model.kind", "data.window", "data.task"},
                   "a series is forecast as numbers, and a sequence_classifier predicts classes; set model.kind: "
                   "sequence_regressor, or data.task: classification if the targets are classes");
}

// Returns whether the loss fits any task of the model; LossKind::kAuto fits every model.
bool fits(LossKind loss, const ModelInfo& model) {
  return loss == LossKind::kAuto ||
         std::ranges::any_of(model.tasks, [&](Task task) { return info_of(loss).suits(task); });
}

void check_class_weights(const Experiment& e, Checker& checker) {
  if (e.training.class_weights == ClassWeights::kNone) return;
  const LossKind loss = e.training.loss;
  if (loss != LossKind::kAuto && info_of(loss).weighted_sum == nullptr)
    checker.complain(
        {"training.class_weights", "training.loss"},
        fmt::format("only classes have weights: use loss: {}, or remove class_weights", names_of_weighted_losses()));
  if (!fits(LossKind::kCrossEntropy, info_of(e.model.kind)))
    checker.complain({"training.class_weights", "model.kind"}, "only classes have weights: remove class_weights");
}

void check_loss(const Experiment& e, Checker& checker) {
  const ModelInfo& model = info_of(e.model.kind);
  const LossKind loss = e.training.loss;
  if (!fits(loss, model)) {
    std::vector<std::string> losses;
    for (const auto& [kind, name] : config::EnumNames<LossKind>::kNames)
      if (fits(kind, model)) losses.emplace_back(name);
    checker.complain({"training.loss", "model.kind"}, fmt::format("{} does not fit {}; use {}", config::name_of(loss),
                                                                  config::name_of(e.model.kind), join_with_or(losses)));
  }
}

void check_momentum(const Experiment& e, Checker& checker) {
  if (e.training.momentum != 0.0 && !info_of(e.training.optimizer).reads("momentum"))
    checker.complain(
        {"training.momentum", "training.optimizer"},
        fmt::format("only {} have a momentum; {} have beta1", join_with_and(optimizers_that_read("momentum")),
                    join_with_and(optimizers_that_read("beta1"))));
}

// A metric that a setting names, such as {"training.stop_at.valid_rmse", "valid_rmse"}.
struct WatchedMetric {
  std::string key;
  std::string metric;
};

std::vector<WatchedMetric> watched_metrics(const Experiment& e) {
  std::vector<WatchedMetric> watched;
  for (const std::string& metric : e.training.metrics) watched.push_back({"training.metrics", metric});
  if (const auto& metric = e.training.early_stopping) watched.push_back({"training.early_stopping", *metric});
  for (const auto& [metric, value] : e.training.stop_at.values)
    watched.push_back({"training.stop_at." + metric, metric});
  return watched;
}

// Returns whether the metric is defined for one of the tasks, with this loss.
bool suits_one_of(LossKind loss, std::span<const Task> tasks, const MetricInfo& metric) {
  return std::ranges::any_of(tasks, [&](Task task) {
    return metric.suits(metric_task(loss == LossKind::kAuto ? natural_loss(task) : loss, task));
  });
}

bool lacks_distribution(LossKind loss, const MetricInfo& metric) {
  return metric.needs == MetricNeeds::kDistribution && !has_distribution(loss);
}

bool has_metric(LossKind loss, std::span<const Task> tasks, const MetricInfo& metric) {
  return suits_one_of(loss, tasks, metric) && !lacks_distribution(loss, metric);
}

// Returns why none of the tasks has the metric, and the metrics of the same part that one has; "" if one has it.
std::string missing_metric(LossKind loss, std::span<const Task> possible, const std::string& name) {
  const MetricInfo& metric = *find_metric(name);
  if (has_metric(loss, possible, metric)) return "";
  if (suits_one_of(loss, possible, metric))
    return fmt::format("{} needs forecasts with a distribution: use training.loss: {}", name, names_of_distributions());
  const std::string part = name.substr(0, name.size() - metric.name.size());
  std::vector<std::string> others;
  for (const MetricInfo& other : metric_list())
    if (has_metric(loss, possible, other) &&
        (part.empty() ? other.is_of_scores() : part == "valid_" || other.is_of_training()))
      others.push_back(part + std::string(other.name));
  return fmt::format("{} is defined for {}; use {}", name, metric.tasks_in_words(), join_with_or(others));
}

// Returns the tasks that the file may mean.
std::vector<Task> possible_tasks(const Experiment& e) {
  const auto task = named_task(e.data.task);
  return task ? std::vector{*task} : info_of(e.model.kind).tasks;
}

void check_plateau(const Experiment& e, Checker& checker) {
  if (e.training.epochs == kEpochsByPlateau && e.data.num_valid == 0 && !e.training.early_stopping)
    checker.complain({"training.epochs", "data.num_valid"},
                     "auto ends by the validation loss, and there are no validation data: set data.num_valid, or "
                     "training.early_stopping: train_loss");
}

void check_metrics(const Experiment& e, Checker& checker) {
  const std::vector<Task> tasks = possible_tasks(e);
  for (const auto& [key, metric] : watched_metrics(e)) {
    const std::string reason = missing_metric(e.training.loss, tasks, metric);
    if (!reason.empty()) checker.complain({key, "training.loss", "model.kind"}, reason);
    if (!metric.starts_with("train_") && e.data.num_valid == 0)
      checker.complain({key, "data.num_valid"},
                       key == "training.early_stopping"
                           ? "there are no validation data; set data.num_valid or use a train_ metric"
                           : "there are no validation data; set data.num_valid");
  }
}

void check_quantiles(const Experiment& e, Checker& checker) {
  const std::vector<double>& levels = e.training.quantiles;
  if (levels.empty()) return;
  if (!has_distribution(e.training.loss))
    return checker.complain(
        {"training.quantiles", "training.loss"},
        fmt::format("only losses with a distribution have quantiles: use loss: {}, or remove quantiles",
                    names_of_distributions()));
  if (std::ranges::adjacent_find(levels, std::ranges::greater_equal()) != levels.end())
    return checker.complain({"training.quantiles"}, "levels must ascend, such as [0.1, 0.5, 0.9]");
  if (levels.front() >= 0.5 || levels.back() <= 0.5 || std::ranges::count(levels, 0.5) == 0)
    checker.complain({"training.quantiles"},
                     "the levels need 0.5, one below it and one above it, such as [0.1, 0.5, 0.9]: the median is the "
                     "forecast, and the lowest and highest are its interval");
}

void check_counts(const Experiment& e, Checker& checker) {
  const LossKind loss = e.training.loss;
  if (has_distribution(loss) && info_of(loss).distribution->is_of_counts && are_relative(e.data))
    checker.complain(
        {"training.loss", "data.target_as", "data.scale_by"},
        fmt::format("{} forecasts counts, and neither a change nor a value in local scales is a count: use another "
                    "loss, such as gaussian, or target_as: value and scale_by: file",
                    config::name_of(loss)));
}

void check_precision(const Experiment& e, Checker& checker) {
  if (e.device != "cpu") return;
  if (const auto reason = unsupported_on_cpu(e.precision)) checker.complain({"precision", "device"}, *reason);
}

void check_devices(const Experiment& e, Checker& checker) {
  const int64_t devices = e.devices.value_or(1);
  if (devices == kAllGpus && e.device == "cpu")
    checker.complain({"devices", "device"}, "all counts GPUs; give the number of processes");
  if (devices == kAllGpus) return;
  if (e.training.batch_size < devices)
    checker.complain({"devices", "training.batch_size"}, "a batch has fewer samples than there are processes");
  if (e.training.shards && *e.training.shards % devices != 0)
    checker.complain({"devices", "training.shards"}, "the number of devices must divide the number of shards");
}

void list_fields(config::Schema<Experiment>& s) {
  s.field("name", &Experiment::name, "names the folder of the runs")
      .where("letters, digits, '_', '-' and '.', at most 100, not starting with '.'", is_plain_name)
      .advise(name_advice);
  s.field("device", &Experiment::device, "where to train; auto: the first GPU, or the CPU if there is no GPU")
      .where("auto, cpu, cuda or cuda:N", is_device_name)
      .advise(device_advice)
      .may_change(config::Change::kOnUse);
  s.field("devices", &Experiment::devices,
          "number of processes that train this run together, each on a part of every batch; all: one for each GPU; "
          "unset: one, or the number that torchrun, srun or mpirun started")
      .between(1, 1024)
      .or_word("all", kAllGpus)
      .may_change(config::Change::kOnResume);
  s.field("layer", &Experiment::layer,
          "how the recurrent layer is computed (docs/layers.md), not what it computes; auto: the fastest on this "
          "machine, measured at the start")
      .advise([](const std::string& text) { return layer_advice(text, "model.cell"); })
      .formerly(kFormerLayers, LayerKind::kPersistent)
      .may_change(config::Change::kOnUse);
  s.field("auto_layer", &Experiment::auto_layer,
          "the layer that layer: auto chose, as recorded in a run's config.yaml, so that it is not measured again; "
          "unset: measured")
      .formerly(kFormerLayers, LayerKind::kPersistent);
  s.field("cudnn_algorithm", &Experiment::cudnn_algorithm,
          "layer: cudnn only, cuDNN's algorithm; auto: the fastest, measured once for a shape and remembered")
      .may_change(config::Change::kOnUse);
  s.field("convolution", &Experiment::convolution,
          "image classifier only, how its convolutions are computed (docs/layers.md), not what they compute")
      .may_change(config::Change::kOnUse);
  s.field("precision", &Experiment::precision,
          "arithmetic of all products: in cuDNN, cuBLAS and autocast; fp16 with dynamic loss scaling")
      .may_change(config::Change::kOnUse);
  s.field("seed", &Experiment::seed, "seed of the initial weights, the order of the batches and dropout").at_least(0);
  s.field("deterministic", &Experiment::deterministic,
          "bit-identical weights from run to run on one machine; may be slower")
      .may_change(config::Change::kOnUse);
  s.field("strict", &Experiment::strict,
          "true: training ends with an error if it cannot use the layer, convolution, precision, device or CUDA graphs "
          "that are set; false: it uses something else, with a note in the log")
      .may_change(config::Change::kOnResume, config::Change::kOnCompare);
  s.group("data", &Experiment::data, "what to learn from", DataSettings::schema());
  s.group("model", &Experiment::model, "the network", ModelSettings::schema());
  s.group("training", &Experiment::training, "how the weights are fitted", TrainingSettings::schema());
  s.group("checkpoint", &Experiment::checkpoint, "when the run's state is saved, to resume it and to use the model",
          CheckpointSettings::schema(), {config::Change::kOnResume});
  s.group("distributed", &Experiment::distributed,
          "how processes that train one run wait for each other and exchange gradients", DistributedSettings::schema(),
          {config::Change::kOnResume});
}

config::Schema<Experiment> make_schema() {
  config::Schema<Experiment> s("An experiment");
  list_fields(s);
  s.check(check_layer);
  s.check(check_auto_layer);
  s.check(check_cudnn_algorithm);
  s.check(check_implementation);
  s.check(check_precision);
  s.check(check_kind);
  s.check(check_series);
  s.check(check_fit_of_model);
  s.check(check_carried_state);
  s.check(check_embedding);
  s.check(check_class_weights);
  s.check(check_loss);
  s.check(check_quantiles);
  s.check(check_counts);
  s.check(check_momentum);
  s.check(check_plateau);
  s.check(check_metrics);
  s.check(check_devices);
  return s;
}

}  // namespace

LayerWork layer_work(const Experiment& experiment) {
  LayerWork work = {.precision = experiment.precision};
  if (experiment.device != "auto") work.processor = named_processor(experiment);
  if (!has_recurrent_layers(experiment) || !has_readable_cell(experiment.model)) return work;
  const RecurrentOptions options = recurrent_options(experiment.model, 1);
  if (contradictions(options).empty()) work.options = options;  // the model's own checks report contradictions
  return work;
}

std::string_view implementation_name(const Experiment& experiment) {
  if (!has_recurrent_layers(experiment)) return config::name_of(experiment.convolution);
  return config::name_of(computed_layer(experiment));
}

LayerKind computed_layer(const Experiment& experiment) { return experiment.auto_layer.value_or(experiment.layer); }

std::string implementation_label(const Experiment& experiment) {
  const std::string name(implementation_name(experiment));
  return experiment.auto_layer && has_recurrent_layers(experiment) ? fmt::format("auto ({})", name) : name;
}

std::shared_ptr<Model> make_model(const Experiment& experiment, const DataShape& shape) {
  return make_model(experiment.model, {computed_layer(experiment), experiment.cudnn_algorithm}, shape,
                    experiment.convolution);
}

const config::Schema<Experiment>& Experiment::schema() {
  static const config::Schema<Experiment> schema = make_schema();
  return schema;
}

namespace {

// Resolves `file` relative to the current directory, or else to `folder`.
std::string file_beside(const std::string& file, const std::filesystem::path& folder) {
  const bool is_found = file.empty() || std::filesystem::path(file).is_absolute() || path_exists(file);
  return is_found || folder.empty() || !path_exists(folder / file) ? file : (folder / file).string();
}

std::string whole_if_there(const std::string& path) {
  return path_exists(path) ? normalized_path(path).string() : path;
}

// Replaces the name of a file in `model.cell` by the cell in the file, so that all later readers find the equations.
config::Document with_cell_of_file(config::Document document, config::Findings& findings) {
  config::Value root = document.root();
  config::Member* model = config::find_member(root, "model");
  config::Member* cell = model == nullptr ? nullptr : config::find_member(model->value, "cell");
  if (cell == nullptr || !cell->value.is_scalar() || !is_cell_file(cell->value.text)) return document;
  const bool is_argument = cell->value.place.argument > 0;
  const auto folder =
      is_argument ? std::filesystem::path() : std::filesystem::path(cell->value.place.source).parent_path();
  const config::Document inner = config::Document::from_file((folder / cell->value.text).string(), findings);
  config::Value of_file = inner.root();
  if (!inner.is_whole() || !of_file.is_map()) {
    std::erase_if(model->value.members, [](const config::Member& member) { return member.key == "cell"; });
    return document.with_root(std::move(root));
  }
  if (config::find_member(of_file, "name") == nullptr) {
    config::Value name;
    name.kind = config::Value::Kind::kScalar;
    name.text = std::filesystem::path(cell->value.text).stem().string();
    of_file.members.push_back({"name", {.source = inner.source()}, std::move(name)});
  }
  cell->value = std::move(of_file);
  return document.with_root(std::move(root));
}

Experiment settled(Experiment experiment) {
  settle_epochs(experiment.training);
  return experiment;
}

Experiment read_with_overrides(config::Document document, const std::vector<std::string>& overrides,
                               config::Findings& findings) {
  for (const std::string& assignment : overrides) document.apply_override(assignment, findings);
  Experiment experiment = settled(config::read(document, Experiment::schema(), findings));
  findings.throw_if_any();
  return experiment;
}

}  // namespace

void choose_data(Experiment& experiment) {
  choose_split(experiment.data);
  choose_calendar(experiment.data, experiment.model.decoder);
}

Experiment read_case(const config::Document& document, config::Findings& findings) {
  return settled(config::read(with_cell_of_file(document, findings), Experiment::schema(), findings));
}

Experiment read_experiment(config::Document document, const std::vector<std::string>& overrides,
                           config::Findings& findings) {
  Experiment experiment = read_with_overrides(std::move(document), overrides, findings);
  choose_data(experiment);
  return experiment;
}

Experiment read_saved_experiment(config::Document document, const std::vector<std::string>& overrides,
                                 config::Findings& findings) {
  Experiment experiment = read_with_overrides(std::move(document), overrides, findings);
  choose_split_of_earlier_versions(experiment.data);
  return experiment;
}

Experiment with_paths_beside(Experiment experiment, const std::filesystem::path& folder) {
  experiment.data.path = whole_if_there(resolve_data_path(experiment.data, folder));
  experiment.model.initial_weights = whole_if_there(file_beside(experiment.model.initial_weights, folder));
  return experiment;
}

void require_metrics(const Experiment& experiment, Task task) {
  for (const auto& [key, metric] : watched_metrics(experiment))
    if (const std::string reason = missing_metric(experiment.training.loss, std::array{task}, metric); !reason.empty())
      throw_error(ExitCode::kUsage, "{}: with these data, {}", key, reason);
}

std::map<std::string, std::string> effective_settings(const Experiment& experiment) {
  config::Findings findings;
  return config_values(
      config::Document::from_text(config::print(experiment, Experiment::schema()), kConfigFile, findings));
}

}  // namespace rnnlab
