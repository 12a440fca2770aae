// SPDX-License-Identifier: Apache-2.0
#include "runs/run_checkpoint.h"

#include <algorithm>
#include <map>
#include <memory>
#include <span>

#include "base/config/document.h"
#include "base/fields.h"
#include "base/sha256.h"
#include "base/system/json_fields.h"
#include "base/text.h"
#include "data/load_dataset.h"
#include "results/checkpoint/safetensors.h"
#include "train/loop/losses.h"
#include "train/weights/tensor_reader.h"

namespace rnnlab {
namespace {

struct ShapeRecord {
  std::string task;
  int64_t input_size = 0;
  int64_t sequence_length = 0;
  int64_t num_outputs = 0;
  bool has_lengths = false;
  std::optional<bool> target_per_step;  // written if it is true

  RNNLAB_FIELDS(task, input_size, sequence_length, num_outputs, has_lengths, where_given(target_per_step))
};

struct ColumnMean {
  std::string name;
  double mean = 0;

  RNNLAB_FIELDS(name, mean)
};

struct StateRecord {
  int64_t schema_version = kFileVersion;
  RunProgress progress;
  std::map<std::string, std::string> generators;  // hexadecimal
  std::string experiment;                         // in the form of config.yaml
  Identity identity;
  SoftwareVersions software;
  std::vector<Warning> warnings;
  ShapeRecord shape;
  std::vector<std::string> vocabulary;
  bool vocabulary_is_hex = false;  // set if tokens are bytes that are not valid UTF-8, as JSON requires
  std::vector<ColumnScale> target_scales;
  std::string normalization;
  std::vector<ColumnScale> feature_scales;
  std::vector<ColumnMean> column_means;
  std::vector<CategoryColumn> categories;
  std::optional<std::string> time;
  std::optional<bool> is_day_first;
  std::vector<SeriesScales> series_scales;

  RNNLAB_FIELDS(schema_version, progress, generators, experiment, identity, software, warnings, shape, vocabulary,
                vocabulary_is_hex, target_scales, normalization, feature_scales, column_means, where_given(categories),
                where_given(time), where_given(is_day_first), where_given(series_scales))
};

std::string hex_of(const at::Tensor& bytes) {
  return to_hex({static_cast<const std::byte*>(bytes.const_data_ptr()), bytes.nbytes()});
}

at::Tensor generator_state(const std::string& generator, const std::string& hex, const std::string& file) {
  const auto bytes = from_hex(hex);
  if (!bytes) throw_checkpoint_error("{}: generators.{} is not hexadecimal; the file is damaged", file, generator);
  const TensorSpec spec{generator, DType::kU8, {std::ssize(*bytes)}};
  return to_tensor({spec, *bytes}).tensor;
}

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

std::vector<std::string> vocabulary_from(const StateRecord& record, const std::string& file) {
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

FittedData data_from(const StateRecord& record, const Experiment& experiment, const std::string& file) {
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
  data.shape.numbers_per_target = numbers_per_target(experiment.training);
  if (const std::string fault = fault_of(data, experiment.data); !fault.empty())
    throw_checkpoint_error("{}: its description of the data is impossible: {}", file, fault);
  return data;
}

Experiment saved_experiment(const std::string& text, const std::string& file) {
  config::Findings findings;
  const auto document = config::Document::from_text(text, file, findings);
  Experiment experiment = config::read(document, Experiment::schema(), findings);
  choose_split_of_earlier_versions(experiment.data);
  if (findings.empty()) return experiment;
  throw_checkpoint_error("{}: its experiment is not valid: {}", file, findings.lines().front());
}

SavedRun from_record(const StateRecord& record, const Checkpoint& checkpoint, const std::string& file) {
  const Experiment experiment = saved_experiment(record.experiment, file);
  SavedRun saved{.facts = {.experiment = experiment,
                           .identity = record.identity,
                           .software = record.software,
                           .data = data_from(record, experiment, file),
                           .warnings = record.warnings},
                 .snapshot = {.progress = record.progress,
                              .model = to_tensors(checkpoint.model.tensors),
                              .optimizer = to_tensors(checkpoint.optimizer.tensors),
                              .generators = {}}};
  for (const auto& [name, hex] : record.generators) saved.snapshot.generators[name] = generator_state(name, hex, file);
  return saved;
}

void require_same_specs(const std::vector<NamedTensor>& saved, const std::vector<TensorSpec>& wanted,
                        const std::string& file) {
  const TensorFile saved_file{.name = file, .tensors = views_of(saved), .metadata = {}, .bytes = nullptr};
  require_tensors(saved_file, wanted);
}

}  // namespace

CheckpointContents contents_of(const RunFacts& facts, Snapshot snapshot) {
  const auto owner = std::make_shared<const Snapshot>(std::move(snapshot));
  const bool is_text = std::ranges::all_of(facts.data.vocabulary, is_valid_utf8);
  StateRecord record{.progress = owner->progress,
                     .generators = {},
                     .experiment = config::print(facts.experiment, Experiment::schema()),
                     .identity = facts.identity,
                     .software = facts.software,
                     .warnings = facts.warnings,
                     .shape = to_record(facts.data.shape),
                     .vocabulary = is_text ? facts.data.vocabulary : hex_of_each(facts.data.vocabulary),
                     .vocabulary_is_hex = !is_text,
                     .target_scales = facts.data.target_scales,
                     .normalization = std::string(config::name_of(facts.data.normalization)),
                     .feature_scales = facts.data.feature_scales,
                     .column_means = to_list(facts.data.column_means),
                     .categories = facts.data.categories,
                     .time = facts.data.time,
                     .is_day_first = facts.data.is_day_first,
                     .series_scales = facts.data.series_scales};
  for (const auto& [name, state] : owner->generators) record.generators[name] = hex_of(state);
  LayoutMetadata metadata = function_of(facts.experiment);
  metadata.categories = facts.data.categories;
  return {.model = views_of(owner->model),
          .optimizer = views_of(owner->optimizer),
          .state = to_json(record),
          .owner = owner,
          .model_metadata = to_entries(metadata)};
}

LayoutMetadata function_of(const Experiment& experiment) {
  if (!info_of(experiment.model.kind).has_recurrent_layers()) return {};
  return function_of(recurrent_options(experiment.model, 1));
}

SavedRun read_saved_run(const std::filesystem::path& checkpoint) {
  const Checkpoint loaded = load_checkpoint(checkpoint);
  constexpr int64_t kFirstVersion = 2;
  const std::string file = (checkpoint / kStateFile).string();
  return with_checkpoint_errors(
      [&] { return from_record(record_from<StateRecord>(loaded.state, file, kFirstVersion), loaded, file); });
}

void require_same_tensors(const std::vector<NamedTensor>& saved, const std::vector<NamedTensor>& wanted,
                          const std::string& file) {
  require_same_specs(saved, specs_of(wanted), file);
}

void require_same_tensors(const std::vector<NamedTensor>& saved, const std::vector<ParameterSpec>& wanted,
                          const std::string& file) {
  std::vector<TensorSpec> specs;
  for (const ParameterSpec& spec : wanted) specs.push_back({spec.name, DType::kF32, spec.shape});
  require_same_specs(saved, specs, file);
}

}  // namespace rnnlab
