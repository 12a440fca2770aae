// SPDX-License-Identifier: Apache-2.0
// The source ts: the series of .ts files of the UEA archive, with their classes or with a number to predict. Shorter
// series are padded with zeros to the longest, and have lengths. A target that is a number is scaled like the inputs.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "data/data_settings.h"
#include "data/dataset.h"
#include "data/find_data.h"
#include "data/inspect.h"
#include "data/load_dataset.h"
#include "data/normalize.h"
#include "data/readers/ts.h"
#include "data/source.h"

namespace rnnlab {
namespace {

TsFile read_file(const DataSettings& settings, const std::string& name) {
  return read_ts(find_data({settings.path, name, "",
                            "Name the file by data.path, or by data.train_file in the folder data.path."}),
                 settings.missing);
}

// The form that the samples of all files of a data set have.
struct TsForm {
  std::vector<std::string> labels;
  int64_t num_steps = 0;
  bool has_lengths = false;
};

bool has_one_length(const TsFile& file) { return file.fewest_steps() == file.most_steps(); }

// A file whose series take many times their memory when they are padded is damaged, or made to exhaust the memory.
void require_small_padding(const TsFile& file, int64_t num_steps) {
  constexpr int64_t kAlwaysFine = int64_t{4} << 20;
  constexpr int64_t kMostGrowth = 64;
  const int64_t num_padded = saturating_multiply(std::ssize(file.series), num_steps * file.num_dimensions);
  if (num_padded <= std::max(kAlwaysFine, kMostGrowth * std::ssize(file.values))) return;
  const TsSeries& longest = *std::ranges::max_element(file.series, {}, &TsSeries::num_steps);
  throw_error(ExitCode::kData,
              "{}:{}: the longest series has {}, and padding {} series to {} would take more than {} times their "
              "values: cut the long series into pieces",
              file.path, longest.line, counted(longest.num_steps, "step"), format_count(std::ssize(file.series)),
              num_steps, kMostGrowth);
}

at::Tensor inputs_of(const TsFile& file, int64_t num_steps) {
  require_small_padding(file, num_steps);
  at::Tensor inputs = at::zeros({std::ssize(file.series), num_steps, file.num_dimensions}, at::kFloat);
  auto* out = inputs.mutable_data_ptr<float>();
  for (const TsSeries& series : file.series) {
    std::ranges::copy(file.values_of(series), out);
    out += num_steps * file.num_dimensions;
  }
  return inputs;
}

at::Tensor lengths_of(const TsFile& file) {
  at::Tensor lengths = at::empty({std::ssize(file.series)}, at::kLong);
  std::ranges::transform(file.series, lengths.mutable_data_ptr<int64_t>(), &TsSeries::num_steps);
  return lengths;
}

[[noreturn]] void fail_without_target(const TsFile& file, const TsSeries& series, std::string_view what) {
  throw_error(ExitCode::kData,
              "{}:{}: the {} is missing: fill it, remove the line, or set data.missing: previous or zero, which fill "
              "only inputs and leave missing targets out of losses and metrics",
              file.path, series.line, what);
}

// Returns the training class of each class of the file, or -1.
std::vector<int64_t> training_classes(const TsFile& file, const std::vector<std::string>& labels) {
  std::unordered_map<std::string_view, int64_t> numbers;
  for (const std::string& label : labels) numbers.emplace(label, std::ssize(numbers));
  std::vector<int64_t> classes;
  for (const std::string& label : file.labels) {
    const auto found = numbers.find(label);
    classes.push_back(found == numbers.end() ? -1 : found->second);
  }
  return classes;
}

at::Tensor classes_of(const TsFile& file, const std::vector<std::string>& labels, MissingTargets missing) {
  const std::vector<int64_t> training = training_classes(file, labels);
  at::Tensor classes = at::full({std::ssize(file.series)}, int64_t{-1}, at::kLong);
  auto* out = classes.mutable_data_ptr<int64_t>();
  for (const TsSeries& series : file.series) {
    if (series.label < 0 && missing == MissingTargets::kRefused) fail_without_target(file, series, "class");
    if (series.label >= 0) *out = training[static_cast<size_t>(series.label)];
    if (series.label >= 0 && *out < 0)
      throw_error(ExitCode::kData,
                  "{}:{}: got the class {}, which the training data do not have; their classes are {}: "
                  "correct or remove the line, or add series of this class to the training file",
                  file.path, series.line, in_quotes(file.labels[static_cast<size_t>(series.label)]),
                  on_one_line(join(labels, ", ")));
    ++out;
  }
  return classes;
}

// Returns (N, 1).
at::Tensor numbers_of(const TsFile& file, MissingTargets missing) {
  at::Tensor numbers = at::empty({std::ssize(file.series), 1}, at::kFloat);
  auto* out = numbers.mutable_data_ptr<float>();
  for (const TsSeries& series : file.series) {
    if (std::isnan(series.target) && missing == MissingTargets::kRefused) fail_without_target(file, series, "target");
    *out++ = series.target;
  }
  return numbers;
}

at::Tensor targets_of(const TsFile& file, const std::vector<std::string>& labels, const DataSettings& settings,
                      Targets targets) {
  const MissingTargets missing = missing_targets(settings, targets);
  if (file.target == TsTarget::kClass) return classes_of(file, labels, missing);
  if (file.target == TsTarget::kNumber) return numbers_of(file, missing);
  if (targets == Targets::kIfPresent) return {};
  throw_error(ExitCode::kData,
              "{}: the series have neither a class nor a target: use a file with @classLabel true or @targetLabel true",
              file.path);
}

Samples samples_of(const TsFile& file, const TsForm& form, const DataSettings& settings, Targets targets) {
  Samples samples;
  samples.targets = targets_of(file, form.labels, settings, targets);
  samples.inputs = inputs_of(file, form.num_steps);
  if (form.has_lengths) samples.lengths = lengths_of(file);
  return samples;
}

void require_alike(const TsFile& train, const TsFile& valid) {
  if (train.num_dimensions != valid.num_dimensions)
    throw_error(ExitCode::kData, "{} has {}, but {} has {}: both parts must have the same dimensions", train.path,
                counted(train.num_dimensions, "dimension"), valid.path, valid.num_dimensions);
  if (train.target != valid.target)
    throw_error(ExitCode::kData,
                "{} and {} have different targets (@classLabel, @targetLabel): use two files of one data set",
                train.path, valid.path);
}

// Returns the class of each of the series, for a stratified split; empty if they have none.
std::vector<int64_t> classes_of_series(const TsFile& file) {
  if (file.target != TsTarget::kClass) return {};
  std::vector<int64_t> classes;
  for (const TsSeries& series : file.series) classes.push_back(series.label);
  return classes;
}

TsForm form_of(const TsFile& train, const std::optional<TsFile>& valid) {
  TsForm form{train.labels, train.most_steps(), !has_one_length(train)};
  if (!valid) return form;
  form.has_lengths = form.has_lengths || !has_one_length(*valid) || form.num_steps != valid->most_steps();
  form.num_steps = std::max(form.num_steps, valid->most_steps());
  return form;
}

// Series that data.num_train leaves out must not affect the scaling.
Scaling fit_targets(const at::Tensor& targets, const DataSettings& settings, Normalization how) {
  const auto* begin = targets.const_data_ptr<float>();
  const int64_t count = std::min(settings.num_train.value_or(targets.numel()), targets.numel());
  return fit(std::vector<double>(begin, begin + count), how);
}

void scale(at::Tensor& targets, const ColumnScale& scale) {
  if (targets.defined() && targets.is_floating_point()) targets.sub_(scale.offset).div_(scale.scale);
}

void scale_targets(Dataset& dataset, const DataSettings& settings, Normalization how) {
  if (dataset.shape.task != Task::kRegression || !is_fitted(how)) return;
  const Scaling fitted = fit_targets(dataset.train.targets, settings, how);
  dataset.target_scales = {{"target", fitted.offset, fitted.scale}};
  for (Samples* part : {&dataset.train, &dataset.valid}) scale(part->targets, dataset.target_scales[0]);
}

void add_note_on_missing(std::vector<std::string>& notes, int64_t num_missing, const DataSettings& settings) {
  if (num_missing == 0) return;
  notes.push_back(fmt::format("{}, treated by missing: {}", counted(num_missing, "missing value"),
                              config::name_of(settings.missing)));
}

void add_notes(Dataset& dataset, const TsFile& train, const std::optional<TsFile>& valid,
               const DataSettings& settings) {
  add_note_on_missing(dataset.notes, train.num_missing + (valid ? valid->num_missing : 0), settings);
  if (!dataset.shape.has_lengths) return;
  const int64_t fewest = valid ? std::min(train.fewest_steps(), valid->fewest_steps()) : train.fewest_steps();
  dataset.notes.push_back(
      fmt::format("the series have {} to {} steps; shorter ones are padded, and padding is not used", fewest,
                  dataset.shape.sequence_length));
}

DataShape shape_of(const TsFile& train, const TsForm& form) {
  const bool has_classes = train.target == TsTarget::kClass;
  return {has_classes ? Task::kClassification : Task::kRegression, train.num_dimensions, form.num_steps,
          has_classes ? std::ssize(form.labels) : 1, form.has_lengths};
}

Normalization resolved(Normalization how) { return how == Normalization::kAutomatic ? Normalization::kStandard : how; }

Loaded load_ts(const DataSettings& settings) {
  const TsFile train = read_file(settings, settings.train_file);
  std::optional<TsFile> valid;
  if (!settings.valid_file.empty()) {
    valid = read_file(settings, settings.valid_file);
    require_alike(train, *valid);
  }
  const TsForm form = form_of(train, valid);
  const auto samples_in = [&](const TsFile& file) { return samples_of(file, form, settings, Targets::kRequired); };
  Loaded loaded;
  loaded.origin = {"ts", train.path};
  loaded.normalize = resolved(settings.normalize);
  split_samples(loaded, samples_in(train), valid ? std::optional(samples_in(*valid)) : std::nullopt,
                classes_of_series(train), settings, train.path);
  Dataset& dataset = loaded.dataset;
  dataset.shape = shape_of(train, form);
  dataset.vocabulary = form.labels;
  scale_targets(dataset, settings, loaded.normalize);
  add_notes(dataset, train, valid, settings);
  return loaded;
}

// A model that was trained on arrays has numbers as classes, and no names.
std::vector<std::string> labels_of(const FittedData& fitted) {
  if (!fitted.vocabulary.empty() || fitted.shape.task != Task::kClassification) return fitted.vocabulary;
  std::vector<std::string> labels;
  for (int64_t i = 0; i < fitted.shape.num_outputs; ++i) labels.push_back(std::to_string(i));
  return labels;
}

// Series that are longer than those of training keep all steps.
TsForm form_for(const TsFile& file, const FittedData& fitted) {
  const bool has_lengths = fitted.shape.has_lengths || !has_one_length(file);
  const int64_t num_steps = fitted.shape.has_lengths ? fitted.shape.sequence_length : 0;
  return {labels_of(fitted), std::max(num_steps, file.most_steps()), has_lengths};
}

FileRows file_rows(const std::vector<int64_t>& rows) {
  FileRows result;
  for (const int64_t row : rows)
    result.rows.push_back({.number = row + 1, .id = {}, .sample = std::ssize(result.rows), .reason = ""});
  return result;
}

LoadedPart load_ts_part(const DataSettings& settings, const FittedData& fitted, DataPart part, Targets targets) {
  const bool has_own_file = part == DataPart::kValid && !settings.valid_file.empty();
  const TsFile file = read_file(settings, has_own_file ? settings.valid_file : settings.train_file);
  const std::vector<int64_t> rows =
      samples_of_part(part, std::ssize(file.series), classes_of_series(file), settings, file.path);
  LoadedPart loaded{
      .samples = {}, .origin = {"ts", file.path}, .normalize = resolved(settings.normalize), .notes = {}, .rows = {}};
  loaded.samples = take(samples_of(file, form_for(file, fitted), settings, targets), rows);
  if (!fitted.target_scales.empty()) scale(loaded.samples.targets, fitted.target_scales[0]);
  add_note_on_missing(loaded.notes, file.num_missing, settings);
  if (targets == Targets::kIfPresent) loaded.rows = file_rows(rows);
  return loaded;
}

void check_ts(const DataSettings& settings, config::Checker& checker) {
  if (settings.path.empty() && settings.train_file.empty())
    checker.complain({"source", "path", "train_file"}, "source ts needs a file: path, or train_file");
  if (settings.missing == MissingPolicy::kDrop || settings.missing == MissingPolicy::kMean)
    checker.complain({"missing", "source"}, "a series has no rows to drop and no columns: use error, previous or zero");
  refuse_unit_normalization(settings, checker);
}

DataShape least_ts_shape(const DataSettings&) { return {Task::kClassification, 1, 1, 1, false}; }

}  // namespace

const SourceInfo& ts_source() {
  static const SourceInfo info = {
      .description = "series with a class or a number each, in a .ts file of the UEA archive",
      .tasks = {Task::kClassification, Task::kRegression},
      .keys = {"path", "valid_fraction", "test_fraction", "split", "stratify", "seed", "normalize", "train_file",
               "valid_file", "num_test", "test_file", "missing", "folds", "fold"},
      .check = check_ts,
      .least_shape = least_ts_shape,
      .load = load_ts,
      .load_part = load_ts_part,
      .inspect_file = inspect_ts_file,
  };
  return info;
}

}  // namespace rnnlab
