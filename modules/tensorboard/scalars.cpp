#include "tensorboard/scalars.h"

#include <algorithm>
#include <array>
#include <protozero/pbf_writer.hpp>

namespace rnnlab::tensorboard {
namespace {

constexpr std::array<std::string_view, 2> kNoScalars = {"epoch", "warmup"};
constexpr std::array<std::string_view, 3> kOfTraining = {"learning_rate", "gradient_norm", "skipped_steps"};

template <size_t N>
bool contains(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// In float32, for that is what all readers take.
std::string scalar_summary(const std::string& tag, double value) {
  constexpr protozero::pbf_tag_type kValue = 1, kTag = 1, kSimpleValue = 2;
  std::string summary;
  protozero::pbf_writer writer(summary);
  protozero::pbf_writer message(writer, kValue);
  message.add_string(kTag, tag);
  message.add_float(kSimpleValue, static_cast<float>(value));
  return summary;
}

}  // namespace

std::string scalar_tag(const EpochColumn& column) {
  std::string name(column.name);
  if (contains(kNoScalars, name)) return "";
  if (contains(kOfTraining, name)) return "training/" + name;
  if (column.role == ColumnRole::kMeasurement) return "measured/" + name;
  name[name.find('_')] = '/';
  return name;
}

std::string scalars_of(const EpochRow& row) {
  std::string summary;
  for (const EpochColumn& column : epoch_columns()) {
    const std::string tag = scalar_tag(column);
    const auto value = number_in(row, column);
    if (!tag.empty() && value) summary += scalar_summary(tag, *value);
  }
  return summary;
}

}  // namespace rnnlab::tensorboard
