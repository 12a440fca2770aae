// SPDX-License-Identifier: Apache-2.0
// Represents an experiment file as one struct: the settings that a comparison varies are at its top level, the settings
// that a comparison keeps equal are below. An experiment that was read without findings is valid as a whole and is not
// checked again; errors that depend on the machine or on the data are found later.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/config/document.h"
#include "base/config/schema.h"
#include "data/data_settings.h"
#include "layers/layer_kind.h"
#include "train/loop/precision.h"
#include "train/loop/training_settings.h"
#include "train/models/model_settings.h"
#include "train/ranks/launch.h"

namespace rnnlab {

// Holds the settings under `checkpoint:`: when a run's state is saved, and how many checkpoints are kept. The settings
// do not change the training.

struct CheckpointSettings {
  bool save = true;
  int64_t every_epochs = 1;
  double every_seconds = 10;
  std::optional<int64_t> every_steps;
  bool best = true;
  int64_t keep = 2;

  static const config::Schema<CheckpointSettings>& schema();
};

class Model;
struct DataShape;

inline constexpr int64_t kAllGpus = 0;  // value of Experiment::devices: a process for each GPU of this machine

// Returns whether `text` is a value of `device`: `auto`, `cpu`, `cuda` or `cuda:N`.
bool is_device_name(std::string_view text);

// Returns advice on a text that is not such a value: " (write cuda)" for "gpu"; "" if the text is too different.
std::string device_advice(const std::string& text);

// The layers of earlier versions that are forms of `persistent` now.
inline const std::map<std::string, PersistentForm> kFormerLayers = {
    {"persistent_block", PersistentForm::kBlocks},
    {"persistent_clusters", PersistentForm::kClusters},
    {"persistent_teams", PersistentForm::kClustersAndTeams}};

// Returns advice on a text that is the name of a cell and was written as a layer; "" for every other text. `cell_key`
// is the key of the cell.
std::string layer_advice(const std::string& text, std::string_view cell_key);

struct Experiment {
  std::string name = "experiment";
  std::string device = "auto";
  std::optional<int64_t> devices;  // processes of the run, or kAllGpus; unset: one, or those of a launcher
  LayerKind layer = LayerKind::kFused;
  std::optional<LayerKind> auto_layer;  // the choice of `layer: auto`, when it is known
  CudnnAlgorithm cudnn_algorithm = CudnnAlgorithm::kAuto;
  ConvolutionKind convolution = ConvolutionKind::kFused;
  Precision precision = Precision::kFp32;
  int64_t seed = 1;
  bool deterministic = false;
  bool strict = false;  // fallbacks are errors (strict.h)

  DataSettings data;
  ModelSettings model;
  TrainingSettings training;
  CheckpointSettings checkpoint;
  DistributedSettings distributed;

  static const config::Schema<Experiment>& schema();
};

// Returns the kind that computes the recurrent layers: the choice of `layer: auto` if it is known.
LayerKind computed_layer(const Experiment& experiment);

// Returns what the layer is asked to do, as far as the settings alone say it: the processor unless `device` is auto,
// and options unless the model has none or they contradict each other.
LayerWork layer_work(const Experiment& experiment);

// Returns the implementation's name, with "auto" if it was chosen by measurement: "auto (blocked)".
std::string implementation_label(const Experiment& experiment);

// Returns the name of the implementation in folders and tables: that of the recurrent layers or, if the network has
// none, that of the convolutions.
std::string_view implementation_name(const Experiment& experiment);

// Makes a model on the CPU whose weights are not set yet, as make_model of models/ does.
std::shared_ptr<Model> make_model(const Experiment& experiment, const DataShape& shape);

// Sets the keys of the data that runs record, to what training does where they are not set (data_settings.h).
void choose_data(Experiment& experiment);

// Reads one case of an experiment file, in which `model.cell` may name a file of equations. Its path counts from the
// folder of the file in which it is written, or from the current folder if it is an argument.
Experiment read_case(const config::Document& document, config::Findings& findings);

// Reads the document's one experiment, with the overrides ("key=value") applied. Throws UserError kUsage with all
// findings, including those that reading the document has added to `findings`. Commands that use the model of a run
// call this function. The settings of a run contain equations themselves: they may come from a stranger, and name no
// files.
Experiment read_experiment(config::Document document, const std::vector<std::string>& overrides,
                           config::Findings& findings);

// Likewise reads the settings that a run, a sweep or a plan has saved. A version that did not know how data can be
// split today means its own way (data_settings.h).
Experiment read_saved_experiment(config::Document document, const std::vector<std::string>& overrides,
                                 config::Findings& findings);

// Resolves the paths of an experiment whose file is in `folder`: relative to the current directory, or else to
// `folder`. Existing paths become absolute, so that the experiment has the same meaning wherever it is read again.
Experiment with_paths_beside(Experiment experiment, const std::filesystem::path& folder);

// Throws UserError kUsage if a metric that the settings name is not defined for the task of the data. A file that does
// not name the task may mean several, so this is known when the data are loaded.
void require_metrics(const Experiment& experiment, Task task);

// Returns the settings in the experiment's config.yaml, by dotted key.
std::map<std::string, std::string> effective_settings(const Experiment& experiment);

}  // namespace rnnlab
