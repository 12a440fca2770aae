// SPDX-License-Identifier: Apache-2.0
#include "data/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "data/find_data.h"
#include "data/load_dataset.h"
#include "data/readers/array.h"
#include "data/readers/byte_stream.h"
#include "data/readers/npz.h"

namespace rnnlab {
namespace {

using Path = std::filesystem::path;

constexpr int64_t kSmallestPicture = 8;  // rows and columns

std::string head_of(const Path& path) {
  std::string head(kHeadBytes, '\0');
  head.resize(open_stream(path)->read(std::as_writable_bytes(std::span(head))));
  return head;
}

// A format that rnnlab does not read, identified by the bytes that its files begin with.
struct ForeignFormat {
  std::string_view magic;
  std::string_view what_it_is;
  std::string_view what_to_do;
};

constexpr std::array<ForeignFormat, 10> kForeignFormats = {{
    {"PK\x03\x04", "a zip archive without .npy files (as .xlsx is)",
     "unpack it (unzip): rnnlab reads CSV and .ts files inside"},
    {"\x1f\x8b", "gzip within gzip", "unpack it once (gunzip): rnnlab unpacks one layer itself"},
    {"\xfd"
     "7zXZ",
     "packed by xz", "unpack it (unxz), or pack it by gzip"},
    {"\x28\xb5\x2f\xfd", "packed by zstd", "unpack it (unzstd), or pack it by gzip"},
    {"BZh91AY&SY", "packed by bzip2", "unpack it (bunzip2), or pack it by gzip"},
    {"\x89HDF\r\n", "HDF5", "convert it by scripts/convert-data hdf5, or save its arrays as .npy files"},
    {"RIFF", "a RIFF file, such as WAV", "convert sounds by scripts/convert-data wav"},
    {"\x89PNG\r\n", "a PNG image", "convert a folder of images by scripts/convert-data images"},
    {"\xff\xd8\xff", "a JPEG image", "convert a folder of images by scripts/convert-data images"},
    {"PAR1\x15", "Parquet", "convert it by scripts/convert-data parquet, or save the table as CSV"},
}};

void refuse_foreign(const Path& path, const std::string& head) {
  for (const ForeignFormat& format : kForeignFormats)
    if (head.starts_with(format.magic))
      throw_error(ExitCode::kData, "{}: is {}, which rnnlab does not read; {}", path.string(), format.what_it_is,
                  format.what_to_do);
}

// Formats that begin with their own bytes are certain, so they are tried before formats that are guessed.
FileInspection inspect_content(const Path& path, const std::string& head) {
  if (auto archive = inspect_npz_file(path, head)) return std::move(*archive);
  refuse_foreign(path, head);
  for (const bool is_certain : {true, false}) {
    for (const auto& [source, name] : config::EnumNames<Source>::kNames) {
      const SourceInfo& info = info_of(source);
      if (info.inspect_file == nullptr || info.magic.empty() == is_certain || !head.starts_with(info.magic)) continue;
      if (auto inspection = info.inspect_file(path, head)) return std::move(*inspection);
    }
  }
  fail_invariant("a format", __FILE__, __LINE__, "a file that has no other format is a text");
}

}  // namespace

std::string yaml_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Inspection inspect_file(const Path& path) {
  const bool is_in_archive = !split_array_path(path).array.empty();
  return is_in_archive ? inspect_npy_file(path, "").value() : inspect_content(path, head_of(path));
}

bool are_classes_of_steps(std::span<const int64_t> targets, bool are_whole, std::span<const int64_t> inputs) {
  return are_whole && targets.size() == 2 && inputs.size() == 3 && std::ranges::equal(targets, inputs.first(2));
}

bool are_numbers_of_steps(std::span<const int64_t> targets, std::span<const int64_t> inputs) {
  return targets.size() == 3 && inputs.size() >= 2 && std::ranges::equal(targets.first(2), inputs.first(2));
}

ArraySummary summary_of_array(const Array& array) {
  ArraySummary summary{array.shape, std::string(element_name(array.type)), {}};
  visit_values(array, [&](auto values) { summary.numbers = NumberSummary::of(values); });
  return summary;
}

int64_t small_byte_maximum(const ArraySummary& inputs) {
  constexpr double kHalf = 127;
  const double maximum = inputs.numbers.finite().maximum();
  const bool are_bytes = inputs.type == element_name(ElementType::kU8) && inputs.shape.size() >= 2;
  if (!are_bytes || maximum > kHalf) return 0;
  return std::max<int64_t>(static_cast<int64_t>(maximum), 1);
}

std::string byte_maximum_line(int64_t maximum) {
  return fmt::format("  byte_maximum: {:<6} # what inputs are divided by; without it, by 255", maximum);
}

std::string hint_on_bytes(int64_t maximum) {
  return fmt::format(
      "the bytes are from 0 to {0}, not to 255: set data.byte_maximum: {0} to divide them by {0}, or data.normalize: "
      "standard, minmax or none",
      maximum);
}

// The functions below describe idx and npy files.

namespace {

std::string folder_of(const Path& path) { return path.has_parent_path() ? path.parent_path().string() : "."; }

bool holds_integers(const Array& array) { return array.type != ElementType::kF32 && array.type != ElementType::kF64; }

using ArrayReader = Array (*)(const Path&);

std::vector<ClassCount> class_counts(const Array& array) {
  if (array.shape.size() != 1 || !holds_integers(array)) return {};
  std::map<int64_t, int64_t> counts;
  visit_values(array, [&](auto values) {
    for (const auto value : values) {
      if (counts.size() <= kMostClasses) ++counts[static_cast<int64_t>(value)];
    }
  });
  if (counts.size() > kMostClasses) return {};
  std::vector<ClassCount> classes;
  for (const auto& [label, count] : counts) classes.push_back({std::to_string(label), count});
  return classes;
}

// One integer a sample, each at least 1, may be lengths. Labels of images are not, because they begin with class 0.
bool may_be_lengths(const Array& array) {
  if (array.shape.size() != 1 || !holds_integers(array)) return false;
  bool are_positive = true;
  visit_values(array,
               [&](auto values) { are_positive = std::ranges::all_of(values, [](auto value) { return value >= 1; }); });
  return are_positive;
}

std::string picture_of(const Array& array) {
  const bool has_images =
      array.shape.size() == 3 && array.shape[1] >= kSmallestPicture && array.shape[2] >= kSmallestPicture;
  return has_images ? ascii_image(array, 0) : "";
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

// The usual names of a file of lengths beside a file of inputs.
constexpr std::pair<std::string_view, std::string_view> kNamesOfLengths[] = {
    {"inputs", "lengths"}, {"x", "lengths"}, {"X", "lengths"}, {"x", "n"}, {"X", "n"}};

// Returns the file of lengths beside a file of inputs; nullopt if no file with such a name has a length for each
// sample.
std::optional<Path> lengths_beside(const Path& path, ArrayReader read, const Array& array) {
  constexpr size_t kSequences = 3;
  const std::string name = path.filename().string();
  if (array.shape.size() != kSequences) return std::nullopt;
  for (const auto& [inputs, lengths] : kNamesOfLengths) {
    const size_t at = name.find(inputs);
    if (at == std::string::npos) continue;
    std::string other = name;
    Path file = path.parent_path() / other.replace(at, inputs.size(), lengths);
    if (!std::filesystem::is_regular_file(file)) continue;
    const Array found = read(file);
    if (may_be_lengths(found) && found.shape[0] == array.shape[0]) return file;
  }
  return std::nullopt;
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
  if (array.shape.size() != 3 || has_lengths || is_image || array.shape[1] * array.shape[2] == 0) return {};
  const int64_t count = num_zero_ends(array);
  if (count == 0) return {};
  return {
      fmt::format("{} of {} samples end in zeros: if that is padding, name the file with the lengths in train_lengths, "
                  "because the network trains on the padding otherwise",
                  count, array.shape[0])};
}

std::string half_line(const char* key, const std::optional<Path>& file) {
  const std::string name = file ? yaml_text(file->filename().string()) : fmt::format("{}   # the file's name", kFillIn);
  return fmt::format("  {}: {}", key, name);
}

// A file of inputs or of targets, with the file that is its other half.
struct ArrayHalf {
  bool is_targets = false;
  std::optional<Path> other;
  bool has_classes = true;
  bool is_per_step = false;
};

ArrayHalf half_of(ArrayReader read, const Path& path, const Array& array) {
  ArrayHalf half{.is_targets = array.shape.size() == 1, .other = other_half(path, array.shape.size() == 1)};
  const auto inputs = array.shape.size() == 2 ? other_half(path, /*is_targets=*/true) : std::nullopt;
  if (inputs && are_classes_of_steps(array.shape, holds_integers(array), read(*inputs).shape))
    return {true, inputs, true, true};
  if (half.is_targets) half.has_classes = holds_integers(array);
  if (half.is_targets || !half.other) return half;
  const Array targets = read(*half.other);
  const bool are_numbers = are_numbers_of_steps(targets.shape, array.shape);
  half.has_classes = holds_integers(targets) && !are_numbers;
  half.is_per_step = are_numbers || are_classes_of_steps(targets.shape, half.has_classes, array.shape);
  return half;
}

std::vector<std::string> array_yaml(Source format, const Path& path, const ArrayHalf& half,
                                    const std::optional<Path>& lengths, int64_t byte_maximum) {
  const auto& [is_targets, other, classes, is_per_step] = half;
  std::vector<std::string> lines = {
      "data:", fmt::format("  source: {}", config::name_of(format)), "  path: " + yaml_text(folder_of(path)),
      half_line("train_inputs", is_targets ? other : path), half_line("train_targets", is_targets ? path : other)};
  if (lengths) lines.push_back(half_line("train_lengths", lengths));
  if (byte_maximum > 0) lines.push_back(byte_maximum_line(byte_maximum));
  if (is_per_step) lines.emplace_back("  target_per: step");
  lines.insert(lines.end(), {"model:", classes ? "  kind: sequence_classifier" : "  kind: sequence_regressor"});
  return lines;
}

// The other arrays of an archive are not looked for by one of them.
FileInspection inspect_array_of_archive(const Path& path, ArrayInspection content) {
  const std::string file = split_array_path(path).file.string();
  return {path.string(),
          Source::kNpy,
          std::move(content),
          {fmt::format("rnnlab data inspect {} shows all arrays of the archive, and the lines that train on them",
                       shell_quoted(file))},
          {}};
}

FileInspection inspect_array(Source format, ArrayReader read, const Path& path) {
  const Array array = read(path);
  ArrayInspection content;
  content.array = summary_of_array(array);
  content.classes = class_counts(array);
  content.picture = picture_of(array);
  if (!split_array_path(path).array.empty()) return inspect_array_of_archive(path, std::move(content));
  const ArrayHalf half = half_of(read, path, array);
  const std::optional<Path> inputs = half.is_targets ? half.other : path;
  const std::optional<Path> lengths =
      inputs ? lengths_beside(*inputs, read, half.is_targets ? read(*inputs) : array) : std::nullopt;
  std::vector<std::string> hints = padding_hint(array, lengths.has_value(), !content.picture.empty());
  int64_t byte_maximum = small_byte_maximum(content.array);
  if (half.is_targets && half.other) byte_maximum = small_byte_maximum(summary_of_array(read(*half.other)));
  if (byte_maximum > 0 && !half.is_targets) hints.push_back(hint_on_bytes(byte_maximum));
  FileInspection inspection{path.string(), format, std::move(content), std::move(hints),
                            array_yaml(format, path, half, lengths, byte_maximum)};
  if (may_be_lengths(array))
    inspection.hints = {
        "if these are lengths of sequences and not classes, name the file in train_lengths, in addition to "
        "train_inputs and train_targets"};
  return inspection;
}

}  // namespace

std::optional<FileInspection> inspect_idx_file(const Path& path, const std::string&) {
  return inspect_array(Source::kIdx, read_idx, path);
}

std::optional<FileInspection> inspect_npy_file(const Path& path, const std::string&) {
  return inspect_array(Source::kNpy, read_npy, path);
}

// The functions below describe a text, and guess whether its tokens are characters, words or bytes.

namespace {

constexpr size_t kTextShown = 200;

// Removes the last line of a longer file, because the head may end within a character.
std::string whole_lines(const std::string& head) {
  return head.size() < kHeadBytes ? head : head.substr(0, head.find_last_of('\n') + 1);
}

// Returns whether the token is a character without a width, such as U+200D, which joins emoji. Within a text such
// characters have their effect, but in a list of tokens they cannot be seen.
bool is_invisible(const std::string& token) {
  if (token.empty() || utf8_sequence_length(token) != token.size()) return false;
  const char32_t c = code_point(token);
  return c == 0xAD || (c >= 0x200B && c <= 0x200F) || (c >= 0x2060 && c <= 0x2064) || (c >= 0xFE00 && c <= 0xFE0F) ||
         c == 0xFEFF;
}

// Returns '\xe2\x80\x8d'.
std::string escaped(const std::string& token) {
  std::string text;
  for (const char byte : token) text += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  return "'" + text + "'";
}

VocabularySummary summary_of(const std::vector<std::string>& vocabulary) {
  constexpr size_t kTokensShown = 256;
  VocabularySummary summary{vocabulary.size(), {}};
  for (size_t i = 0; i < std::min(vocabulary.size(), kTokensShown); ++i)
    summary.first_tokens.push_back(is_invisible(vocabulary[i]) ? escaped(vocabulary[i]) : in_quotes(vocabulary[i]));
  return summary;
}

}  // namespace

std::optional<FileInspection> inspect_text_file(const Path& path, const std::string& head) {
  const TextUnit unit = is_valid_utf8(whole_lines(head)) ? TextUnit::kCodePoint : TextUnit::kByte;
  const Text text = read_text(path, unit);
  TextInspection content{unit, text.tokens.size(), summary_of(text.vocabulary), in_quotes(head, kTextShown)};
  const std::vector<std::string> yaml = {"data:",
                                         "  source: text",
                                         "  path: " + yaml_text(path.string()),
                                         fmt::format("  tokens: {}", config::name_of(unit)),
                                         "  sequence_length: 50",
                                         "model:",
                                         "  kind: language_model"};
  return FileInspection{path.string(), Source::kText, std::move(content), {}, yaml};
}

// The functions below describe the data set of an experiment.

namespace {

constexpr int64_t kFirstSamples = 3;
constexpr int64_t kFirstSteps = 3;
constexpr int64_t kFirstFeatures = 8;

template <class T>
std::span<const T> values_of(const at::Tensor& tensor) {
  return {tensor.const_data_ptr<T>(), static_cast<size_t>(tensor.numel())};
}

ArraySummary summary_of(const at::Tensor& tensor) {
  if (tensor.scalar_type() == at::kLong)
    return {tensor.sizes().vec(), "int64", NumberSummary::of(values_of<int64_t>(tensor))};
  return {tensor.sizes().vec(), "float32", NumberSummary::of(values_of<float>(tensor))};
}

ArraySummary summary_of_inputs(const Samples& samples) {
  if (samples.num_features() == 0) return summary_of(samples.inputs);
  ArraySummary summary{{samples.size(), samples.sequence_length(), samples.num_features()}, "float32", {}};
  visit_inputs(samples, [&](int64_t, std::span<const float> values) {
    for (const float value : values) summary.numbers.add(static_cast<double>(value));
  });
  return summary;
}

std::vector<ClassCount> class_counts(const Samples& samples, const Dataset& dataset) {
  std::vector<ClassCount> classes;
  for (size_t label = 0; label < static_cast<size_t>(dataset.shape.num_outputs); ++label)
    classes.push_back({label < dataset.vocabulary.size() ? dataset.vocabulary[label] : std::to_string(label), 0});
  const at::Tensor labels = known_classes(samples);
  for (const int64_t label : values_of<int64_t>(labels)) ++classes[static_cast<size_t>(label)].count;
  return classes;
}

// The numbers are those of the targets that are known.
ArraySummary summary_of_targets(const at::Tensor& targets) {
  ArraySummary summary = summary_of(targets.masked_select(are_known(targets)));
  summary.shape = targets.sizes().vec();
  return summary;
}

PartInspection inspect_part(const Samples& samples, const Dataset& dataset) {
  PartInspection part;
  part.num_samples = samples.size();
  if (samples.size() == 0) return part;
  part.inputs = summary_of_inputs(samples);
  part.targets = target_counts(samples).defined() ? summary_of_targets(samples.targets) : summary_of(samples.targets);
  if (samples.lengths.defined()) part.lengths = summary_of(samples.lengths);
  if (dataset.shape.task == Task::kClassification) part.classes = class_counts(samples, dataset);
  return part;
}

std::string class_name(const Dataset& dataset, int64_t label) {
  if (label < 0) return "?";
  return dataset.vocabulary.empty() ? std::to_string(label) : dataset.vocabulary[static_cast<size_t>(label)];
}

// Returns "classes N N V N ..." or "targets 0.25 1 ...", those of the first steps.
std::string targets_of_steps_text(const Dataset& dataset, int64_t sample) {
  constexpr int64_t kStepsShown = 8;
  const bool are_classes = dataset.shape.task == Task::kClassification;
  const int64_t length = dataset.train.length(sample), num_shown = std::min(length, kStepsShown);
  const at::Tensor shown = dataset.train.targets[sample].narrow(0, 0, num_shown).contiguous();
  std::string text = are_classes ? "classes" : "targets";
  if (are_classes)
    for (const int64_t label : values_of<int64_t>(shown)) text += " " + class_name(dataset, label);
  else
    for (const float value : values_of<float>(shown)) text += fmt::format(" {:.4g}", value);
  return num_shown < length ? text + " ..." : text;
}

// Returns "class 5" or "target 0.25 1".
std::string target_text(const Dataset& dataset, int64_t sample) {
  if (dataset.shape.target_per_step) return targets_of_steps_text(dataset, sample);
  if (dataset.shape.task == Task::kClassification) {
    return "class " + class_name(dataset, values_of<int64_t>(dataset.train.targets)[static_cast<size_t>(sample)]);
  }
  std::string text = "target";
  for (const float value : values_of<float>(dataset.train.targets[sample])) text += fmt::format(" {:.4g}", value);
  return text;
}

std::string tokens_text(const Dataset& dataset, int64_t sample) {
  std::string text;
  for (const int64_t token : values_of<int64_t>(inputs_of(dataset.train, sample, 1))) {
    text += dataset.vocabulary[static_cast<size_t>(token)];
  }
  return in_quotes(text, 100);
}

// Steps beyond a sample's length do not belong to the sample.
std::vector<std::vector<float>> first_steps(const Samples& samples, int64_t sample) {
  const int64_t num_shown = std::min(kFirstSteps, samples.length(sample));
  const at::Tensor corner = inputs_of(samples, sample, 1)[0].slice(0, 0, num_shown).slice(1, 0, kFirstFeatures);
  std::vector<std::vector<float>> steps;
  for (int64_t step = 0; step < corner.size(0); ++step) {
    const at::Tensor row = corner[step].contiguous();
    steps.emplace_back(values_of<float>(row).begin(), values_of<float>(row).end());
  }
  return steps;
}

SampleInspection inspect_sample(const Dataset& dataset, int64_t i) {
  if (dataset.shape.task == Task::kLanguageModel) return {.text = tokens_text(dataset, i)};
  return {.target = target_text(dataset, i),
          .num_steps = dataset.train.length(i),
          .num_features = dataset.shape.input_size,
          .first_steps = first_steps(dataset.train, i)};
}

bool has_pictures(const DataSettings& settings, const DataShape& shape) {
  return info_of(settings.source).has_images && shape.sequence_length >= kSmallestPicture &&
         shape.input_size >= kSmallestPicture;
}

}  // namespace

Inspection inspect(const DataSettings& settings) {
  const Dataset dataset = load_dataset(settings);
  DatasetInspection inspection;
  inspection.description = dataset.description;
  inspection.notes = dataset.notes;
  inspection.fingerprint = dataset.fingerprint;
  inspection.training = inspect_part(dataset.train, dataset);
  inspection.validation = inspect_part(dataset.valid, dataset);
  inspection.target_scales = dataset.target_scales;
  if (dataset.shape.task == Task::kLanguageModel) inspection.vocabulary = summary_of(dataset.vocabulary);
  for (int64_t i = 0; i < std::min(kFirstSamples, dataset.train.size()); ++i)
    inspection.first_samples.push_back(inspect_sample(dataset, i));
  if (has_pictures(settings, dataset.shape))
    inspection.picture = ascii_image(values_of<float>(inputs_of(dataset.train, 0, 1)), dataset.shape.sequence_length,
                                     dataset.shape.input_size);
  return inspection;
}

}  // namespace rnnlab
