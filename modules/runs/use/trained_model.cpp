// SPDX-License-Identifier: Apache-2.0
#include "runs/use/trained_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "base/folder.h"
#include "base/numbers.h"
#include "base/statistics.h"
#include "base/system/machine.h"
#include "base/text.h"
#include "data/find_data.h"
#include "results/checkpoint/checkpoint.h"
#include "results/checkpoint/checkpoint_folder.h"
#include "results/checkpoint/safetensors.h"
#include "results/run_folder.h"
#include "runs/devices.h"
#include "runs/experiment.h"
#include "runs/memory_estimate.h"
#include "runs/resume.h"
#include "runs/run_checkpoint.h"
#include "runs/run_context.h"
#include "train/loop/device_rates.h"
#include "train/loop/train_step.h"
#include "train/models/model.h"

namespace rnnlab {
namespace {

constexpr std::array<std::string_view, 4> kDataKeys = {"data.path", "data.train_inputs", "data.train_file",
                                                       "data.source"};
constexpr std::array<std::string_view, 3> kSplitKeys = {"data.num_train", "data.num_valid", "data.valid_fraction"};

std::string key_of(const std::string& assignment) { return assignment.substr(0, assignment.find('=')); }

// A key that does not exist is reported later, with the other findings.
void require_changeable(const std::vector<std::string>& overrides) {
  const config::StructSpec& spec = Experiment::schema().spec();
  for (const std::string& assignment : overrides) {
    const std::string key = key_of(assignment);
    if (spec.find_path(key) == nullptr || spec.may_change(key, config::Change::kOnUse)) continue;
    throw_error(ExitCode::kUsage, "argument {}: {} is fixed by training; only these can change: {}",
                in_quotes(assignment), key, join_with_and(spec.changeable_keys(config::Change::kOnUse)));
  }
}

// The overrides by key. The last override of a key is used.
class Overrides {
 public:
  explicit Overrides(const std::vector<std::string>& list) : list_(list) {}

  bool has(std::string_view key) const { return !value(key).empty(); }

  std::string value(std::string_view key) const {
    std::string found;
    for (const std::string& assignment : list_)
      if (key_of(assignment) == key) found = assignment.substr(key.size() + 1);
    return found;
  }

