// SPDX-License-Identifier: Apache-2.0
// Describes idx and npy files and .npz archives for `data inspect`, and guesses from the names of files beside each
// other, or of arrays of an archive, how to train on them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/folder.h"
#include "base/numbers.h"
#include "base/text.h"
#include "data/find_data.h"
#include "data/inspect.h"
#include "data/readers/array.h"
#include "data/readers/npz.h"

namespace rnnlab {
namespace {

using Path = std::filesystem::path;

struct ArraySummary {
  std::vector<int64_t> shape;
  ElementType type = ElementType::kU8;
  NumberSummary numbers;
};

ArraySummary summary_of(const Array& array) {
  ArraySummary summary{array.shape, array.type, {}};
  visit_values(array, [&](auto values) { summary.numbers = NumberSummary::of(values); });
  return summary;
}

Json json_of(const ArraySummary& array) { return array_json(array.shape, element_name(array.type), array.numbers); }

// What training takes targets for.
struct TargetForm {
  Task task = Task::kClassification;
  bool are_per_step = false;
};

// `inputs` is the shape (N, T, ...) of the inputs; empty if they are missing.
TargetForm form_of(const ArraySummary& targets, std::span<const int64_t> inputs) {
  const bool have_steps = targets.shape.size() >= 2 && inputs.size() >= 2 &&
                          std::ranges::equal(std::span(targets.shape).first(2), inputs.first(2));
  const bool are_tags = have_steps && targets.shape.size() == 2 && inputs.size() == 3 && is_integer(targets.type);
  const bool are_classes = are_tags || (targets.shape.size() == 1 && is_integer(targets.type));
  return {are_classes ? Task::kClassification : Task::kRegression,
          are_tags || (have_steps && targets.shape.size() == 3)};
}

// One integer a sample, each at least 1, may be lengths. Labels of images are not, because they begin with class 0.
bool may_be_lengths(const ArraySummary& array) {
  return array.shape.size() == 1 && is_integer(array.type) && array.numbers.finite().minimum() >= 1;
}

bool may_be_lengths_of(const ArraySummary& lengths, const ArraySummary& inputs) {
  return may_be_lengths(lengths) && inputs.shape.size() >= 2 && lengths.shape[0] == inputs.shape[0] &&
         lengths.numbers.finite().maximum() <= static_cast<double>(inputs.shape[1]);
}

// Returns the largest byte, at least 1, of inputs that fill at most half of the range of a byte; 0 for other inputs.
// Training refuses such bytes, unless data.byte_maximum or data.normalize is set.
int64_t small_byte_maximum(const ArraySummary& inputs) {
  constexpr double kHalf = 127;
  const double maximum = inputs.numbers.finite().maximum();
  if (inputs.type != ElementType::kU8 || inputs.shape.size() < 2 || maximum > kHalf) return 0;
  return std::max<int64_t>(static_cast<int64_t>(maximum), 1);
}

std::string hint_on_bytes(int64_t maximum) {
  return fmt::format(
      "the bytes are from 0 to {0}, not to 255: set data.byte_maximum: {0} to divide them by {0}, or data.normalize: "
      "standard, minmax or none",
      maximum);
}

// The keys that name arrays, such as train_inputs, with their values in YAML.
using NamedArrays = std::vector<std::pair<std::string, std::string>>;

std::vector<std::string> yaml_of_arrays(Source format, const Path& folder, const NamedArrays& arrays,
                                        const TargetForm& form, int64_t byte_maximum) {
  std::vector<std::string> lines = {"data:", fmt::format("  source: {}", config::name_of(format)),
                                    "  path: " + yaml_text(folder.string())};
  for (const auto& [key, value] : arrays) lines.push_back(fmt::format("  {}: {}", key, value));
  if (byte_maximum > 0)
    lines.push_back(
        fmt::format("  byte_maximum: {:<6} # what inputs are divided by; without it, by 255", byte_maximum));
  if (form.are_per_step) lines.emplace_back("  target_per: step");
  std::ranges::copy(yaml_of_model(form.task), std::back_inserter(lines));
  return lines;
}

// ---- files beside each other ----

struct ArrayFile {
  Path path;
  ArraySummary array;
};

// A file of inputs and a file of targets. One of the two may be missing.
struct FilePair {
  std::optional<ArrayFile> inputs, targets;

