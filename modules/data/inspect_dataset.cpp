#include <algorithm>
#include <span>

#include "base/text.h"
#include "data/inspect.h"
#include "data/inspect_formats.h"
#include "data/load_dataset.h"
#include "data/number_summary.h"
#include "data/readers/ascii_image.h"

namespace rnnlab {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kFirstSamples = 3;
constexpr int64_t kFirstSteps = 3;
constexpr int64_t kFirstFeatures = 8;
constexpr int64_t kSmallestPicture = 8;  // rows and columns

template <class T>
std::span<const T> values_of(const at::Tensor& tensor) {
  return {tensor.const_data_ptr<T>(), static_cast<size_t>(tensor.numel())};
}

Json describe_tensor(const at::Tensor& tensor) {
  Json json;
  json["shape"] = tensor.sizes().vec();
  if (tensor.scalar_type() == at::kLong) {
    json["type"] = "int64";
    NumberSummary::of(values_of<int64_t>(tensor)).write(json);
  } else {
    json["type"] = "float32";
    NumberSummary::of(values_of<float>(tensor)).write(json);
  }
  return json;
}

Json class_counts(const Samples& samples, const Dataset& dataset) {
  std::vector<int64_t> counts(static_cast<size_t>(dataset.shape.num_outputs));
  for (const int64_t label : values_of<int64_t>(samples.targets)) ++counts[static_cast<size_t>(label)];
  Json json = Json::array();
  for (size_t label = 0; label < counts.size(); ++label) {
    const std::string name = label < dataset.vocabulary.size() ? dataset.vocabulary[label] : std::to_string(label);
    json.push_back({{"class", name}, {"samples", counts[label]}});
  }
  return json;
}

Json describe_part(const Samples& samples, const Dataset& dataset) {
  Json json;
  json["samples"] = samples.size();
  if (samples.size() == 0) return json;
  json["inputs"] = describe_tensor(samples.inputs);
  json["targets"] = describe_tensor(samples.targets);
  if (samples.lengths.defined()) json["lengths"] = describe_tensor(samples.lengths);
  if (dataset.shape.task == Task::kClassification) json["classes"] = class_counts(samples, dataset);
  return json;
}

std::string class_name(const Dataset& dataset, int64_t label) {
  return dataset.vocabulary.empty() ? std::to_string(label) : dataset.vocabulary[static_cast<size_t>(label)];
}

// "class 5", "target 0.25 1", or the text of a window.
std::string target_text(const Dataset& dataset, int64_t sample) {
  if (dataset.shape.task == Task::kClassification) {
    return "class " + class_name(dataset, values_of<int64_t>(dataset.train.targets)[static_cast<size_t>(sample)]);
  }
  std::string text = "target";
  for (const float value : values_of<float>(dataset.train.targets[sample])) text += fmt::format(" {:.4g}", value);
  return text;
}

std::string tokens_text(const Dataset& dataset, int64_t sample) {
  std::string text;
  for (const int64_t token : values_of<int64_t>(dataset.train.inputs[sample])) {
    text += dataset.vocabulary[static_cast<size_t>(token)];
  }
  return in_quotes(text, 100);
}

int64_t num_steps(const Samples& samples, int64_t sample) {
  if (samples.lengths.defined()) return values_of<int64_t>(samples.lengths)[static_cast<size_t>(sample)];
  return samples.inputs.size(1);
}

// What lies beyond a sample's length is no part of it.
Json first_steps(const Samples& samples, int64_t sample) {
  const int64_t num_shown = std::min(kFirstSteps, num_steps(samples, sample));
  const at::Tensor corner = samples.inputs[sample].slice(0, 0, num_shown).slice(1, 0, kFirstFeatures);
  Json json = Json::array();
  for (int64_t step = 0; step < corner.size(0); ++step) {
    const auto row = values_of<float>(corner[step].contiguous());
    json.push_back(std::vector<float>(row.begin(), row.end()));
  }
  return json;
}

Json first_samples(const Dataset& dataset) {
  Json json = Json::array();
  for (int64_t i = 0; i < std::min(kFirstSamples, dataset.train.size()); ++i) {
    if (dataset.shape.task == Task::kLanguageModel) {
      json.push_back({{"text", tokens_text(dataset, i)}});
    } else {
      json.push_back({{"target", target_text(dataset, i)},
                      {"num_steps", num_steps(dataset.train, i)},
                      {"num_features", dataset.shape.input_size},
                      {"first_steps", first_steps(dataset.train, i)}});
    }
  }
  return json;
}

bool has_pictures(const DataSettings& settings, const DataShape& shape) {
  const bool images =
      settings.source == Source::kDigits || settings.source == Source::kMnist || settings.source == Source::kIdx;
  return images && shape.sequence_length >= kSmallestPicture && shape.input_size >= kSmallestPicture;
}

}  // namespace

Json inspect(const DataSettings& settings) {
  const Dataset dataset = load_dataset(settings);
  Json json;
  json["description"] = dataset.description;
  json["notes"] = dataset.notes;
  json["fingerprint"] = dataset.fingerprint;
  json["training"] = describe_part(dataset.train, dataset);
  json["validation"] = describe_part(dataset.valid, dataset);
  for (const ColumnScale& scale : dataset.target_scales) {
    json["target_scales"].push_back({{"name", scale.name}, {"offset", scale.offset}, {"scale", scale.scale}});
  }
  if (dataset.shape.task == Task::kLanguageModel) add_vocabulary(json, dataset.vocabulary);
  json["first_samples"] = first_samples(dataset);
  if (has_pictures(settings, dataset.shape)) {
    json["picture"] =
        ascii_image(values_of<float>(dataset.train.inputs[0]), dataset.shape.sequence_length, dataset.shape.input_size);
  }
  return json;
}

}  // namespace rnnlab
