// SPDX-License-Identifier: Apache-2.0
// Loads a model from a checkpoint, or from the file of a whole model, for use on any device, with any layer that can
// compute it. Neither data nor a run folder are required. Also the times of its passes.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "data/batches.h"
#include "data/load_dataset.h"
#include "runs/experiment.h"
#include "runs/model_file.h"
#include "train/loop/objective.h"
#include "train/loop/trainer.h"
#include "train/models/model.h"

namespace rnnlab {

// The settings with which a trained model is used. Computation and data may differ from training; the model may not.
struct InferenceSettings {
  Experiment experiment;
  DataPart part = DataPart::kValid;
  std::vector<std::string> notes;  // differences to training because of this machine
};

// Where the training data are: at the path of the settings; or elsewhere, so that a file of that name is another one,
// for a model in one file, which keeps no folders.
enum class TrainingData { kAtItsPath, kElsewhere };

// Applies `overrides` ("device=cpu") to the settings of `trained`. Settings without an override are adapted, with a
// note: a device that this machine lacks becomes the CPU; a layer that the device does not support becomes fused (or
// hoisted, if fused cannot compute the model); a precision that the device lacks becomes fp32. The default part is all
// if the data are not those of training, else the validation part. Throws UserError kUsage for a key that must not
// change, for a key that the part does not use, and for invalid values.
InferenceSettings inference_settings(const Experiment& trained, const std::vector<std::string>& overrides,
                                     std::optional<DataPart> part = std::nullopt,
                                     TrainingData training = TrainingData::kAtItsPath);

struct ModelRequest {
  std::filesystem::path run;  // a run's folder, a checkpoint, or the file of a whole model (runs/model_file.h)
  std::string checkpoint;     // "best", "last" or "step-000123"; "": the best if one is marked, else the last
  std::vector<std::string> overrides = {};
  std::optional<DataPart> part = std::nullopt;  // default: see inference_settings
};

struct TrainedModel {
  std::filesystem::path checkpoint;  // or the file
  Experiment experiment;             // with the overrides
  Experiment trained_with;           // of training, without the overrides
  FittedData data;                   // of training
  DataSettings data_settings;        // of training, without the overrides; its paths were looked up
  ModelOrigin origin;
  DataPart part = DataPart::kValid;
  c10::Device device = c10::Device(c10::kCPU);
  std::shared_ptr<Model> model;    // on the device, in evaluation mode
  std::vector<std::string> notes;  // differences to the request or to training

  TrainerOptions options() const;
  Objective objective() const;  // that the model was trained to minimise
};

// Returns the checkpoint or the file of the request. Throws UserError kUsage if the run or checkpoint is missing,
// kCheckpoint if no checkpoint verifies. For each newer checkpoint that was skipped, the reason is added to `notes`.
std::filesystem::path find_checkpoint(const ModelRequest& request, std::vector<std::string>& notes);

// Verifies and reads the checkpoint, and sets threads, determinism and precision of the whole process. Throws UserError
// kCheckpoint if the checkpoint is damaged or its tensors do not match the model, kUsage or kDevice for impossible
// overrides, and kDevice if the model does not fit into memory.
TrainedModel load_trained_model(const ModelRequest& request);

// Returns the folder of the run in which the checkpoint is; nothing for one that was moved, and for a file.
std::optional<std::filesystem::path> run_of(const TrainedModel& trained);

// Returns the samples for the model. Throws UserError as load_for_inference, and kDevice if memory is too small.
InferenceData load_data(const TrainedModel& trained, Targets targets);

// Identifies the machine and the source files of a result: "host", "command_line", "source" (the run, checkpoint or
// file that was read) and "data", with absolute paths. Empty without --with-machine.
using MachineFacts = std::vector<std::pair<std::string, std::string>>;

MachineFacts machine_facts(const std::filesystem::path& source, const std::vector<std::string>& command_line);

// Adds the path of the data if they come from files: the first file that is found, else data.path.
MachineFacts machine_facts(const TrainedModel& trained, const std::vector<std::string>& command_line);

// ---- timed passes ----

// The times of whole passes of a model over data, as `evaluate` and `predict` report them. The device is synchronised
// before and after each pass. The caller must run a batch of each size before the first pass, because libraries load,
// algorithms are chosen and kernels are compiled in the first batch. The time to read the data is left out, and also
// the upload of data that stay on the device.
struct PassTimes {
  int64_t num_samples = 0;
  std::vector<double> seconds = {};  // of each pass; never empty

  double median_seconds() const;
  double samples_per_second() const;
  double microseconds_per_sample() const;
};

PassTimes time_passes(c10::Device device, int64_t num_samples, int64_t num_passes, const std::function<void()>& pass);

// Returns a text such as "3.2 ms, 1250 samples/s, 800 us a sample". For several passes it has the median and the range:
// "3.2 ms (3.1 ms .. 3.5 ms in 5 passes), ...".
std::string pass_times_text(const PassTimes& times);

// Returns the first batch and the last batch, which may be smaller: they run before passes are timed (PassTimes).
std::set<int64_t> untimed_batches(const Batches& batches);

}  // namespace rnnlab