  TargetForm form() const {
    if (!targets) return {};
    return form_of(targets->array, inputs ? inputs->array.shape : std::vector<int64_t>());
  }
};

// Looks for the file that belongs to this one: replaces one of the words in the file's name by its counterpart, and
// returns the first file of such a name that exists and fits, or nullopt.
std::optional<ArrayFile> file_beside(const Path& path, ArrayReader read,
                                     std::span<const std::pair<std::string_view, std::string_view>> words,
                                     const std::function<bool(const ArraySummary&)>& fits) {
  const std::string name = path.filename().string();
  for (const auto& [mine, its] : words) {
    const size_t at = name.find(mine);
    if (at == std::string::npos) continue;
    const Path other = path.parent_path() / std::string(name).replace(at, mine.size(), its);
    if (other == path || !is_file(other)) continue;
    ArrayFile file{other, summary_of(read(other))};
    if (fits(file.array)) return file;
  }
  return std::nullopt;
}

// The usual names of files of inputs with those of their targets, and the other way round.
constexpr std::pair<std::string_view, std::string_view> kTargetsOfInputs[] = {
    {"images-idx3", "labels-idx1"}, {"images", "labels"}, {"inputs", "targets"}, {"X", "y"}, {"x", "y"}};
constexpr std::pair<std::string_view, std::string_view> kInputsOfTargets[] = {
    {"labels-idx1", "images-idx3"}, {"labels", "images"}, {"targets", "inputs"}, {"y", "X"}, {"y", "x"}};
constexpr std::pair<std::string_view, std::string_view> kLengthsOfInputs[] = {
    {"inputs", "lengths"}, {"x", "lengths"}, {"X", "lengths"}, {"x", "n"}, {"X", "n"}};

// Targets have one dimension, or two if they are classes of steps.
FilePair pair_of(const ArrayFile& file, ArrayReader read) {
  const auto fits = [](const ArraySummary&) { return true; };
  const size_t num_dimensions = file.array.shape.size();
  if (num_dimensions <= 2) {
    auto inputs = file_beside(file.path, read, kInputsOfTargets, fits);
    const bool are_of_steps = inputs && form_of(file.array, inputs->array.shape).are_per_step;
    if (num_dimensions == 1 || are_of_steps) return {std::move(inputs), file};
  }
  return {file, file_beside(file.path, read, kTargetsOfInputs, fits)};
}

// Returns the number of samples whose last step is zero in all features.
int64_t num_zero_ends(const Array& array) {
  const auto steps = static_cast<size_t>(array.shape[1]), features = static_cast<size_t>(array.shape[2]);
  int64_t count = 0;
  visit_values(array, [&](auto values) {
    for (size_t end = steps * features; end <= values.size(); end += steps * features)
      count += std::ranges::all_of(values.subspan(end - features, features), [](auto value) { return value == 0; });
  });
  return count;
}

// Images often end in zeros, too.
std::vector<std::string> padding_hint(const Array& array, bool has_lengths, bool is_image) {
  if (array.shape.size() != 3 || has_lengths || is_image) return {};
  const int64_t count = num_zero_ends(array);
  if (count == 0) return {};
  return {
      fmt::format("{} of {} samples end in zeros: if that is padding, name the file with the lengths in train_lengths, "
                  "because the network trains on the padding otherwise",
                  count, array.shape[0])};
}

void add_classes(Json& json, const Array& array) {
  if (array.shape.size() != 1 || !is_integer(array.type)) return;
  std::map<int64_t, int64_t> counts;
  visit_values(array, [&](auto values) {
    for (const auto value : values) {
      if (counts.size() <= kMostClasses) ++counts[static_cast<int64_t>(value)];
    }
  });
  if (counts.size() > kMostClasses) return;
  for (const auto& [label, count] : counts) add_class(json, std::to_string(label), count);
}

std::string picture_of(const Array& array) {
  const bool has_images =
      array.shape.size() == 3 && array.shape[1] >= kSmallestPicture && array.shape[2] >= kSmallestPicture;
  return has_images ? ascii_image(array, 0) : "";
}

std::string file_in_yaml(const std::optional<ArrayFile>& file) {
  return file ? yaml_text(file->path.filename().string()) : fmt::format("{}   # the file's name", kFillIn);
}

// Adds the hints and the lines of YAML for the file and the files beside it.
void add_advice(FileInspection& file, ArrayReader read, const Array& array, const ArraySummary& summary) {
  const FilePair pair = pair_of({file.path, summary}, read);
  const std::optional<ArrayFile>& inputs = pair.inputs;
  const auto lengths = inputs ? file_beside(inputs->path, read, kLengthsOfInputs,
                                            [&](const auto& other) { return may_be_lengths_of(other, inputs->array); })
                              : std::nullopt;
  const int64_t byte_maximum = inputs ? small_byte_maximum(inputs->array) : 0;
  file.hints = padding_hint(array, lengths.has_value(), file.content.contains("picture"));
  if (byte_maximum > 0 && inputs->path == file.path) file.hints.push_back(hint_on_bytes(byte_maximum));
  if (may_be_lengths(summary))
    file.hints = {
        "if these are lengths of sequences and not classes, name the file in train_lengths, in addition to "
        "train_inputs and train_targets"};
  NamedArrays names = {{"train_inputs", file_in_yaml(inputs)}, {"train_targets", file_in_yaml(pair.targets)}};
  if (lengths) names.emplace_back("train_lengths", file_in_yaml(lengths));
  file.yaml = yaml_of_arrays(file.format, folder_of(file.path), names, pair.form(), byte_maximum);
}

// The other arrays of an archive are not looked for by one of them.
FileInspection inspect_array(Source format, ArrayReader read, const Path& path) {
  const Array array = read(path);
  const ArraySummary summary = summary_of(array);
  FileInspection file{.path = path.string(), .format = format, .content = json_of(summary), .hints = {}, .yaml = {}};
  add_classes(file.content, array);
  if (const std::string picture = picture_of(array); !picture.empty()) file.content["picture"] = picture;
  const auto& [archive, name] = split_array_path(path);
  if (name.empty())
    add_advice(file, read, array, summary);
  else
    file.hints = {
        fmt::format("rnnlab data inspect {} shows all arrays of the archive, and the lines that train on them",
                    shell_quoted(archive.string()))};
  return file;
}

}  // namespace

std::optional<FileInspection> inspect_idx_file(const Path& path, const std::string&) {
  return inspect_array(Source::kIdx, read_idx, path);
}

std::optional<FileInspection> inspect_npy_file(const Path& path, const std::string&) {
  return inspect_array(Source::kNpy, read_npy, path);
}

namespace {

// ---- arrays of an archive ----

// The usual names of the arrays of one part; those of the other parts have another word instead of "train".
struct UsualNames {
  std::string_view inputs, targets, lengths;
};

constexpr std::array<UsualNames, 8> kUsualNames = {{{"x_train", "y_train", "lengths_train"},
                                                    {"X_train", "y_train", "lengths_train"},
                                                    {"train_x", "train_y", "train_lengths"},
                                                    {"train_inputs", "train_targets", "train_lengths"},
                                                    {"x", "y", "lengths"},
                                                    {"X", "y", "lengths"},
                                                    {"inputs", "targets", "lengths"},
                                                    {"images", "labels", "lengths"}}};

// The words of names for the parts of data.
struct PartWords {
  std::string_view key;  // of data.KEY_inputs
  std::vector<std::string_view> words;
};

const std::array<PartWords, 3> kPartWords = {
    {{"train", {"train"}}, {"valid", {"valid", "val", "validation"}}, {"test", {"test"}}}};

// Returns the name with another word in the place of this one, if it has this one.
std::string with_word(std::string_view name, std::string_view word, std::string_view other) {
  std::string result(name);
  const size_t at = result.find(word);
  return at == std::string::npos ? result : result.replace(at, word.size(), other);
}

// The arrays of an .npz archive, without those that cannot be read.
class Archive {
 public:
  void add(const std::string& name, ArraySummary array) { arrays_.emplace_back(name, std::move(array)); }