 private:
  const std::vector<std::string>& list_;
};

void choose_device(Experiment& experiment, const Overrides& overrides, std::vector<std::string>& notes) {
  if (overrides.has("device") || device_error(experiment.device).empty()) return;
  notes.push_back(fmt::format("trained on {}, which is not available here: runs on the CPU", experiment.device));
  experiment.device = "cpu";
}

// Returns a layer with which the device can compute the trained model.
LayerKind supported_layer(const LayerWork& work) {
  for (const LayerKind kind : {LayerKind::kFused, LayerKind::kHoisted})
    if (!why_unsupported(kind, work)) return kind;
  return LayerKind::kNaive;
}

void choose_layer(Experiment& experiment, c10::Device device, const Overrides& overrides,
                  std::vector<std::string>& notes) {
  const LayerWork work = work_on(device, layer_work(experiment));
  if (overrides.has("layer") || !why_unsupported(experiment.layer, work)) return;
  const LayerKind instead = supported_layer(work);
  notes.push_back(fmt::format("trained with layer {}, which does not run on this device: runs with layer {}",
                              config::name_of(experiment.layer), config::name_of(instead)));
  experiment.layer = instead;
}

void choose_precision(Experiment& experiment, c10::Device device, const Overrides& overrides,
                      std::vector<std::string>& notes) {
  const bool is_supported = device.is_cuda() || !unsupported_on_cpu(experiment.precision);
  if (overrides.has("precision") || is_supported) return;
  notes.push_back(fmt::format("trained in {}, which this CPU does not support: runs in fp32",
                              config::name_of(experiment.precision)));
  experiment.precision = Precision::kFp32;
}

// Returns nullopt for an invalid name, which the checks of the settings report.
std::optional<c10::Device> device_named(const std::string& name) {
  if (!is_device_name(name) || !device_error(name).empty()) return std::nullopt;
  return resolve_device(name);
}

// Resolves the settings before the overrides are applied, so that the two are compatible.
Experiment with_available_settings(Experiment experiment, const Overrides& overrides, std::vector<std::string>& notes) {
  experiment.layer = computed_layer(experiment);
  experiment.auto_layer.reset();
  choose_device(experiment, overrides, notes);
  const auto device = device_named(overrides.has("device") ? overrides.value("device") : experiment.device);
  if (device) choose_layer(experiment, *device, overrides, notes);
  if (device) choose_precision(experiment, *device, overrides, notes);
  const bool leaves_cudnn = overrides.has("layer") && overrides.value("layer") != "cudnn";
  if (leaves_cudnn || experiment.layer != LayerKind::kCudnn) experiment.cudnn_algorithm = CudnnAlgorithm::kAuto;
  return experiment;
}

Experiment with_overrides(const Experiment& experiment, const std::vector<std::string>& overrides) {
  config::Findings findings;
  const std::string text = config::print(experiment, Experiment::schema());
  return read_experiment(config::Document::from_text(text, "the checkpoint's experiment", findings), overrides,
                         findings);
}

void require_concrete_layer(const Experiment& experiment) {
  if (experiment.layer != LayerKind::kAuto) return;
  throw_error(ExitCode::kUsage, "layer: auto works only for training; choose a layer, such as fused");
}

void require_same_form(Source trained, const Overrides& overrides) {
  const auto now = config::from_name<Source>(overrides.value("data.source"));
  if (!now || info_of(*now).form == info_of(trained).form) return;
  throw_error(ExitCode::kUsage, "data.source: was {} in training, and the model cannot be used on {}",
              config::name_of(trained), config::name_of(*now));
}

// A new path to a file replaces data.train_file; new inputs without targets or lengths drop the old ones.
void drop_old_files(DataSettings& data, const Overrides& overrides, std::vector<std::string>& notes) {
  if (overrides.has("data.path") && !overrides.has("data.train_file") && !is_folder(data.path)) data.train_file.clear();
  if (!overrides.has("data.train_inputs")) return;
  if (!overrides.has("data.train_targets")) data.train_targets.clear();
  if (overrides.has("data.train_lengths") || data.train_lengths.empty()) return;
  data.train_lengths.clear();
  notes.emplace_back("trained with lengths, but data.train_lengths is not set: uses every step of a sequence");
}

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return !a.empty() && !b.empty() && std::filesystem::equivalent(a, b, ignored);
}

bool names_data(const Overrides& overrides) {
  return std::ranges::any_of(kDataKeys, [&](std::string_view key) { return overrides.has(key); });
}

// The training file under a different path does not count as other data, because the model was trained on most of it.
bool has_same_data(const Experiment& trained, const Experiment& now) {
  return trained.data.source == now.data.source && trained.data.train_file == now.data.train_file &&
         trained.data.train_inputs == now.data.train_inputs && is_same_file(trained.data.path, now.data.path);
}

// With all samples there is only one part, so settings of the split would be ignored.
void require_parts(DataPart part, const Overrides& overrides) {
  if (part != DataPart::kAll) return;
  for (const std::string_view key : kSplitKeys)
    if (overrides.has(key))
      throw_error(ExitCode::kUsage, "{}: all data are used as one part; remove this key, or use --part valid", key);
}

}  // namespace

InferenceSettings inference_settings(const Experiment& trained, const std::vector<std::string>& assignments,
                                     std::optional<DataPart> part, TrainingData training) {
  require_changeable(assignments);
  const Overrides overrides(assignments);
  require_same_form(trained.data.source, overrides);
  InferenceSettings settings;
  settings.experiment = with_overrides(with_available_settings(trained, overrides, settings.notes), assignments);
  DataSettings& data = settings.experiment.data;
  require_concrete_layer(settings.experiment);
  const bool other_data =
      names_data(overrides) && (training == TrainingData::kElsewhere || !has_same_data(trained, settings.experiment));
  settings.part =
      part.value_or(other_data && info_of(data.source).load_part != nullptr ? DataPart::kAll : DataPart::kValid);
  require_parts(settings.part, overrides);
  if (settings.part == DataPart::kAll) drop_old_files(data, overrides, settings.notes);
  return settings;
}

