// SPDX-License-Identifier: Apache-2.0
#include "runs/run_checkpoint.h"

#include <map>
#include <memory>
#include <span>

#include "base/fields.h"
#include "base/sha256.h"
#include "base/system/json_fields.h"
#include "results/checkpoint/safetensors.h"
#include "runs/fitted_record.h"
#include "train/weights/tensor_reader.h"

namespace rnnlab {
namespace {

struct StateRecord {
  int64_t schema_version = kFileVersion;
  RunProgress progress;
  std::map<std::string, std::string> generators;  // hexadecimal
  std::string experiment;                         // in the form of config.yaml
  Identity identity;
  SoftwareVersions software;
  std::vector<Warning> warnings;
  FittedRecord fitted;

  RNNLAB_FIELDS(schema_version, progress, generators, experiment, identity, software, warnings, flattened(fitted))
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

SavedRun from_record(const StateRecord& record, const Checkpoint& checkpoint, const std::string& file) {
  const Experiment experiment = experiment_from_text(record.experiment, file);
  SavedRun saved{.facts = {.experiment = experiment,
                           .identity = record.identity,
                           .software = record.software,
                           .data = from_record(record.fitted, experiment, file),
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
  StateRecord record{.progress = owner->progress,
                     .generators = {},
                     .experiment = config::print(facts.experiment, Experiment::schema()),
                     .identity = facts.identity,
                     .software = facts.software,
                     .warnings = facts.warnings,
                     .fitted = to_record(facts.data)};
  for (const auto& [name, state] : owner->generators) record.generators[name] = hex_of(state);
  return {.model = views_of(owner->model),
          .optimizer = views_of(owner->optimizer),
          .state = to_json(record),
          .owner = owner,
          .model_metadata = weights_metadata(facts.experiment, facts.data)};
}

LayoutMetadata function_of(const Experiment& experiment) {
  if (!info_of(experiment.model.kind).has_recurrent_layers()) return {};
  return function_of(recurrent_options(experiment.model, 1));
}

TensorMetadata weights_metadata(const Experiment& experiment, const FittedData& data) {
  LayoutMetadata metadata = function_of(experiment);
  metadata.categories = data.categories;
  return to_entries(metadata);
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
