// SPDX-License-Identifier: Apache-2.0
#include "train/weights/layouts.h"

#include <fmt/format.h>

#include "base/error.h"
#include "layers/cells/cell.h"

namespace rnnlab {

const LayoutInfo& pytorch_layout();
const LayoutInfo& keras_layout();
const LayoutInfo& tensorflow_layout();
const LayoutInfo& xlstm_layout();

namespace {

const LayoutInfo& info_of(Layout layout) {
  switch (layout) {
    case Layout::kPyTorch:
      return pytorch_layout();
    case Layout::kKeras:
      return keras_layout();
    case Layout::kTensorFlow:
      return tensorflow_layout();
    case Layout::kXlstm:
      return xlstm_layout();
  }
  fail_invariant("a listed layout", __FILE__, __LINE__, "info_of does not know the layout");
}

}  // namespace

std::optional<Layout> layout_of(const TensorFile& file) {
  for (const auto& [layout, name] : config::EnumNames<Layout>::kNames)
    if (info_of(layout).has_names(file)) return layout;
  return std::nullopt;
}

std::vector<Layout> written_layouts() {
  std::vector<Layout> layouts;
  for (const auto& [layout, name] : config::EnumNames<Layout>::kNames)
    if (info_of(layout).tensors != nullptr) layouts.push_back(layout);
  return layouts;
}

NetworkWeights read_network(const TensorFile& file, Layout layout) { return info_of(layout).read(file); }

std::vector<NamedTensor> export_tensors(const NetworkWeights& network, Layout layout) {
  require_layout_has(network.options.cell, layout);
  if (!network.categories.empty() && layout != Layout::kPyTorch)
    throw_error(ExitCode::kUsage,
                "data.categories: the {} layout has no vectors of categories; use --layout pytorch, or --part "
                "recurrent",
                config::name_of(layout));
  return info_of(layout).tensors(network);
}

TensorMetadata metadata_of(const LayoutMetadata& metadata, Layout layout) {
  TensorMetadata entries = info_of(layout).own_metadata;
  entries["rnnlab.layout"] = config::name_of(layout);
  entries.merge(to_entries(metadata));
  return entries;
}

void require_layout_has(Cell cell, Layout layout) {
  if (info_of(layout).tensors == nullptr)
    throw_error(ExitCode::kUsage, "--layout {}: rnnlab only reads this layout; use --layout pytorch",
                config::name_of(layout));
  if (info_of(layout).has_own_cells || info_of(cell).library) return;
  throw_error(ExitCode::kUsage, "model.cell: the {} layout has no {}; use --layout pytorch", config::name_of(layout),
              cell_name(cell));
}

std::string layer_text(const RecurrentOptions& options, Layout layout) {
  if (!info_of(options.cell).library)
    return fmt::format("{}({}, {}) of rnnlab, which torch.nn does not have", cell_name(options.cell),
                       options.input_size, options.hidden_size);
  return info_of(layout).layer_text(options);
}

std::vector<std::string> layout_notes(const RecurrentOptions& options, Layout layout) {
  const auto notes = info_of(layout).notes;
  return notes == nullptr ? std::vector<std::string>() : notes(options);
}

}  // namespace rnnlab
