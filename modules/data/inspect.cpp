// SPDX-License-Identifier: Apache-2.0
#include "data/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
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

std::vector<std::string> yaml_of_model(Task task) {
  const std::string_view kind = task == Task::kLanguageModel    ? "language_model"
                                : task == Task::kClassification ? "sequence_classifier"
                                                                : "sequence_regressor";
  return {"model:", fmt::format("  kind: {}", kind)};
}

Inspection inspect_file(const Path& path) {
  const bool is_in_archive = !split_array_path(path).array.empty();
  return is_in_archive ? inspect_npy_file(path, "").value() : inspect_content(path, head_of(path));
}

void NumberSummary::add_to(Json& json) const {
  if (finite_.count() > 0) {
    json["minimum"] = finite_.minimum();
    json["maximum"] = finite_.maximum();
    json["mean"] = finite_.mean();
    json["standard_deviation"] = finite_.standard_deviation();
  }
  if (num_not_finite_ > 0) json["not_finite"] = num_not_finite_;
}

Json array_json(std::span<const int64_t> shape, std::string_view type, const NumberSummary& numbers) {
  Json json = {{"shape", std::vector(shape.begin(), shape.end())}, {"type", type}};
  numbers.add_to(json);
  return json;
}

void add_class(Json& json, const std::string& name, int64_t count, const char* counted) {
  json["classes"].push_back({{"class", name}, {counted, count}});
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

void add_vocabulary(Json& json, const std::vector<std::string>& vocabulary) {
  constexpr size_t kTokensShown = 256;
  json["vocabulary_size"] = vocabulary.size();
  for (const std::string& token : std::span(vocabulary).first(std::min(vocabulary.size(), kTokensShown)))
    json["vocabulary"].push_back(is_invisible(token) ? escaped(token) : in_quotes(token));
}

}  // namespace

std::optional<FileInspection> inspect_text_file(const Path& path, const std::string& head) {
  const TextUnit unit = is_valid_utf8(whole_lines(head)) ? TextUnit::kCodePoint : TextUnit::kByte;
  const Text text = read_text(path, unit);
  FileInspection file{.path = path.string(), .format = Source::kText, .content = {}, .hints = {}, .yaml = {}};
  file.content = {{"tokens", config::name_of(unit)}, {"length", text.tokens.size()}};
  add_vocabulary(file.content, text.vocabulary);
  file.content["begins"] = in_quotes(head, kTextShown);
  file.yaml = {"data:", "  source: text", "  path: " + yaml_text(path.string()),
               fmt::format("  tokens: {}", config::name_of(unit)), "  sequence_length: 50"};
  std::ranges::copy(yaml_of_model(Task::kLanguageModel), std::back_inserter(file.yaml));
  return file;
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

Json json_of(const at::Tensor& tensor) {
  if (tensor.scalar_type() == at::kLong)
    return array_json(tensor.sizes(), "int64", NumberSummary::of(values_of<int64_t>(tensor)));
  return array_json(tensor.sizes(), "float32", NumberSummary::of(values_of<float>(tensor)));
}

Json inputs_json(const Samples& samples) {
  if (samples.num_features() == 0) return json_of(samples.inputs);
  NumberSummary numbers;
  visit_inputs(samples, [&](int64_t, std::span<const float> values) {
    for (const float value : values) numbers.add(static_cast<double>(value));
  });
  return array_json(std::array{samples.size(), samples.sequence_length(), samples.num_features()}, "float32", numbers);
}

// The numbers are those of the targets that are known.
Json targets_json(const Samples& samples) {
  if (!target_counts(samples).defined()) return json_of(samples.targets);
  Json json = json_of(samples.targets.masked_select(are_known(samples.targets)));
  json["shape"] = samples.targets.sizes().vec();
  return json;
}

void add_classes(Json& json, const Samples& samples, const Dataset& dataset) {
  const at::Tensor labels = known_classes(samples);
  const ClassCounts classes = count_classes("", values_of<int64_t>(labels), dataset.shape.num_outputs);
  for (size_t label = 0; label < classes.counts.size(); ++label)
    add_class(json, label < dataset.vocabulary.size() ? dataset.vocabulary[label] : std::to_string(label),
              classes.counts[label], has_target_per_step(samples.targets) ? "steps" : "samples");
}

// A part without samples has only its number of samples.
Json part_json(const Samples& samples, const Dataset& dataset) {
  Json json = {{"samples", samples.size()}};
  if (samples.size() == 0) return json;
  json["inputs"] = inputs_json(samples);
  json["targets"] = targets_json(samples);
  if (samples.lengths.defined()) json["lengths"] = json_of(samples.lengths);
  if (dataset.shape.task == Task::kClassification) add_classes(json, samples, dataset);
  return json;
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

Json sample_json(const Dataset& dataset, int64_t i) {
  if (dataset.shape.task == Task::kLanguageModel) return {{"text", tokens_text(dataset, i)}};
  return {{"target", target_text(dataset, i)},
          {"num_steps", dataset.train.length(i)},
          {"num_features", dataset.shape.input_size},
          {"first_steps", first_steps(dataset.train, i)}};
}

bool has_pictures(const DataSettings& settings, const DataShape& shape) {
  return info_of(settings.source).has_images && shape.sequence_length >= kSmallestPicture &&
         shape.input_size >= kSmallestPicture;
}

}  // namespace

Inspection inspect(const DataSettings& settings) {
  const Dataset dataset = load_dataset(settings);
  Json json = {{"description", dataset.description},
               {"notes", dataset.notes},
               {"fingerprint", dataset.fingerprint},
               {"training", part_json(dataset.train, dataset)},
               {"validation", part_json(dataset.valid, dataset)}};
  for (const ColumnScale& scale : dataset.target_scales)
    json["target_scales"].push_back({{"name", scale.name}, {"offset", scale.offset}, {"scale", scale.scale}});
  if (dataset.shape.task == Task::kLanguageModel) add_vocabulary(json, dataset.vocabulary);
  json["first_samples"] = Json::array();
  for (int64_t i = 0; i < std::min(kFirstSamples, dataset.train.size()); ++i)
    json["first_samples"].push_back(sample_json(dataset, i));
  if (has_pictures(settings, dataset.shape))
    json["picture"] = ascii_image(values_of<float>(inputs_of(dataset.train, 0, 1)), dataset.shape.sequence_length,
                                  dataset.shape.input_size);
  return DatasetInspection{std::move(json)};
}

}  // namespace rnnlab
