// SPDX-License-Identifier: Apache-2.0
#include "runs/model_file.h"

#include "base/fields.h"
#include "base/folder.h"
#include "base/sha256.h"
#include "base/system/json_fields.h"
#include "base/text.h"
#include "results/checkpoint/checkpoint.h"
#include "results/epoch_log.h"
#include "results/run_folder.h"
#include "results/summary.h"
#include "runs/fitted_record.h"
#include "runs/run_checkpoint.h"
#include "train/weights/tensor_reader.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;

// The entry of the metadata.
struct ModelRecord {
  int64_t schema_version = kFileVersion;
  ModelOrigin origin;
  std::string weights_sha256;
  std::string experiment;  // in the form of config.yaml
  FittedRecord fitted;

  RNNLAB_FIELDS(schema_version, origin, weights_sha256, experiment, flattened(fitted))
};

std::string place_of(const TensorFile& file) { return fmt::format("{}: metadata {}", file.name, kModelKey); }

std::string sha256_of(const SafetensorsImage& image) {
  Sha256 digest;
  for (const std::string_view piece : image.pieces()) digest.update(piece);
  return digest.hex();
}

SafetensorsImage image_of(const SavedModel& model, const TensorMetadata& more) {
  TensorMetadata metadata = weights_metadata(model.experiment, model.data);
  metadata.insert(more.begin(), more.end());
  return SafetensorsImage(views_of(model.weights), metadata);
}

// An intact entry that cannot be read is of another version, so the message says which.
std::string advice_on_writer(const Json& json) {
  const Json::json_pointer version("/origin/software/rnnlab");
  if (!json.contains(version) || !json.at(version).is_string()) return "";
  return fmt::format("; rnnlab {} wrote the file: use that version, or convert the run again",
                     on_one_line(json.at(version).get<std::string>()));
}

template <class Read>
auto with_advice_on_writer(const Json& json, Read read) {
  try {
    return with_checkpoint_errors(read);
  } catch (const UserError& error) {
    throw UserError(error.exit_code(), error.what() + advice_on_writer(json));
  }
}

void require_same_weights(const TensorFile& file, const std::string& expected) {
  TensorMetadata metadata = file.metadata;
  metadata.erase(kModelKey);
  const std::string sha256 = sha256_of(SafetensorsImage(file.tensors, metadata));
  if (sha256 != expected)
    throw_checkpoint_error("{}: the SHA-256 of its weights is {}, expected {}; the file is damaged", file.name, sha256,
                           in_quotes(expected, 200));
}

Json entry_of(const TensorFile& file) {
  const auto found = file.metadata.find(kModelKey);
  if (found == file.metadata.end())
    throw_checkpoint_error(
        "{}: holds weights without the settings of their model; pass a run, a checkpoint, or a file that `rnnlab "
        "convert RUN --whole` wrote",
        file.name);
  return unsealed(found->second, place_of(file));
}

ModelRecord record_of(const TensorFile& file, const Json& entry) {
  constexpr int64_t kFirstVersion = 3;
  const auto record =
      with_advice_on_writer(entry, [&] { return record_from<ModelRecord>(entry, place_of(file), kFirstVersion); });
  require_same_weights(file, record.weights_sha256);
  return record;
}

SavedModel read_model_file(const fs::path& path) {
  const TensorFile file = read_safetensors(path);
  const Json entry = entry_of(file);
  const ModelRecord record = record_of(file, entry);
  return with_advice_on_writer(entry, [&] {
    SavedModel model{.experiment = experiment_from_text(record.experiment, place_of(file)),
                     .data = {},
                     .origin = record.origin,
                     .weights = to_tensors(file.tensors)};
    model.data = from_record(record.fitted, model.experiment, place_of(file));
    return model;
  });
}

SavedModel read_checkpoint(const fs::path& path) {
  SavedRun saved = read_saved_run(path);
  const RunProgress& progress = saved.snapshot.progress;
  return {.experiment = saved.facts.experiment,
          .data = saved.facts.data,
          .origin = {.software = saved.facts.software,
                     .cpu_model = saved.facts.identity.cpu_model,
                     .gpu_model = saved.facts.identity.gpu_model,
                     .data_fingerprint = saved.facts.identity.data_fingerprint,
                     .epoch = progress.epoch_is_over ? std::optional(progress.state.epoch) : std::nullopt,
                     .step = progress.state.step},
          .weights = std::move(saved.snapshot.model)};
}

}  // namespace

Experiment without_folders(Experiment experiment) {
  DataSettings& data = experiment.data;
  for (std::string* path :
       {&experiment.model.initial_weights, &data.path, &data.train_file, &data.train_inputs, &data.train_targets,
        &data.train_lengths, &data.valid_file, &data.valid_inputs, &data.valid_targets, &data.valid_lengths,
        &data.test_file, &data.test_inputs, &data.test_targets, &data.test_lengths})
    *path = last_name(*path);
  return experiment;
}

bool is_safetensors_file(const fs::path& path) { return path.extension() == ".safetensors" && !is_folder(path); }

bool is_model_file(const fs::path& file) { return read_safetensors(file).metadata.contains(kModelKey); }

std::string weights_sha256(const SavedModel& model) { return sha256_of(image_of(model, {})); }

void write_model_file(const fs::path& file, const SavedModel& model) {
  const ModelRecord record{.origin = model.origin,
                           .weights_sha256 = weights_sha256(model),
                           .experiment = config::print(without_folders(model.experiment), Experiment::schema()),
                           .fitted = to_record(model.data)};
  write_safetensors(file, image_of(model, {{kModelKey, sealed_text(to_json(record))}}));
}

SavedModel read_saved_model(const fs::path& path) {
  return is_safetensors_file(path) ? read_model_file(path) : read_checkpoint(path);
}

void require_intact(const TensorFile& file) {
  if (file.metadata.contains(kModelKey)) record_of(file, entry_of(file));
}

void add_results_of_run(ModelOrigin& origin, const fs::path& run) {
  if (path_exists(run / kEpochsCsvFile)) {
    const std::vector<EpochRow> rows = read_epochs(run);
    origin.num_epochs = std::ssize(rows);
    for (const EpochRow& row : rows)
      if (row.epoch == origin.epoch) origin.metrics = metrics_in_row(row);
  }
  if (path_exists(run / kEnvironmentFile)) origin.started = read_environment(run).start_time;
  if (!path_exists(run / kSummaryFile)) return;
  const Summary summary = read_summary(run);
  origin.fit_seconds = summary.fit_seconds;
  origin.baselines = summary.baselines;
}

}  // namespace rnnlab
