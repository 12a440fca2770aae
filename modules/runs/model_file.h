// SPDX-License-Identifier: Apache-2.0
// A trained model as one safetensors file: the weights of a checkpoint, with all else that using the model needs, and
// where the model comes from, in the file's metadata. Other programs read the tensors as those of any such file. The
// file is made to be given away: it has no folders, host or command line. The entry "rnnlab.model" is sealed JSON and
// has the SHA-256 of the rest, so damage is detected. Reading a file of unknown origin is safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "layers/parameters.h"
#include "results/checkpoint/safetensors.h"
#include "results/environment.h"
#include "results/quality.h"
#include "runs/experiment.h"

namespace rnnlab {

inline constexpr const char* kModelKey = "rnnlab.model";

struct ModelOrigin {
  SoftwareVersions software;  // that trained the model
  std::string cpu_model;
  std::string gpu_model;  // of the machine, even if the run did not use it; "" without a GPU
  std::string data_fingerprint;
  std::optional<int64_t> epoch;  // at whose end the weights were saved; nothing within an epoch
  int64_t step = 0;
  std::string started = {};                          // of the run: "2026-11-21T02:59:51Z"; "" without its folder
  std::optional<int64_t> num_epochs = std::nullopt;  // that the run trained; nothing without its log
  std::optional<double> fit_seconds = std::nullopt;  // of all epochs; nothing without the run's summary
  MetricValues metrics = {};                         // of that epoch, as in epochs.csv; empty without the run's log
  std::vector<Baseline> baselines = {};              // of the validation part; empty without the run's summary
  std::map<std::string, std::string> machine = {};   // with --with-machine

  RNNLAB_FIELDS(software, cpu_model, gpu_model, data_fingerprint, epoch, step, where_given(started),
                where_given(num_epochs), where_given(fit_seconds), metrics, baselines, machine)
};

struct SavedModel {
  Experiment experiment;  // as it ran, with the choices of "auto"
  FittedData data;
  ModelOrigin origin;
  std::vector<NamedTensor> weights;
};

// Returns whether the name is that of a safetensors file, and not that of a folder.
bool is_safetensors_file(const std::filesystem::path& path);

// Returns whether write_model_file wrote the file. Throws UserError kCheckpoint if it is no safetensors file.
bool is_model_file(const std::filesystem::path& file);

// Returns the SHA-256 of the file without its entry: that of model.safetensors in the checkpoint.
std::string weights_sha256(const SavedModel& model);

// Returns the settings without the folders of their paths.
Experiment without_folders(Experiment experiment);

// Writes the file atomically. Paths in the settings lose their folders. Throws UserError kUsage, kDevice.
void write_model_file(const std::filesystem::path& file, const SavedModel& model);

// Verifies and reads a checkpoint, or a file of write_model_file. Throws UserError kCheckpoint if it is damaged, of
// another version, or a file that holds weights only.
SavedModel read_saved_model(const std::filesystem::path& path);

// Checks a file of tensors if write_model_file wrote it; other files are left alone. Throws UserError kCheckpoint.
void require_intact(const TensorFile& file);

// Adds what the folder of the model's run says about it: its time, and the metrics of its epoch beside the baselines.
// Files that are not there are left out. Throws UserError kData for damaged files.
void add_results_of_run(ModelOrigin& origin, const std::filesystem::path& run);

}  // namespace rnnlab
