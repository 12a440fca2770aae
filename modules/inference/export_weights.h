// A trained model's weights in a file of their own, for other programs: safetensors with PyTorch's parameter names.
#pragma once

#include <filesystem>
#include <string>

#include "inference/trained_model.h"

namespace rnnlab {

// kRecurrent: the recurrent layer alone under the names that torch.nn.LSTM, GRU and RNN give their own parameters.
enum class ExportPart { kModel, kRecurrent };

struct Exported {
  int64_t num_tensors = 0;
  int64_t num_parameters = 0;
  std::string module;              // "torch.nn.LSTM(28, 128, num_layers=2)", which takes the recurrent layer's weights
  std::vector<std::string> notes;  // where PyTorch's module would compute something else with them
};

// Float32, atomically. UserError kDevice.
Exported export_weights(const TrainedModel& trained, ExportPart part, const std::filesystem::path& file);

}  // namespace rnnlab

template <>
struct rnnlab::config::EnumNames<rnnlab::ExportPart> {
  static constexpr std::array<std::pair<rnnlab::ExportPart, std::string_view>, 2> kNames = {
      {{rnnlab::ExportPart::kModel, "model"}, {rnnlab::ExportPart::kRecurrent, "recurrent"}}};
};
