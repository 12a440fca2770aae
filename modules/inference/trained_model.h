// A model as a checkpoint holds it, ready to be used: on any device, with any layer that can compute it. Nothing but
// the checkpoint is needed for it, no data and no run folder.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/load_dataset.h"
#include "experiment/experiment.h"
#include "models/model.h"
#include "training/trainer.h"

namespace rnnlab {

// What may change when a trained model is used: how it is computed and on what data, never what it is.

struct InferenceSettings {
  Experiment experiment;
  DataPart part = DataPart::kValid;
  std::vector<std::string> notes;  // what is otherwise than in training, for this machine's sake
};

// `trained` with `overrides` ("device=cpu") laid over it. Where they leave it open, a device that this machine lacks
// becomes the CPU, a layer that is not for the device fused (hoisted, where fused cannot compute the model), and a
// precision that it has not fp32, with a note. Where no part is named, it is all of data that are others than in
// training, or else the validation part. UserError kUsage for a key that belongs to what was trained, or that the part
// leaves without a meaning, and for values that cannot be.
InferenceSettings inference_settings(const Experiment& trained, const std::vector<std::string>& overrides,
                                     std::optional<DataPart> part = std::nullopt);

struct ModelRequest {
  std::filesystem::path run;  // a run's folder, or a checkpoint
  std::string checkpoint;     // "best", "last" or "step-000123"; "": the best where one is marked, else the last
  std::vector<std::string> overrides = {};
  std::optional<DataPart> part = std::nullopt;  // trained_model.h
};

struct TrainedModel {
  std::filesystem::path checkpoint;
  Experiment experiment;       // with the overrides
  FittedData data;             // of training
  DataSettings data_settings;  // of training, without the overrides
  DataPart part = DataPart::kValid;
  c10::Device device = c10::Device(c10::kCPU);
  std::shared_ptr<Model> model;    // on the device, in evaluation mode
  std::vector<std::string> notes;  // what is otherwise than asked or than in training

  TrainerOptions options() const;
};

// The checkpoint that the request means. UserError kUsage where there is no such run or checkpoint, kCheckpoint where
// none verifies; `notes` gets why a newer one was passed over.
std::filesystem::path find_checkpoint(const ModelRequest& request, std::vector<std::string>& notes);

// Verifies and reads it, and sets threads, determinism and precision of the whole process. UserError kCheckpoint where
// it is damaged or its tensors are not the model's, kUsage and kDevice where the overrides cannot be, kDevice if the
// model does not fit the memory.
TrainedModel load_trained_model(const ModelRequest& request);

// The samples that the model is to be used on. UserError as load_for_inference, and kDevice if they do not fit the
// memory.
InferenceData load_data(const TrainedModel& trained, Targets targets);

// Names the machine and the files that a result was made from: "host", "command_line", "source" (the run, checkpoint or
// file that was read) and "data", each with its text, paths as absolute ones. Empty without --with-machine.
using MachineFacts = std::vector<std::pair<std::string, std::string>>;

MachineFacts machine_facts(const std::filesystem::path& source, const std::vector<std::string>& command_line);

// Also the place of the data, if they come from files: the first file that is found, else data.path.
MachineFacts machine_facts(const TrainedModel& trained, const std::vector<std::string>& command_line);

}  // namespace rnnlab
