// idx and npy.
#include <map>

#include "data/inspect_formats.h"
#include "data/number_summary.h"
#include "data/readers/ascii_image.h"
#include "data/readers/idx.h"
#include "data/readers/npy.h"

namespace rnnlab {
namespace {

using Json = nlohmann::ordered_json;
using Path = std::filesystem::path;

std::string folder_of(const Path& path) { return path.has_parent_path() ? path.parent_path().string() : "."; }

void add_class_counts(Json& json, const Array& array) {
  if (array.shape.size() != 1 || array.type == ElementType::kF32 || array.type == ElementType::kF64) return;
  std::map<int64_t, int64_t> counts;
  visit_values(array, [&](auto values) {
    for (const auto value : values) {
      if (counts.size() <= kMostClasses) ++counts[static_cast<int64_t>(value)];
    }
  });
  if (counts.size() > kMostClasses) return;
  for (const auto& [label, count] : counts) {
    json["classes"].push_back({{"class", std::to_string(label)}, {"samples", count}});
  }
}

void add_picture(Json& json, const Array& array) {
  constexpr int64_t kSmallest = 8;
  if (array.shape.size() == 3 && array.shape[1] >= kSmallest && array.shape[2] >= kSmallest) {
    json["picture"] = ascii_image(array, 0);
  }
}

std::vector<std::string> array_yaml(const std::string& source, const Path& path, const Array& array) {
  const bool labels = array.shape.size() == 1;
  return {"data:", "  source: " + source, "  path: " + yaml_text(folder_of(path)),
          "  train_inputs: " + (labels ? "..." : yaml_text(path.filename().string())),
          "  train_targets: " + (labels ? yaml_text(path.filename().string()) : "...")};
}

}  // namespace

Json describe_array(const std::string& source, const Path& path) {
  const Array array = source == "npy" ? read_npy(path) : read_idx(path);
  Json json;
  json["format"] = source;
  json["shape"] = array.shape;
  json["type"] = element_name(array.type);
  visit_values(array, [&](auto values) { NumberSummary::of(values).write(json); });
  add_class_counts(json, array);
  add_picture(json, array);
  json["yaml"] = array_yaml(source, path, array);
  return json;
}

}  // namespace rnnlab