  size_t size() const { return arrays_.size(); }
  const std::string& first_name() const { return arrays_.front().first; }

  Json json() const {
    Json arrays = Json::array();
    for (const auto& [name, array] : arrays_) {
      arrays.push_back({{"name", on_one_line(name)}});
      arrays.back().update(json_of(array));
    }
    return {{"arrays", arrays}};
  }

  // Adds the lines of an experiment and a hint on bytes; none if no usual pair of inputs and targets is there.
  void add_advice(FileInspection& file) const {
    const auto* const usual = std::ranges::find_if(
        kUsualNames, [&](const UsualNames& names) { return has_pair(names.inputs, names.targets); });
    if (usual == kUsualNames.end()) return;
    const bool has_parts = usual->inputs.find("train") != std::string_view::npos;
    NamedArrays names;
    for (const PartWords& part : std::span(kPartWords).first(has_parts ? kPartWords.size() : 1))
      add_part(names, part, *usual);
    const Path path = file.path;
    for (auto& [key, array] : names) array = yaml_text(path.filename().string() + ":" + array);
    const ArraySummary& inputs = *find(usual->inputs);
    const int64_t byte_maximum = small_byte_maximum(inputs);
    if (byte_maximum > 0) file.hints.push_back(hint_on_bytes(byte_maximum));
    file.yaml = yaml_of_arrays(Source::kNpy, folder_of(path), names, form_of(*find(usual->targets), inputs.shape),
                               byte_maximum);
  }