namespace {

namespace fs = std::filesystem;

fs::path newest_checkpoint(const fs::path& folder, std::vector<std::string>& notes) {
  const LatestCheckpoint latest = latest_checkpoint(folder);
  for (const std::string& fault : latest.notes) notes.push_back("a newer checkpoint is not usable: " + fault);
  if (latest.place) return latest.place->path;
  if (latest.notes.empty())
    throw_checkpoint_error("{}: contains no checkpoint; train with checkpoint.save", folder.string());
  throw_checkpoint_error("{}: none of {} is valid: {}", folder.string(),
                         counted(std::ssize(latest.notes), "checkpoint"), latest.notes.front());
}

fs::path checkpoint_named(const fs::path& folder, const std::string& name) {
  std::vector<std::string> names;
  for (const CheckpointPlace& place : list_checkpoints(folder)) {
    names.push_back(step_folder_name(place.step));
    if (names.back() == name) return place.path;
  }
  names.insert(names.begin(), {"best", "last"});
  throw_error(ExitCode::kUsage, "--checkpoint: got {}, expected {}", in_quotes(name), join_with_or(names));
}

fs::path best_of(const fs::path& folder) {
  if (const auto best = best_checkpoint(folder)) return best->path;
  throw_checkpoint_error("{}: no checkpoint is marked as the best; use --checkpoint last", folder.string());
}

// Returns the last run with a checkpoint beside `run`, named as the user named `run`; empty if there is none.
fs::path trained_run_beside(const fs::path& run) {
  const fs::path whole = normalized_path(run);
  auto others = folders_with(whole.parent_path(), {kCheckpointsFolder});
  std::erase_if(others, [](const fs::path& other) { return !has_checkpoint(other); });
  if (others.empty()) return {};
  const fs::path typed = run.has_filename() ? run : run.parent_path();  // without the last slash
  const bool has_name_of_run = typed.filename() == whole.filename();
  return has_name_of_run ? typed.parent_path() / others.back().filename() : others.back();
}

[[noreturn]] void refuse_run_without_checkpoint(const fs::path& run) {
  const std::string beside = trained_run_beside(run).string();
  const std::string other = beside.empty() ? "" : fmt::format("pass another run, such as {}, or ", beside);
  throw_error(ExitCode::kUsage,
              "{}: the run has no checkpoint; if it is still running, wait until it writes its first one, else {}train "
              "again, with a shorter checkpoint.every_seconds if it was ended early",
              run.string(), other);
}

[[noreturn]] void refuse_unknown_folder(const fs::path& folder) {
  if (!path_exists(folder))
    throw_error(ExitCode::kUsage, "{}: no such folder; pass the folder of a run or a checkpoint", folder.string());
  if (const auto runs = folders_with(folder, {kCheckpointsFolder}); !runs.empty())
    throw_error(ExitCode::kUsage, "{}: not a trained model, but a folder of {}; pass one of them, for example {}",
                folder.string(), counted(std::ssize(runs), "run"), runs.back().string());
  if (path_exists(folder / kConfigFile) && path_exists(folder / kEnvironmentFile))
    refuse_run_without_checkpoint(folder);
  throw_error(ExitCode::kUsage,
              "{}: not a trained model: it contains neither {} nor {}; pass the folder of a run, a checkpoint, or a "
              ".safetensors file of `rnnlab convert RUN --whole`",
              folder.string(), kCheckpointsFolder, kManifestFile);
}

// Returns the folder in which the data may be: that of the run with the checkpoint, or that of the file.
fs::path folder_beside(const fs::path& checkpoint) {
  const fs::path folder = normalized_path(checkpoint).parent_path();
  return is_safetensors_file(checkpoint) ? folder : folder.parent_path();
}

fs::path file_of_weights(const fs::path& checkpoint) {
  return is_safetensors_file(checkpoint) ? checkpoint : checkpoint / kModelFile;
}

std::shared_ptr<Model> model_with(const std::vector<NamedTensor>& weights, const Experiment& experiment,
                                  const DataShape& shape) {
  auto model = make_model(experiment, shape);
  copy_tensors(weights, named_parameters(*model));
  return model;
}

std::vector<std::string> check_memory_of(const TrainedModel& trained, const MemoryEstimate& estimate) {
  return check_memory(estimate, memory_advice(trained.experiment, Purpose::kInference), trained.device);
}

}  // namespace

TrainerOptions TrainedModel::options() const { return trainer_options(experiment, device); }

Objective TrainedModel::objective() const { return {experiment.training, data, device}; }

fs::path find_checkpoint(const ModelRequest& request, std::vector<std::string>& notes) {
  const fs::path folder = request.run / kCheckpointsFolder;
  const bool is_file_of_model = is_file(request.run) && is_safetensors_file(request.run);
  if (is_file_of_model || path_exists(request.run / kManifestFile)) {
    if (request.checkpoint.empty()) return request.run;
    throw_error(ExitCode::kUsage, "{}: this is a {}, but --checkpoint needs the folder of a run; remove --checkpoint",
                request.run.string(), is_file_of_model ? "file" : "checkpoint");
  }
  if (!path_exists(folder)) refuse_unknown_folder(request.run);
  if (request.checkpoint == "best") return best_of(folder);
  if (request.checkpoint == "last") return newest_checkpoint(folder, notes);
  if (!request.checkpoint.empty()) return checkpoint_named(folder, request.checkpoint);
  if (const auto best = best_checkpoint(folder)) return best->path;
  return newest_checkpoint(folder, notes);
}

