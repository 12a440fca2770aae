// One experiment file as one value: what a comparison varies at the top, what it holds equal below. Once read without
// findings it is valid as a whole, and nobody re-checks; what depends on the machine or on the data is found later.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/document.h"
#include "config/schema.h"
#include "data/data_settings.h"
#include "distributed/distributed_settings.h"
#include "models/model_settings.h"
#include "recurrent/layer_kind.h"
#include "training/precision.h"
#include "training/training_settings.h"

namespace rnnlab {

// What the file says under `checkpoint:`: when a run's state is saved, and how much of it is kept. None of it changes
// what is trained.

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

inline constexpr int64_t kAllGpus = 0;  // of Experiment::devices: a process for each GPU of this machine

struct Experiment {
  std::string name = "experiment";
  std::string device = "auto";
  std::optional<int64_t> devices;  // processes that train together, or kAllGpus; unset: one, or what a launcher started
  LayerKind layer = LayerKind::kFused;
  std::optional<LayerKind> auto_layer;  // what `layer: auto` took, once it is known
  CudnnAlgorithm cudnn_algorithm = CudnnAlgorithm::kAuto;
  ConvolutionKind convolution = ConvolutionKind::kFused;
  Precision precision = Precision::kFp32;
  int64_t seed = 1;
  bool deterministic = false;

  DataSettings data;
  ModelSettings model;
  TrainingSettings training;
  CheckpointSettings checkpoint;
  DistributedSettings distributed;

  static const config::Schema<Experiment>& schema();
};

// The kind that computes the recurrent layers: what `layer: auto` took where it has taken one.
LayerKind computed_layer(const Experiment& experiment);

// The implementation's name, with "auto" where it was chosen by measurement: "auto (blocked)".
std::string implementation_label(const Experiment& experiment);

// The word for how the network is computed, as folders and tables have it: the layer's, or, where there are no
// recurrent layers, the convolutions'.
std::string_view implementation_name(const Experiment& experiment);

// With weights still to be set, on the CPU, as make_model.
std::shared_ptr<Model> make_model(const Experiment& experiment, const DataShape& shape);

// An experiment from a document whose file is known, as every way of going on with a run or using its model reads it.

// The document's one experiment with the overrides, "key=value", laid over it. UserError kUsage with all findings,
// those that reading the document left among them.
Experiment read_experiment(config::Document document, const std::vector<std::string>& overrides,
                           config::Findings& findings);

// Its paths as they are meant in a file in `folder`: from the current directory, or else from there. Those that are
// there become absolute, so that the experiment means the same wherever it is read again.
Experiment with_paths_beside(Experiment experiment, const std::filesystem::path& folder);

// The settings that its config.yaml has, by dotted key.
std::map<std::string, std::string> effective_settings(const Experiment& experiment);

}  // namespace rnnlab