 private:
  const ArraySummary* find(std::string_view name) const {
    const auto found = std::ranges::find(arrays_, name, &std::pair<std::string, ArraySummary>::first);
    return found == arrays_.end() ? nullptr : &found->second;
  }

  bool has_pair(std::string_view inputs, std::string_view targets) const {
    const ArraySummary* const x = find(inputs);
    const ArraySummary* const y = find(targets);
    return x != nullptr && y != nullptr && x->shape.size() >= 2 && x->shape[0] == y->shape[0];
  }

  // In the name of the lengths, "n" may stand for "lengths".
  void add_part(NamedArrays& names, const PartWords& part, const UsualNames& usual) const {
    for (const std::string_view word : part.words) {
      const auto for_part = [&](std::string_view name) { return with_word(name, "train", word); };
      const std::string inputs = for_part(usual.inputs), targets = for_part(usual.targets);
      if (!has_pair(inputs, targets)) continue;
      names.emplace_back(fmt::format("{}_inputs", part.key), inputs);
      names.emplace_back(fmt::format("{}_targets", part.key), targets);
      const std::string lengths = for_part(usual.lengths);
      for (const std::string& name : {lengths, with_word(lengths, "lengths", "n")}) {
        const ArraySummary* const found = find(name);
        if (found == nullptr || !may_be_lengths_of(*found, *find(inputs))) continue;
        names.emplace_back(fmt::format("{}_lengths", part.key), name);
        break;
      }
      return;
    }
  }

  std::vector<std::pair<std::string, ArraySummary>> arrays_;
};

// How much is unpacked to describe an archive. A small file can be made to unpack to a thousand times its size, and a
// description should not take longer than the file lets expect.
class UnpackingBudget {
 public:
  explicit UnpackingBudget(const Path& path) {
    constexpr int64_t kAlways = int64_t{64} << 20, kMostExpansion = 50;
    // An error is found when the file is read.
    left_ = std::max(kAlways, saturating_multiply(num_bytes_of(path).value_or(0), kMostExpansion));
  }

  // Throws UserError kData if too little is left for the array.
  void take(const ByteStream& array) {
    if (array.most_bytes() > left_)
      throw_error(ExitCode::kData,
                  "{}: not examined: it unpacks to {}, many times the size of the archive: unpack the archive with "
                  "unzip, and examine the .npy file",
                  array.path(), format_bytes(array.most_bytes()));
    left_ -= array.most_bytes();
  }

 private:
  int64_t left_ = 0;
};

// An array of objects or texts must not hide the others, so its error becomes a hint. If no array can be read, the
// error of the first is thrown. names: at least one.
Archive read_arrays(const NpzArchive& file, const std::vector<std::string>& names, UnpackingBudget budget,
                    std::vector<std::string>& hints) {
  constexpr size_t kMostArrays = 256;
  Archive archive;
  std::exception_ptr first_error;
  if (names.size() > kMostArrays)
    hints.push_back(fmt::format("only the first {} of {} arrays are shown", kMostArrays, names.size()));
  for (const std::string& name : std::span(names).first(std::min(names.size(), kMostArrays))) {
    try {
      const std::unique_ptr<ByteStream> stream = file.open(name);
      budget.take(*stream);
      archive.add(name, summary_of(read_npy(*stream)));
    } catch (const UserError& error) {
      if (!first_error) first_error = std::current_exception();
      hints.emplace_back(error.what());
    }
  }
  if (archive.size() == 0) std::rethrow_exception(first_error);
  return archive;
}

}  // namespace

std::optional<FileInspection> inspect_npz_file(const Path& path, const std::string& head) {
  const bool is_named_npz = path.extension() == ".npz";
  if (!begins_like_zip(head) && !is_named_npz) return std::nullopt;
  const NpzArchive archive(path);
  const std::vector<std::string> names = archive.names();
  if (names.empty() && !is_named_npz) return std::nullopt;
  if (names.empty()) read_npy(path);  // throws that there is no array
  FileInspection file{
      .path = path.string(), .format = Source::kNpy, .content = Archive().json(), .hints = {}, .yaml = {}};
  if (!is_named_npz) {
    file.hints = {"the archive has .npy files: give it a name that ends in .npz"};
    return file;
  }
  const Archive arrays = read_arrays(archive, names, UnpackingBudget(path), file.hints);
  file.content = arrays.json();
  arrays.add_advice(file);
  if (file.yaml.empty() && arrays.size() == names.size())
    file.hints.push_back(
        fmt::format("the names do not say which arrays are inputs and which are targets: name them in train_inputs and "
                    "train_targets, such as train_inputs: {}",
                    yaml_text(path.filename().string() + ":" + arrays.first_name())));
  return file;
}

}  // namespace rnnlab
