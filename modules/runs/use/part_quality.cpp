// SPDX-License-Identifier: Apache-2.0
#include "runs/use/part_quality.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/system/json_fields.h"
#include "base/text.h"
#include "data/input_memory.h"
#include "train/loop/baseline.h"
#include "train/loop/ridge.h"

namespace rnnlab {
namespace {

constexpr std::string_view kValid = "valid_";

MetricValues named_as_of_validation(const MetricValues& metrics) {
  MetricValues values;
  for (const auto& [name, value] : metrics) values[std::string(kValid) + name] = value;
  return values;
}

// Mapped inputs are larger than the memory, and reading them for their targets would take long.
bool is_mapped(const DataSettings& settings) {
  const std::vector<std::string> files = inputs_of_training(settings);
  const InputMemoryChoice memory = choose_input_memory(settings, files);
  return std::ranges::any_of(files,
                             [&](const std::string& file) { return memory.memory_of(file) == InputMemory::kMapped; });
}

// Returns the training part, or adds a note that says why it is not there.
std::optional<Samples> training_part(const TrainedModel& trained, std::vector<std::string>& notes) {
  std::string reason = "its inputs are mapped";
  try {
    if (!is_mapped(trained.data_settings))
      return load_for_inference(trained.data_settings, trained.data, DataPart::kTrain, Targets::kRequired).samples;
  } catch (const UserError& error) {
    reason = error.what();
  }
  notes.push_back(fmt::format("no baseline from the training part, which is not read again: {}", reason));
  return std::nullopt;
}

bool is_naive(const Baseline& baseline, const InferenceData& data) {
  return std::ranges::find(data.naive_forecasts, baseline.name, &NaiveForecast::name) != data.naive_forecasts.end();
}

}  // namespace

PartQuality quality_on_part(const TrainedModel& trained, const InferenceData& data, const MetricValues& metrics) {
  PartQuality quality{.part = trained.part, .model = named_as_of_validation(metrics), .baselines = {}, .notes = {}};
  const std::optional<Samples> train = training_part(trained, quality.notes);
  Dataset dataset;
  static_cast<FittedData&>(dataset) = trained.data;
  dataset.train = train.value_or(data.samples);
  dataset.valid = data.samples;
  dataset.naive_forecasts = data.naive_forecasts;
  quality.baselines = baselines(dataset, trained.objective().loss().kind());
  if (const auto note = train ? note_on_ridge(dataset) : std::nullopt) quality.notes.push_back(*note);
  if (!train) std::erase_if(quality.baselines, [&](const Baseline& one) { return !is_naive(one, data); });
  return quality;
}

std::string name_of_part(DataPart part) { return part == DataPart::kAll ? "" : std::string(config::name_of(part)); }

std::string quality_text(const PartQuality& quality) {
  if (quality.baselines.empty()) return "";
  std::string text;
  for (const Baseline& baseline : quality.baselines)
    text += fmt::format("{:<10}{}\n", text.empty() ? "baseline" : "", baseline_text(baseline, ""));
  return text +
         fmt::format("{:<10}{}\n", "result", winner_text(quality.model, quality.baselines, name_of_part(quality.part)));
}

void add_quality(const PartQuality& quality, nlohmann::ordered_json& json) {
  json["baselines"] = Json::array();
  for (const Baseline& baseline : quality.baselines) {
    Json metrics = Json::object();
    for (const auto& [name, value] : baseline.metrics) metrics[name.substr(kValid.size())] = to_json(value);
    json["baselines"].push_back({{"name", baseline.name}, {"metrics", metrics}});
  }
  const auto winner = winner_of(quality.model, quality.baselines);
  json["winner"] = nullptr;
  if (winner && !winner->is_tie()) json["winner"] = winner->is_model() ? "model" : winner->baseline->name;
}

}  // namespace rnnlab
