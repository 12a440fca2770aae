#include "inference/trained_model.h"

#include "base/folder.h"
#include "base/numbers.h"
#include "base/text.h"
#include "checkpoint/checkpoint_folder.h"
#include "checkpoint/failure.h"
#include "checkpoint/names.h"
#include "data/find_data.h"
#include "experiment/device.h"
#include "experiment/memory_estimate.h"
#include "experiment/process.h"
#include "experiment/read_experiment.h"
#include "experiment/run_checkpoint.h"
#include "inference/use_settings.h"
#include "models/model_parameters.h"
#include "results/machine.h"
#include "results/run_folder.h"
#include "training/train_step.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;

fs::path newest_of(const fs::path& folder, std::vector<std::string>& notes) {
  const LatestCheckpoint latest = latest_checkpoint(folder);
  for (const std::string& fault : latest.notes) notes.push_back("a newer checkpoint is not usable: " + fault);
  if (latest.place) return latest.place->path;
  if (latest.notes.empty())
    refuse_checkpoint("{}: there is no checkpoint in it; train with checkpoint.save", folder.string());
  refuse_checkpoint("{}: none of {} verifies: {}", folder.string(), counted(std::ssize(latest.notes), "checkpoint"),
                    latest.notes.front());
}

fs::path named_one_of(const fs::path& folder, const std::string& name) {
  std::vector<std::string> names;
  for (const CheckpointPlace& place : list_checkpoints(folder)) {
    names.push_back(step_folder_name(place.step));
    if (names.back() == name) return place.path;
  }
  names.insert(names.begin(), {"best", "last"});
  throw_error(ExitCode::kUsage, "--checkpoint: got {}, expected {}", in_quotes(name), one_of(names));
}

fs::path best_of(const fs::path& folder) {
  if (const auto best = best_checkpoint(folder)) return best->path;
  refuse_checkpoint("{}: none is marked as the best; use --checkpoint last", folder.string());
}

[[noreturn]] void refuse_what_is_no_run(const fs::path& folder) {
  if (!is_there(folder))
    throw_error(ExitCode::kUsage, "{}: no such folder; give that of a run, or a checkpoint", folder.string());
  if (const auto runs = folders_with(folder, {kCheckpointsFolder}); !runs.empty())
    throw_error(ExitCode::kUsage, "{}: no trained model but a folder of {}; give one of them, such as {}",
                folder.string(), counted(std::ssize(runs), "run"), runs.back().string());
  throw_error(ExitCode::kUsage,
              "{}: no trained model: there is neither {} nor {} in it; give the folder of a run, or a checkpoint",
              folder.string(), kCheckpointsFolder, kManifestFile);
}

// The folder of the run that the checkpoint is in, where it is in one.
fs::path run_of(const fs::path& checkpoint) { return whole_path(checkpoint).parent_path().parent_path(); }

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

fs::path find_checkpoint(const ModelRequest& request, std::vector<std::string>& notes) {
  const fs::path folder = request.run / kCheckpointsFolder;
  if (is_there(request.run / kManifestFile)) {
    if (request.checkpoint.empty()) return request.run;
    throw_error(ExitCode::kUsage, "{}: this is a checkpoint; --checkpoint chooses one of a run's",
                request.run.string());
  }
  if (!is_there(folder)) refuse_what_is_no_run(request.run);
  if (request.checkpoint == "best") return best_of(folder);
  if (request.checkpoint == "last") return newest_of(folder, notes);
  if (!request.checkpoint.empty()) return named_one_of(folder, request.checkpoint);
  if (const auto best = best_checkpoint(folder)) return best->path;
  return newest_of(folder, notes);
}

TrainedModel load_trained_model(const ModelRequest& request) {
  TrainedModel trained;
  trained.checkpoint = find_checkpoint(request, trained.notes);
  const SavedRun saved = read_saved_run(trained.checkpoint);
  // Data that lie beside the run, or beside the experiment's file in times of training.
  const Experiment experiment = with_paths_beside(saved.facts.experiment, run_of(trained.checkpoint));
  UseSettings use = use_settings(experiment, request.overrides, request.part);
  trained.notes.insert(trained.notes.end(), use.notes.begin(), use.notes.end());
  trained.experiment = std::move(use.experiment);
  trained.data_settings = experiment.data;
  trained.part = use.part;
  trained.data = saved.facts.data;
  trained.device = resolve_device(trained.experiment.device);
  trained.experiment.device = trained.device.str();
  require_runs_on(trained.experiment, trained.device);
  // Before a model is made: forged settings must not take the memory of one that is not in the file.
  require_same_tensors(saved.snapshot.model, parameter_specs(trained.experiment.model, trained.data.shape),
                       (trained.checkpoint / kModelFile).string());
  // Not every use of a model loads data: load_data() checks them.
  const DataSize no_data{.shape = trained.data.shape};
  const MemoryEstimate estimate = estimate_memory(trained.experiment, Purpose::kInference, no_data);
  for (const std::string& warning : check_memory_of(trained, estimate)) trained.notes.push_back(warning);
  set_up_process(trained.experiment);
  trained.model = model_with(saved.snapshot.model, trained.experiment, trained.data.shape);
  trained.model->to(trained.device);
  trained.model->eval();
  return trained;
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
          {"source", whole_path(source).string()}};
}

MachineFacts machine_facts(const TrainedModel& trained, const std::vector<std::string>& command_line) {
  MachineFacts facts = machine_facts(trained.checkpoint, command_line);
  const std::vector<fs::path> files = data_files(trained.experiment.data);
  const fs::path data = files.empty() ? fs::path(trained.experiment.data.path) : files.front();
  if (!data.empty()) facts.emplace_back("data", whole_path(data).string());
  return facts;
}

}  // namespace rnnlab
