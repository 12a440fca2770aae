// SPDX-License-Identifier: Apache-2.0
#include "runs/use/export_weights.h"

#include <ATen/ops/isfinite.h>

#include "base/numbers.h"
#include "results/checkpoint/safetensors.h"
#include "train/loop/train_step.h"
#include "train/models/model.h"
#include "train/weights/layouts.h"
#include "train/weights/tensor_reader.h"

namespace rnnlab {
namespace {

// The model gives an unknown value the vector 0 instead of row 0. With zeros in row 0, torch.nn.Embedding does the
// same.
at::Tensor without_unknown(const at::Tensor& vectors) {
  at::Tensor known = vectors.clone();
  known[0].zero_();
  return known;
}

std::vector<NamedTensor> tensors_of(const Model& model) {
  std::vector<NamedTensor> tensors;
  for (const auto& [name, tensor] : named_parameters(model))
    tensors.push_back({name, tensor.detach().to(at::kCPU, at::kFloat).contiguous()});
  return tensors;
}

std::vector<NamedTensor> tensors_of_part(const Model& model, ExportPart part) {
  std::vector<NamedTensor> tensors;
  for (const auto& [name, values] : tensors_of(model)) {
    const bool is_recurrent = name.starts_with(kRecurrentPrefix);
    if (part == ExportPart::kRecurrent && !is_recurrent) continue;
    const size_t skipped = part == ExportPart::kRecurrent ? std::string_view(kRecurrentPrefix).size() : 0;
    tensors.push_back({name.substr(skipped), name.starts_with(kCategoryPrefix) ? without_unknown(values) : values});
  }
  return tensors;
}

// Returns the metadata of the exported part.
LayoutMetadata metadata_of_part(LayoutMetadata metadata, ExportPart part) {
  if (part != ExportPart::kRecurrent) return metadata;
  metadata.is_tied = false;
  metadata.categories.clear();
  return metadata;
}

void refuse_tied(const LayoutMetadata& metadata, Layout layout) {
  if (!metadata.is_tied || layout == Layout::kPyTorch) return;
  throw_error(ExitCode::kUsage,
              "model.tied: the {} layout has no weights that the embedding and the output layer share; use --layout "
              "pytorch, or --part recurrent",
              config::name_of(layout));
}

LayoutMetadata layout_metadata(const RecurrentOptions& options, const TrainedModel& trained) {
  LayoutMetadata metadata = function_of(options);
  metadata.is_tied = trained.experiment.model.tied;
  metadata.categories = trained.data.categories;
  return metadata;
}

int64_t num_not_finite(const at::Tensor& tensor) { return tensor.numel() - at::isfinite(tensor).sum().item<int64_t>(); }

// Returns "" if all values are finite.
std::string warning_of(const std::vector<NamedTensor>& tensors) {
  std::string first;
  int64_t num_others = 0;
  for (const auto& [name, tensor] : tensors) {
    const int64_t count = num_not_finite(tensor);
    if (count == 0) continue;
    if (first.empty())
      first = fmt::format("{} holds NaN or Inf ({})", name, counted(count, "value"));
    else
      ++num_others;
  }
  if (first.empty()) return "";
  return fmt::format("{}{}; training refuses such weights", first,
                     num_others == 0 ? ""
                                     : fmt::format(", and so {} {}", num_others == 1 ? "does" : "do",
                                                   counted(num_others, "other tensor")));
}

TensorMetadata metadata_with(TensorMetadata metadata, const MachineFacts& machine) {
  for (const auto& [name, fact] : machine) metadata["rnnlab." + name] = fact;
  return metadata;
}

Exported write_weights(const std::vector<NamedTensor>& tensors, const RecurrentOptions& options,
                       const TensorMetadata& metadata, Layout layout, const std::filesystem::path& file) {
  write_safetensors(file, SafetensorsImage(views_of(tensors), metadata));
  return {.num_tensors = std::ssize(tensors),
          .num_parameters = num_values(tensors),
          .module = layer_text(options, layout),
          .notes = layout_notes(options, layout),
          .warning = warning_of(tensors)};
}

// Writes a model without recurrent layers unchanged, because its tensors are equal in all layouts.
Exported export_unchanged(const Model& model, const ExportFormat& format, const std::filesystem::path& file,
                          const MachineFacts& machine) {
  if (format.part == ExportPart::kRecurrent)
    throw_error(ExitCode::kUsage, "--part recurrent: the model has no recurrent layers; remove --part");
  if (format.layout != Layout::kPyTorch)
    throw_error(ExitCode::kUsage,
                "--layout {}: a model without recurrent layers can only be written in the pytorch layout",
                config::name_of(format.layout));
  const std::vector<NamedTensor> tensors = tensors_of_part(model, format.part);
  write_safetensors(file, SafetensorsImage(views_of(tensors), metadata_with(metadata_of({}, format.layout), machine)));
  return {.num_tensors = std::ssize(tensors),
          .num_parameters = num_parameters(model),
          .module = "",
          .notes = {},
          .warning = warning_of(tensors)};
}

Layout require_layout(const TensorFile& file, std::optional<Layout> expected) {
  const std::optional<Layout> found = layout_of(file);
  if (!found)
    throw_checkpoint_error(
        "{}: no weights of recurrent layers in a known layout: there is neither weight_ih_l0 (pytorch), a "
        ".../recurrent_kernel (keras), rnn/multi_rnn_cell/cell_0/... (tensorflow) nor a ..._recurrent_kernel_ (xlstm)",
        file.name);
  if (expected && *found != *expected)
    throw_checkpoint_error("{}: its tensor names have the {} layout, but --from says {}", file.name,
                           config::name_of(*found), config::name_of(*expected));
  return *found;
}

}  // namespace

Exported export_weights(const TrainedModel& trained, const ExportFormat& format, const std::filesystem::path& file,
                        const MachineFacts& machine) {
  const Model& model = *trained.model;
  if (!model.has_recurrent()) return export_unchanged(model, format, file, machine);
  const RecurrentOptions& options = model.recurrent().options();
  require_layout_has(options.cell, format.layout);
  std::vector<NamedTensor> tensors = tensors_of_part(model, format.part);
  const LayoutMetadata metadata = metadata_of_part(layout_metadata(options, trained), format.part);
  refuse_tied(metadata, format.layout);
  if (format.layout != Layout::kPyTorch) {
    const TensorFile image{.name = trained.checkpoint.string(),
                           .tensors = views_of(tensors),
                           .metadata = metadata_of(metadata, Layout::kPyTorch),
                           .bytes = nullptr};
    tensors = export_tensors(read_network(image, Layout::kPyTorch), format.layout);
  }
  return write_weights(tensors, options, metadata_with(metadata_of(metadata, format.layout), machine), format.layout,
                       file);
}

SavedModel saved_model(const TrainedModel& trained) {
  SavedModel model{.experiment = trained.trained_with,
                   .data = trained.data,
                   .origin = trained.origin,
                   .weights = tensors_of(*trained.model)};
  if (const auto run = run_of(trained)) add_results_of_run(model.origin, *run);
  return model;
}

Exported export_whole(SavedModel model, const std::filesystem::path& file, const MachineFacts& machine) {
  model.origin.machine = {machine.begin(), machine.end()};
  write_model_file(file, model);
  return {.num_tensors = std::ssize(model.weights),
          .num_parameters = num_values(model.weights),
          .module = "",
          .notes = {},
          .warning = warning_of(model.weights)};
}

Exported convert_weights(const std::filesystem::path& from, std::optional<Layout> expected, const ExportFormat& format,
                         const std::filesystem::path& file, const MachineFacts& machine) {
  std::vector<std::string> notes;
  TensorFile source = with_float32(read_safetensors(from), notes);
  if (format.part == ExportPart::kRecurrent && source.find(kRecurrentPrefix + std::string("weight_ih_l0")) != nullptr)
    std::erase_if(source.tensors, [](const TensorView& one) { return !one.spec.name.starts_with(kRecurrentPrefix); });
  NetworkWeights network = read_network(source, require_layout(source, expected));
  if (format.part == ExportPart::kRecurrent) {
    network.embedding.reset();
    network.dense.clear();
    network.categories.clear();
  }
  const LayoutMetadata metadata = metadata_of_part(network.metadata, format.part);
  refuse_tied(metadata, format.layout);
  Exported exported = write_weights(export_tensors(network, format.layout), network.options,
                                    metadata_with(metadata_of(metadata, format.layout), machine), format.layout, file);
  exported.source_notes = std::move(notes);
  return exported;
}

}  // namespace rnnlab
