#include "weights/keras_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/numbers.h"
#include "base/text.h"
#include "checkpoint/failure.h"

namespace rnnlab {
namespace {

constexpr std::string_view kRecurrentKernel = "/recurrent_kernel";
constexpr std::string_view kKernel = "/kernel";
constexpr std::string_view kEmbeddings = "/embeddings";
constexpr std::string_view kForwardMark = "forward_";
constexpr std::string_view kBackwardMark = "backward_";

// "model/lstm_1" -> {"model", "lstm_1"}; without a slash, {"", "lstm_1"}.
std::pair<std::string, std::string> parent_and_last(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {"", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

struct Numbered {
  std::string stem;  // with the path before it
  int64_t number = 0;
};

Numbered numbered(const std::string& layer) {
  const size_t underscore = layer.rfind('_');
  if (underscore == std::string::npos) return {layer, 0};
  const auto number = parse_int64(std::string_view(layer).substr(underscore + 1));
  return number ? Numbered{layer.substr(0, underscore), *number} : Numbered{layer, 0};
}

std::vector<std::string> in_order(std::vector<std::string> layers, const TensorFile& file) {
  std::ranges::sort(layers, {}, [](const std::string& layer) { return numbered(layer).number; });
  for (size_t i = 1; i < layers.size(); ++i) {
    const Numbered one = numbered(layers[i - 1]), other = numbered(layers[i]);
    if (one.stem != other.stem || one.number == other.number)
      refuse_checkpoint(
          "{}: which of the layers {} and {} is the first does not follow from their names; call them by "
          "one name and number them, as in {} and {}",
          file.name, in_quotes(layers[i - 1]), in_quotes(layers[i]), one.stem, keras_layer_name(one.stem, 1));
  }
  return layers;
}

std::vector<std::string> paths_with(const TensorFile& file, std::string_view ending) {
  std::vector<std::string> paths;
  for (const TensorView& tensor : file.tensors) {
    const std::string& name = tensor.spec.name;
    if (name.ends_with(ending)) paths.push_back(name.substr(0, name.size() - ending.size()));
  }
  return paths;
}

struct CellPlace {
  std::string layer;
  std::string cell;
  size_t direction = 0;
};

CellPlace place_of(const std::string& path) {
  const auto [inside, cell] = parent_and_last(path);
  const auto [outer, inner] = parent_and_last(inside);
  if (inner.starts_with(kForwardMark)) return {outer, cell, 0};
  if (inner.starts_with(kBackwardMark)) return {outer, cell, 1};
  return {inside, cell, 0};
}

void find_recurrent(const TensorFile& file, const std::vector<std::string>& cells, KerasNames& names) {
  std::map<std::string, std::array<std::string, 2>> paths;  // by layer
  for (const std::string& path : cells) {
    const CellPlace place = place_of(path);
    if (names.cell.empty()) names.cell = place.cell;
    if (place.cell != names.cell)
      refuse_checkpoint("{}: has layers of {} and of {}; rnnlab's are of one kind", file.name, in_quotes(names.cell),
                        in_quotes(place.cell));
    std::string& slot = paths[place.layer][place.direction];
    if (!slot.empty())
      refuse_checkpoint("{}: {} and {} are both the same direction of one layer", file.name, in_quotes(slot),
                        in_quotes(path));
    slot = path;
  }
  std::vector<std::string> layers;
  for (const auto& [layer, ignored] : paths) layers.push_back(layer);
  for (const std::string& layer : in_order(layers, file)) names.recurrent.push_back(paths[layer]);
}

void require_same_directions(const TensorFile& file, const KerasNames& names) {
  const bool is_bidirectional = !names.recurrent.front()[1].empty();
  for (const auto& [forward, backward] : names.recurrent)
    if (forward.empty() || backward.empty() == is_bidirectional)
      refuse_checkpoint("{}: some of its layers read in both directions and some in one; rnnlab's are all alike",
                        file.name);
}

}  // namespace

bool is_keras_layout(const TensorFile& file) { return !paths_with(file, kRecurrentKernel).empty(); }

KerasNames keras_names(const TensorFile& file) {
  KerasNames names;
  const std::vector<std::string> cells = paths_with(file, kRecurrentKernel);
  find_recurrent(file, cells, names);
  require_same_directions(file, names);
  std::vector<std::string> dense = paths_with(file, kKernel);
  const std::set<std::string> is_cell(cells.begin(), cells.end());
  std::erase_if(dense, [&](const std::string& path) { return is_cell.contains(path); });
  names.dense = in_order(dense, file);
  if (const auto embeddings = paths_with(file, kEmbeddings); !embeddings.empty()) names.embedding = embeddings.front();
  return names;
}

std::string keras_layer_name(const std::string& kind, size_t index) {
  return index == 0 ? kind : fmt::format("{}_{}", kind, index);
}

std::string keras_cell_path(const std::string& kind, size_t layer, const char* direction) {
  const std::string name = keras_layer_name(kind, layer);
  if (*direction == '\0') return fmt::format("{}/{}_cell", name, kind);
  return fmt::format("{}/{}_{}/{}_cell", keras_layer_name("bidirectional", layer), direction, name, kind);
}

}  // namespace rnnlab