TrainedModel load_trained_model(const ModelRequest& request) {
  TrainedModel trained;
  trained.checkpoint = find_checkpoint(request, trained.notes);
  SavedModel saved = read_saved_model(trained.checkpoint);
  // The data may be in the folder of the run, or, during training, in the folder of the experiment file.
  const Experiment experiment = with_paths_beside(saved.experiment, folder_beside(trained.checkpoint));
  const TrainingData training =
      is_safetensors_file(trained.checkpoint) ? TrainingData::kElsewhere : TrainingData::kAtItsPath;
  InferenceSettings settings = inference_settings(experiment, request.overrides, request.part, training);
  trained.notes.insert(trained.notes.end(), settings.notes.begin(), settings.notes.end());
  trained.experiment = std::move(settings.experiment);
  trained.trained_with = std::move(saved.experiment);
  trained.data_settings = experiment.data;
  trained.part = settings.part;
  trained.data = std::move(saved.data);
  trained.origin = std::move(saved.origin);
  trained.device = resolve_device(trained.experiment.device);
  trained.experiment.device = trained.device.str();
  require_runs_on(trained.experiment, trained.device);
  // The tensors are checked first, because forged settings must not allocate a model that is not in the file.
  require_same_tensors(saved.weights, parameter_specs(trained.experiment.model, trained.data.shape),
                       file_of_weights(trained.checkpoint).string());
  // Data are not always loaded; load_data() checks their memory.
  const DataSize no_data{.shape = trained.data.shape};
  const MemoryEstimate estimate = estimate_memory(trained.experiment, Purpose::kInference, no_data);
  for (const std::string& warning : check_memory_of(trained, estimate)) trained.notes.push_back(warning);
  configure_torch(trained.experiment);
  trained.model = model_with(saved.weights, trained.experiment, trained.data.shape);
  trained.model->to(trained.device);
  trained.model->eval();
  return trained;
}

std::optional<fs::path> run_of(const TrainedModel& trained) {
  const fs::path checkpoints = normalized_path(trained.checkpoint).parent_path();
  if (is_safetensors_file(trained.checkpoint) || checkpoints.filename() != kCheckpointsFolder) return std::nullopt;
  return checkpoints.parent_path();
}

InferenceData load_data(const TrainedModel& trained, Targets targets) {
  const auto warnings = check_memory_of(trained, estimate_memory(trained.experiment, Purpose::kInference));
  InferenceData data = load_for_inference(trained.experiment.data, trained.data, trained.part, targets);
  data.notes.insert(data.notes.begin(), warnings.begin(), warnings.end());
  return data;
}

MachineFacts machine_facts(const fs::path& source, const std::vector<std::string>& command_line) {
  return {{"host", host_info().hostname},
          {"command_line", command_text(command_line)},
          {"source", normalized_path(source).string()}};
}

MachineFacts machine_facts(const TrainedModel& trained, const std::vector<std::string>& command_line) {
  MachineFacts facts = machine_facts(trained.checkpoint, command_line);
  const std::vector<fs::path> files = data_files(trained.experiment.data);
  const fs::path data = files.empty() ? fs::path(trained.experiment.data.path) : files.front();
  if (!data.empty()) facts.emplace_back("data", normalized_path(data).string());
  return facts;
}

double PassTimes::median_seconds() const { return median(seconds); }

double PassTimes::samples_per_second() const { return static_cast<double>(num_samples) / median_seconds(); }

double PassTimes::microseconds_per_sample() const { return 1e6 / samples_per_second(); }

PassTimes time_passes(c10::Device device, int64_t num_samples, int64_t num_passes, const std::function<void()>& pass) {
  RNNLAB_INVARIANT(num_passes > 0, "the number of passes is not positive");
  PassTimes times{.num_samples = num_samples};
  for (int64_t i = 0; i < num_passes; ++i) times.seconds.push_back(synchronised_seconds(device, pass));
  return times;
}

std::string pass_times_text(const PassTimes& times) {
  const auto [least, most] = std::ranges::minmax(times.seconds);
  const std::string range = times.seconds.size() == 1 ? ""
                                                      : fmt::format(" ({} .. {} in {} passes)", format_seconds(least),
                                                                    format_seconds(most), times.seconds.size());
  return fmt::format("{}{}, {} samples/s, {} us a sample", format_seconds(times.median_seconds()), range,
                     format_count(std::llround(times.samples_per_second())),
                     format_significant(times.microseconds_per_sample(), 4));
}

std::set<int64_t> untimed_batches(const Batches& batches) { return {0, batches.batches_per_epoch() - 1}; }

}  // namespace rnnlab
