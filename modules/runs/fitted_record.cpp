// SPDX-License-Identifier: Apache-2.0
#include "runs/fitted_record.h"

#include <algorithm>
#include <map>
#include <span>

#include "base/config/document.h"
#include "base/sha256.h"
#include "base/text.h"
#include "data/csv_features.h"
#include "data/load_dataset.h"
#include "results/checkpoint/safetensors.h"
#include "train/loop/losses.h"

namespace rnnlab {
namespace {

ShapeRecord to_record(const DataShape& shape) {
  return {std::string(config::name_of(shape.task)),
          shape.input_size,
          shape.sequence_length,
          shape.num_outputs,
          shape.has_lengths,
          shape.target_per_step ? std::optional(true) : std::nullopt};
}

DataShape from_record(const ShapeRecord& record, const std::string& file) {
  const auto task = config::from_name<Task>(record.task);
  if (!task) throw_checkpoint_error("{}: shape.task has the unknown value {}", file, in_quotes(record.task));
  return {*task,
          record.input_size,
          record.sequence_length,
          record.num_outputs,
          record.has_lengths,
          record.target_per_step.value_or(false)};
}

std::vector<std::string> hex_of_each(const std::vector<std::string>& tokens) {
  std::vector<std::string> hex;
  for (const std::string& token : tokens) hex.push_back(to_hex(std::as_bytes(std::span(token))));
  return hex;
}

std::vector<std::string> vocabulary_from(const FittedRecord& record, const std::string& file) {
  if (!record.vocabulary_is_hex) return record.vocabulary;
  std::vector<std::string> tokens;
  for (const std::string& hex : record.vocabulary) {
    const auto bytes = from_hex(hex);
    if (!bytes) throw_checkpoint_error("{}: vocabulary holds {}, which is not hexadecimal", file, in_quotes(hex));
    tokens.emplace_back(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  }
  return tokens;
}

std::vector<ColumnMean> to_list(const std::map<std::string, double>& means) {
  std::vector<ColumnMean> list;
  for (const auto& [name, mean] : means) list.push_back({name, mean});
  return list;
}

std::map<std::string, double> from_list(const std::vector<ColumnMean>& list) {
  std::map<std::string, double> means;
  for (const auto& [name, mean] : list) means[name] = mean;
  return means;
}

}  // namespace

FittedRecord to_record(const FittedData& data) {
  const bool is_text = std::ranges::all_of(data.vocabulary, is_valid_utf8);
  return {.shape = to_record(data.shape),
          .vocabulary = is_text ? data.vocabulary : hex_of_each(data.vocabulary),
          .vocabulary_is_hex = !is_text,
          .target_scales = data.target_scales,
          .normalization = std::string(config::name_of(data.normalization)),
          .feature_scales = data.feature_scales,
          .column_means = to_list(data.column_means),
          .categories = data.categories,
          .time = data.time,
          .is_day_first = data.is_day_first,
          .series_scales = data.series_scales};
}

FittedData from_record(const FittedRecord& record, const Experiment& experiment, const std::string& file) {
  const auto normalization = config::from_name<Normalization>(record.normalization);
  if (!normalization || *normalization == Normalization::kAutomatic)
    throw_checkpoint_error("{}: normalization has the unknown value {}", file, in_quotes(record.normalization));
  FittedData data{.shape = from_record(record.shape, file),
                  .vocabulary = vocabulary_from(record, file),
                  .target_scales = record.target_scales,
                  .normalization = *normalization,
                  .feature_scales = record.feature_scales,
                  .column_means = from_list(record.column_means),
                  .categories = record.categories,
                  .time = record.time,
                  .is_day_first = record.is_day_first,
                  .series_scales = record.series_scales};
  data.shape.category_sizes = category_sizes(data.categories);
  data.shape = with_horizons(data.shape, experiment.data);
  data.shape.numbers_per_target = numbers_per_target(experiment.training);
  if (const std::string fault = fault_of(data, experiment.data); !fault.empty())
    throw_checkpoint_error("{}: its description of the data is impossible: {}", file, fault);
  return data;
}

Experiment experiment_from_text(const std::string& text, const std::string& file) {
  config::Findings findings;
  const auto document = config::Document::from_text(text, file, findings);
  Experiment experiment = config::read(document, Experiment::schema(), findings);
  choose_split_of_earlier_versions(experiment.data);
  if (findings.empty()) return experiment;
  throw_checkpoint_error("{}: its experiment is not valid: {}", file, findings.lines().front());
}

}  // namespace rnnlab
