// SPDX-License-Identifier: Apache-2.0
// Exports a trained model's weights to a file for other programs, and converts weight files, also those of other
// programs, from one layout to another. The files are safetensors in float32.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "runs/use/trained_model.h"
#include "train/weights/layouts.h"

namespace rnnlab {

// kRecurrent: only the recurrent layers
enum class ExportPart { kModel, kRecurrent };

struct ExportFormat {
  ExportPart part = ExportPart::kModel;
  Layout layout = Layout::kPyTorch;
};

struct Exported {
  int64_t num_tensors = 0;
  int64_t num_parameters = 0;                  // numbers written; fewer in a layout that sums biases
  std::string module;                          // the layer that accepts the recurrent weights: "torch.nn.LSTM(28, 128,
                                               // num_layers=2)"
  std::vector<std::string> notes;              // differences between this layer and the model
  std::vector<std::string> source_notes = {};  // on the file that was read: numbers that were converted
  std::string warning = {};                    // names the weights that are not finite; "" if all are finite
};

// Writes the file atomically, with `machine` in the metadata as "rnnlab.host" and so on. Throws UserError kUsage if the
// layout cannot represent the model's function, kDevice if the file cannot be written.
Exported export_weights(const TrainedModel& trained, const ExportFormat& format, const std::filesystem::path& file,
                        const MachineFacts& machine = {});

// Returns the model as one file has it (runs/model_file.h), with what the run's folder, if the checkpoint is in one,
// says about the model. Throws UserError kData for a damaged log of the run.
SavedModel saved_model(const TrainedModel& trained);

// Writes the model as one file that this program uses in place of its run. Throws UserError kUsage, kDevice.
Exported export_whole(SavedModel model, const std::filesystem::path& file, const MachineFacts& machine = {});

// Converts the weights of a file. `expected` is the layout of the file; by default the layout is detected from the
// names of the tensors. Throws UserError as export_weights, and kCheckpoint.
Exported convert_weights(const std::filesystem::path& from, std::optional<Layout> expected, const ExportFormat& format,
                         const std::filesystem::path& file, const MachineFacts& machine = {});

RNNLAB_ENUM_NAMES(ExportPart, {kModel, "model"}, {kRecurrent, "recurrent"});

}  // namespace rnnlab
