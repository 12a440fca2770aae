#include "inference/export_weights.h"

#include "experiment/initial_weights.h"
#include "experiment/tensor_bytes.h"
#include "training/snapshot.h"
#include "training/train_step.h"

namespace rnnlab {
namespace {

std::vector<NamedTensor> tensors_of_part(const Model& model, ExportPart part) {
  std::vector<NamedTensor> tensors;
  for (const auto& [name, tensor] : named_parameters(model)) {
    const bool is_recurrent = name.starts_with(kRecurrentPrefix);
    if (part == ExportPart::kRecurrent && !is_recurrent) continue;
    const size_t skipped = part == ExportPart::kRecurrent ? std::string_view(kRecurrentPrefix).size() : 0;
    tensors.push_back({name.substr(skipped), tensor.detach().to(at::kCPU, at::kFloat).contiguous()});
  }
  return tensors;
}

std::string module_name(Cell cell) {
  if (cell == Cell::kLstm) return "LSTM";
  return cell == Cell::kGru ? "GRU" : "RNN";
}

std::string module_text(const RecurrentOptions& options) {
  std::string text =
      fmt::format("torch.nn.{}({}, {}", module_name(options.cell), options.input_size, options.hidden_size);
  if (options.num_layers > 1) text += fmt::format(", num_layers={}", options.num_layers);
  if (options.bidirectional) text += ", bidirectional=True";
  if (options.cell == Cell::kRnnRelu) text += ", nonlinearity='relu'";
  return text + ")";
}

std::vector<std::string> notes_on(const RecurrentOptions& options) {
  std::vector<std::string> notes;
  if (options.reset_gate == ResetGate::kBefore)
    notes.emplace_back(
        "model.reset_gate is before: torch.nn.GRU applies the reset gate after the product and computes something "
        "else");
  if (options.activation == Activation::kRelu)
    notes.emplace_back("model.activation is relu: torch.nn's cells have tanh and compute something else");
  return notes;
}

}  // namespace

Exported export_weights(const TrainedModel& trained, ExportPart part, const std::filesystem::path& file) {
  const std::vector<NamedTensor> tensors = tensors_of_part(*trained.model, part);
  write_safetensors(file, SafetensorsImage(views_of(tensors), {{"format", "pt"}}));
  const Model& model = *trained.model;
  const RecurrentOptions& options = model.recurrent().options();
  Exported exported{.num_tensors = std::ssize(tensors), .module = module_text(options), .notes = notes_on(options)};
  for (const NamedTensor& tensor : tensors) exported.num_parameters += tensor.tensor.numel();
  return exported;
}

}  // namespace rnnlab
