// A trained model's weights in a file of their own, for other programs; and such files, of other programs too, from one
// layout to another. Safetensors, float32.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "inference/trained_model.h"
#include "weights/layouts.h"

namespace rnnlab {

// kRecurrent: the recurrent layers alone.
enum class ExportPart { kModel, kRecurrent };

struct ExportFormat {
  ExportPart part = ExportPart::kModel;
  Layout layout = Layout::kPyTorch;
};

struct Exported {
  int64_t num_tensors = 0;
  int64_t num_parameters = 0;      // numbers written: a layout that sums biases has fewer
  std::string module;              // "torch.nn.LSTM(28, 128, num_layers=2)", which takes the recurrent layers' weights
  std::vector<std::string> notes;  // where that would compute something else with them
  std::string warning = {};        // that weights are not finite; "" where all are
};

// Atomically, with `machine` among the metadata as "rnnlab.host" and so on. UserError kUsage where the layout cannot
// say what the model computes, kDevice where it cannot be written.
Exported export_weights(const TrainedModel& trained, const ExportFormat& format, const std::filesystem::path& file,
                        const MachineFacts& machine = {});

// The weights of a file in `expected`, or else in the layout that its names tell. UserError also kCheckpoint.
Exported convert_weights(const std::filesystem::path& from, std::optional<Layout> expected, const ExportFormat& format,
                         const std::filesystem::path& file, const MachineFacts& machine = {});

}  // namespace rnnlab

template <>
struct rnnlab::config::EnumNames<rnnlab::ExportPart> {
  static constexpr std::array<std::pair<rnnlab::ExportPart, std::string_view>, 2> kNames = {
      {{rnnlab::ExportPart::kModel, "model"}, {rnnlab::ExportPart::kRecurrent, "recurrent"}}};
};
