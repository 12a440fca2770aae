#include "data/inspect_formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/text.h"
#include "data/data_settings.h"
#include "data/readers/array.h"

namespace rnnlab {

// The functions below describe idx and npy files.

namespace {

using Json = nlohmann::ordered_json;
using Path = std::filesystem::path;

std::string folder_of(const Path& path) { return path.has_parent_path() ? path.parent_path().string() : "."; }

bool holds_integers(const Array& array) { return array.type != ElementType::kF32 && array.type != ElementType::kF64; }

Array read_array(const std::string& source, const Path& path) {
  return source == "npy" ? read_npy(path) : read_idx(path);
}

void add_class_counts(Json& json, const Array& array) {
  if (array.shape.size() != 1 || !holds_integers(array)) return;
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

// One integer a sample, each at least 1, may be lengths. Labels of images are not, because they begin with class 0.
bool may_be_lengths(const Array& array) {
  if (array.shape.size() != 1 || !holds_integers(array)) return false;
  bool are_positive = true;
  visit_values(array,
               [&](auto values) { are_positive = std::ranges::all_of(values, [](auto value) { return value >= 1; }); });
  return are_positive;
}

void add_picture(Json& json, const Array& array) {
  constexpr int64_t kSmallest = 8;
  if (array.shape.size() == 3 && array.shape[1] >= kSmallest && array.shape[2] >= kSmallest) {
    json["picture"] = ascii_image(array, 0);
  }
}

// The usual pairs of names for a file of inputs and a file of targets.
constexpr std::pair<std::string_view, std::string_view> kNamedAlike[] = {
    {"images-idx3", "labels-idx1"}, {"images", "labels"}, {"inputs", "targets"}, {"X", "y"}, {"x", "y"}};

// Returns the file whose name pairs inputs with targets or targets with inputs; nullopt if it is missing.
std::optional<Path> other_half(const Path& path, bool is_targets) {
  const std::string name = path.filename().string();
  for (const auto& [inputs, targets] : kNamedAlike) {
    const std::string_view mine = is_targets ? targets : inputs;
    const size_t at = name.find(mine);
    if (at == std::string::npos) continue;
    std::string other = name;
    other.replace(at, mine.size(), is_targets ? inputs : targets);
    if (other != name && std::filesystem::is_regular_file(path.parent_path() / other))
      return path.parent_path() / other;
  }
  return std::nullopt;
}

std::string half_line(const char* key, const std::optional<Path>& file) {
  const std::string name = file ? yaml_text(file->filename().string()) : "FILL_IN   # the file's name";
  return fmt::format("  {}: {}", key, name);
}

std::vector<std::string> array_yaml(const std::string& source, const Path& path, const Array& array) {
  const bool is_targets = array.shape.size() == 1;
  const std::optional<Path> other = other_half(path, is_targets);
  const bool classes = is_targets ? holds_integers(array) : !other || holds_integers(read_array(source, *other));
  return {"data:",
          "  source: " + source,
          "  path: " + yaml_text(folder_of(path)),
          half_line("train_inputs", is_targets ? other : path),
          half_line("train_targets", is_targets ? path : other),
          "model:",
          classes ? "  kind: sequence_classifier" : "  kind: sequence_regressor"};
}

}  // namespace

Json describe_array(const std::string& source, const Path& path) {
  const Array array = read_array(source, path);
  Json json;
  json["format"] = source;
  json["shape"] = array.shape;
  json["type"] = element_name(array.type);
  visit_values(array, [&](auto values) { NumberSummary::of(values).write(json); });
  add_class_counts(json, array);
  add_picture(json, array);
  if (may_be_lengths(array))
    json["hints"] = {
        "if these are lengths of sequences and not classes, name the file in train_lengths, in addition to "
        "train_inputs and train_targets"};
  json["yaml"] = array_yaml(source, path, array);
  return json;
}

// The functions below describe a text and guess its unit.

namespace {

constexpr size_t kTextShown = 200;

// Removes the last line of a longer file, because the head may end within a character.
std::string whole_lines(const std::string& head) {
  return head.size() < kHeadBytes ? head : head.substr(0, head.find_last_of('\n') + 1);
}

}  // namespace

void add_vocabulary(Json& json, const std::vector<std::string>& vocabulary) {
  constexpr size_t kTokensShown = 256;
  json["vocabulary_size"] = vocabulary.size();
  for (size_t i = 0; i < std::min(vocabulary.size(), kTokensShown); ++i)
    json["vocabulary"].push_back(in_quotes(vocabulary[i]));
}

Json describe_text(const Path& path, const std::string& head) {
  const TextUnit unit = is_valid_utf8(whole_lines(head)) ? TextUnit::kCodePoint : TextUnit::kByte;
  const Text text = read_text(path, unit);
  Json json;
  json["format"] = "text";
  json["tokens"] = config::name_of(unit);
  json["length"] = text.tokens.size();
  add_vocabulary(json, text.vocabulary);
  json["begins"] = in_quotes(head, kTextShown);
  json["yaml"] = {"data:",
                  "  source: text",
                  "  path: " + yaml_text(path.string()),
                  fmt::format("  tokens: {}", config::name_of(unit)),
                  "  sequence_length: 50",
                  "model:",
                  "  kind: language_model"};
  return json;
}

}  // namespace rnnlab
