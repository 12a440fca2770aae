// SPDX-License-Identifier: Apache-2.0
#include "data/load_dataset.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/folder.h"
#include "base/numbers.h"
#include "base/text.h"
#include "data/find_data.h"
#include "data/input_memory.h"
#include "data/normalize.h"
#include "data/readers/rows.h"

namespace rnnlab {
namespace {

// The values that `auto` had in training are used, even if `auto` would have different values for these data.
DataSettings as_trained(DataSettings settings, const FittedData& fitted) {
  settings.normalize = fitted.normalization;
  if (!reads_key(settings.source, "task")) return settings;
  settings.task = choice_of(fitted.shape.task);
  if (reads_key(settings.source, "target_per"))
    settings.target_per = fitted.shape.target_per_step ? TargetPer::kStep : TargetPer::kSequence;
  if (reads_key(settings.source, "num_classes") && fitted.shape.task == Task::kClassification)
    settings.num_classes = fitted.shape.num_outputs;
  return settings;
}

// The keys that make a test part, of those that the source reads.
std::string test_keys(const DataSettings& settings) {
  return reads_key(settings.source, "test_inputs") ? "data.num_test, data.test_fraction or data.test_inputs"
                                                   : "data.num_test, data.test_fraction or data.test_file";
}

void require_test_part(const DataSettings& settings) {
  if (has_test_part(settings)) return;
  if (!reads_key(settings.source, "num_test"))
    throw_error(ExitCode::kUsage, "data.source: {} has no test part; use part train or valid",
                config::name_of(settings.source));
  throw_error(ExitCode::kUsage, "there is no test part, because the model was trained without one; set {} for training",
              test_keys(settings));
}

// Files of the test part are read as a whole, in place of those of training.
DataSettings with_test_files(DataSettings settings) {
  settings.train_file = std::exchange(settings.test_file, "");
  settings.train_inputs = std::exchange(settings.test_inputs, "");
  settings.train_targets = std::exchange(settings.test_targets, "");
  settings.train_lengths = std::exchange(settings.test_lengths, "");
  return settings;
}

void require_test_targets(const DataSettings& settings) {
  if (settings.test_inputs.empty() || !settings.test_targets.empty()) return;
  throw_error(ExitCode::kUsage, "{}: these samples have no targets: name their file in data.test_targets",
              settings.test_inputs);
}

LoadedPart load_part(const DataSettings& settings, const FittedData& fitted, DataPart part, Targets targets) {
  const SourceInfo& source = info_of(settings.source);
  if (part == DataPart::kTest) require_test_part(settings);
  if (part == DataPart::kTest && has_test_files(settings)) {
    if (targets == Targets::kRequired) require_test_targets(settings);
    return source.load_part(with_test_files(settings), fitted, DataPart::kAll, targets);
  }
  if (source.load_part != nullptr) return source.load_part(settings, fitted, part, targets);
  if (part == DataPart::kAll)
    throw_error(ExitCode::kUsage, "data.source: {} has separate training and validation parts; use part train or valid",
                config::name_of(settings.source));
  return part_of(source.load(settings), part);
}

// Returns how many of the first samples are taken. The loader has refused a count that is too large even with the
// windows that data.missing: drop or data.gaps: split leave out.
std::optional<int64_t> count_to_take(const Samples& samples, std::optional<int64_t> count,
                                     const DataSettings& settings) {
  const bool has_left_out =
      settings.window > 0 && (settings.missing == MissingPolicy::kDrop || settings.gaps == Gaps::kSplit);
  return count && has_left_out ? std::min(*count, samples.size()) : count;
}

// A number that counts each series was obeyed when the series were split.
Samples first_samples_of(const Samples& samples, const DataSettings& settings, DataPart part,
                         const std::string& origin) {
  if (part == DataPart::kTrain)
    return take_first(samples, count_to_take(samples, settings.num_train, settings), "num_train", origin);
  if (part == DataPart::kValid && !counts_each_series(settings))
    return take_first(samples, count_to_take(samples, settings.num_valid, settings), "num_valid", origin);
  return samples;
}

// ---- missing targets ----

// Returns the samples that have a target, as numbers of samples.
std::vector<int64_t> samples_with_targets(const at::Tensor& counts) {
  const at::Tensor rows = counts.nonzero().squeeze(1).contiguous();
  const int64_t* first = rows.const_data_ptr<int64_t>();
  return {first, first + rows.numel()};
}

void keep(const std::vector<int64_t>& samples, std::vector<NaiveForecast>& forecasts) {
  const at::Tensor rows = at::tensor(samples, at::kLong);
  for (NaiveForecast& forecast : forecasts) forecast.values = forecast.values.index_select(0, rows);
}

// Leaves out the samples that have no target at all, so that each sample of a batch counts. Returns a note on all
// missing targets of the part, if there are any.
std::optional<std::string> leave_out_missing_targets(Samples& samples, std::vector<NaiveForecast>& forecasts,
                                                     DataPart part, const std::string& origin) {
  const at::Tensor counts = samples.size() == 0 ? at::Tensor() : target_counts(samples);
  if (!counts.defined()) return std::nullopt;
  const int64_t num_known = counts.sum().item<int64_t>(), num_all = target_rows(samples).numel();
  if (num_known == 0)
    throw_error(ExitCode::kData, "{}: all {} of its {}samples are missing; use a part or a file that has targets",
                origin, counted(num_all, "target"), part_name(part));
  const std::vector<int64_t> kept = samples_with_targets(counts);
  const int64_t num_left_out = samples.size() - std::ssize(kept);
  if (num_left_out > 0) samples = take(samples, kept);
  if (num_left_out > 0) keep(kept, forecasts);
  return fmt::format(
      "{} of {} {}targets {} missing: losses, metrics and baselines leave them out{}",
      format_count(num_all - num_known), format_count(num_all), part_name(part),
      num_all - num_known == 1 ? "is" : "are",
      num_left_out == 0 ? "" : fmt::format(", and {} without a target", counted(num_left_out, "sample")));
}

// An output that no target belongs to would never be trained.
void require_target_for_each_output(const Dataset& dataset, const std::string& origin) {
  if (!dataset.train.targets.is_floating_point()) return;
  const at::Tensor are_there = are_known(target_rows(dataset.train)).any(0);
  if (are_there.all().item<bool>()) return;
  const int64_t first = are_there.logical_not().to(at::kByte).argmax().item<int64_t>();
  const auto at = static_cast<size_t>(first);
  throw_error(ExitCode::kData, "{}: target {} has no value in the training part; remove it", origin,
              at < dataset.target_scales.size() && !dataset.target_scales[at].name.empty()
                  ? in_quotes(dataset.target_scales[at].name)
                  : fmt::format("{} (counted from 0)", first));
}

void require_samples(const LoadedPart& loaded, const DataSettings& settings, DataPart part) {
  if (loaded.samples.size() > 0) return;
  const bool are_none_kept = part == DataPart::kValid && settings.num_valid == 0;
  throw_error(ExitCode::kData, "{}: there are no {}samples to use{}", loaded.origin.text(), part_name(part),
              are_none_kept ? ": data.num_valid is 0; use --part all" : "");
}

// Another file may hold numbers although training had classes, or more classes than training.
void require_fitting_targets(const LoadedPart& loaded, const DataShape& shape) {
  const at::Tensor& targets = loaded.samples.targets;
  if (!targets.defined()) return;
  const bool are_classes = targets.scalar_type() == at::kLong;
  if (are_classes != (shape.task == Task::kClassification))
    throw_error(ExitCode::kData,
                "{}: the targets are {}, but the model was trained on {}; use data like those of training",
                loaded.origin.text(), are_classes ? "classes" : "numbers", are_classes ? "numbers" : "classes");
  if (are_classes && targets.numel() > 0 && targets.max().item<int64_t>() >= shape.num_outputs)
    throw_error(ExitCode::kData,
                "{}: a sample has class {}, but the model was trained on {}, 0 to {}; use data like those of training",
                loaded.origin.text(), targets.max().item<int64_t>(), counted(shape.num_outputs, "class"),
                shape.num_outputs - 1);
  if (!are_classes && targets.size(-1) != shape.num_outputs)
    throw_error(ExitCode::kData,
                "{}: got {} a sample, but the model was trained on {}; use data like those of training",
                loaded.origin.text(), counted(targets.size(-1), "target"), shape.num_outputs);
}

// The number of steps may differ.
void require_fit(const LoadedPart& loaded, const DataShape& shape) {
  if (shape.task == Task::kLanguageModel) return;
  const int64_t num_features = loaded.samples.num_features();
  if (num_features != shape.input_size)
    throw_error(ExitCode::kData, "{}: got {} a step, but the model was trained on {}; use data like those of training",
                loaded.origin.text(), counted(num_features, "feature"), shape.input_size);
  require_fitting_targets(loaded, shape);
}

std::vector<Scaling> scalings_of(const std::vector<ColumnScale>& columns) {
  std::vector<Scaling> scalings;
  for (const ColumnScale& column : columns) scalings.push_back({column.offset, column.scale});
  return scalings;
}

// A user who wants a prediction for each row of a file needs this note.
bool is_part_of_a_file(const DataSettings& settings, DataPart part) {
  if (info_of(settings.source).load_part == nullptr || part == DataPart::kAll) return false;
  if (part == DataPart::kTest) return !has_test_files(settings);
  if (part == DataPart::kTrain && splits_off_test_part(settings)) return true;
  return !has_valid_files(settings) && (part == DataPart::kValid || settings.num_valid != 0);
}

std::string part_note(const DataSettings& settings, DataPart part) {
  const bool is_random = resolved_split(settings) == Split::kRandom;
  return fmt::format("these are only the {}samples{}; use --part all for the whole file, in its order", part_name(part),
                     is_random ? ", in the order of their random split" : "");
}

std::string description_of(const LoadedPart& loaded, DataPart part, const DataShape& shape) {
  const std::string steps = shape.target_per_step ? " with " + counted(loaded.samples.num_steps(), "step") : "";
  return fmt::format("{}: {}{}", loaded.origin.shared_text(),
                     counted(loaded.samples.size(), part_name(part) + "sample"), steps);
}

// data.num_train and data.num_valid may have removed the last samples.
void cut_to(int64_t num_samples, std::vector<NaiveForecast>& forecasts) {
  for (NaiveForecast& forecast : forecasts) forecast.values = forecast.values.narrow(0, 0, num_samples);
}

void keep_rows_of(const Samples& samples, bool is_per_step, FileRows& rows) {
  const int64_t num_predictions = is_per_step ? samples.num_steps() : samples.size();
  std::erase_if(rows.rows, [&](const FileRow& row) { return row.sample.value_or(-1) >= num_predictions; });
}

// Returns the number of a sample in its file, from 0.
int64_t file_sample(const LoadedPart& loaded, int64_t sample) {
  return loaded.file_samples.empty() ? sample : loaded.file_samples[static_cast<size_t>(sample)];
}

// Names the sample, and the step if each has a prediction. For sources that have no rows. If the samples are a whole
// file, the number of a prediction is that of its sample.
void name_samples(LoadedPart& loaded, bool is_per_step) {
  if (!loaded.rows.rows.empty() || (!is_per_step && loaded.file_samples.empty())) return;
  FileRows rows{.id_names = {"sample"}, .rows = {}, .are_numbered = false};
  if (is_per_step) rows.id_names.emplace_back("step");
  for (int64_t sample = 0; sample < loaded.samples.size(); ++sample) {
    const int64_t num_predictions = is_per_step ? loaded.samples.length(sample) : 1;
    for (int64_t step = 0; step < num_predictions; ++step) {
      FileRow& row = rows.rows.emplace_back(
          FileRow{.number = 0, .id = {std::to_string(file_sample(loaded, sample))}, .sample = {}, .reason = ""});
      if (is_per_step) row.id.push_back(std::to_string(step));
      row.sample = std::ssize(rows.rows) - 1;
    }
  }
  loaded.rows = std::move(rows);
}

// Training finds NaN and Inf when it computes the fingerprint.
void check_mapped_inputs(const Samples& samples) {
  if (samples.mapped) visit_inputs(samples, [](int64_t, std::span<const float>) {});
}

}  // namespace

std::string part_name(DataPart part) {
  if (part == DataPart::kTrain) return "training ";
  if (part == DataPart::kTest) return "test ";
  return part == DataPart::kValid ? "validation " : "";
}

InferenceData load_for_inference(const DataSettings& settings, const FittedData& fitted, DataPart part,
                                 Targets targets) {
  const DataSettings wanted = as_trained(settings, fitted);
  LoadedPart loaded = load_part(wanted, fitted, part, targets);
  require_fit(loaded, fitted.shape);
  require_samples(loaded, wanted, part);
  loaded.samples = first_samples_of(loaded.samples, wanted, part, loaded.origin.text());
  normalize_as(loaded.samples, loaded.normalize, scalings_of(fitted.feature_scales),
               wanted.byte_maximum.value_or(kLargestByte));
  check_mapped_inputs(loaded.samples);
  cut_to(loaded.samples.size(), loaded.naive_forecasts);
  if (targets == Targets::kRequired)
    if (const auto note = leave_out_missing_targets(loaded.samples, loaded.naive_forecasts, part, loaded.origin.text()))
      loaded.notes.push_back(*note);
  const bool is_for_predicting = targets == Targets::kIfPresent;
  if (is_for_predicting && is_part_of_a_file(wanted, part)) loaded.notes.push_back(part_note(wanted, part));
  const bool is_per_step = fitted.shape.target_per_step;
  keep_rows_of(loaded.samples, is_per_step, loaded.rows);
  if (is_for_predicting) name_samples(loaded, is_per_step);
  return {loaded.samples,         description_of(loaded, part, fitted.shape), std::move(loaded.notes),
          std::move(loaded.rows), std::move(loaded.naive_forecasts),          std::move(loaded.naive_errors)};
}

namespace {

std::string outputs_text(const DataShape& shape) {
  switch (shape.task) {
    case Task::kClassification:
      return counted(shape.num_outputs, "class");
    case Task::kBinary:
      return counted(shape.num_outputs, "binary target");
    case Task::kRegression:
      return counted(shape.num_outputs, "target");
    case Task::kLanguageModel:
      return fmt::format("vocabulary {}", shape.num_outputs);
  }
  fail_invariant("a listed task", __FILE__, __LINE__, "outputs_text does not know the task");
}

// Tables have already stored their scaling, column by column.
void keep_scaling(Dataset& dataset, Normalization how, const std::vector<Scaling>& features) {
  dataset.normalization = how;
  for (const Scaling& feature : features) dataset.feature_scales.push_back({"", feature.offset, feature.scale});
}

std::string describe(const std::string& origin, const Dataset& dataset) {
  const DataShape& shape = dataset.shape;
  const std::string steps = shape.task == Task::kLanguageModel
                                ? counted(shape.sequence_length, "token")
                                : counted(shape.sequence_length, "step") + " x " + counted(shape.input_size, "feature");
  return fmt::format("{}: {} training and {} validation samples of {}, {}{}{}", origin,
                     format_count(dataset.train.size()), format_count(dataset.valid.size()), steps, outputs_text(shape),
                     shape.target_per_step ? " for each step" : "", shape.has_lengths ? ", variable lengths" : "");
}

}  // namespace

namespace {

// Training reads no test sample, so only their number or their file is known.
std::string test_note(const DataSettings& settings) {
  constexpr const char* kReader = "only --part test of evaluate and predict reads them";
  if (!settings.test_file.empty()) return fmt::format("test samples are in {}; {}", settings.test_file, kReader);
  if (!settings.test_inputs.empty()) return fmt::format("test samples are in {}; {}", settings.test_inputs, kReader);
  const bool is_random = resolved_split(settings) == Split::kRandom;
  const std::string file = counts_each_series(settings) ? "each series" : "the training file";
  if (settings.num_test == 0)
    return fmt::format("{} of the samples of {}, {}, are the test part; {}", format_shortest(settings.test_fraction),
                       file, is_random ? "random ones" : "the last ones", kReader);
  return fmt::format(
      "{} of {} are the test part; {}",
      is_random ? counted(settings.num_test, "random sample") : "the last " + counted(settings.num_test, "sample"),
      file, kReader);
}

// ---- classes of the parts ----

// Counts the known classes of samples, those of a binary target as 0 and 1.
ClassCounts class_counts(std::string part, const Samples& samples, Task task, int64_t num_classes) {
  at::Tensor classes = task == Task::kClassification ? known_classes(samples) : target_rows(samples);
  if (task == Task::kBinary) classes = classes.masked_select(are_known(classes)).ge(0.5).to(at::kLong);
  classes = classes.contiguous();
  const std::span all(classes.const_data_ptr<int64_t>(), static_cast<size_t>(classes.numel()));
  return count_classes(std::move(part), all, num_classes);
}

// Tells how many samples of each class a random split gave to each part, and which part lacks a class.
void add_notes_on_classes(Dataset& dataset, const std::vector<int64_t>& test_classes, const DataSettings& settings) {
  const DataShape& shape = dataset.shape;
  const bool is_binary = shape.task == Task::kBinary && shape.num_outputs == 1;
  if (is_generated(settings) || (shape.task != Task::kClassification && !is_binary)) return;
  const int64_t num_classes = is_binary ? 2 : shape.num_outputs;
  std::vector<ClassCounts> parts = {class_counts("training", dataset.train, shape.task, num_classes)};
  if (dataset.valid.size() > 0) parts.push_back(class_counts("validation", dataset.valid, shape.task, num_classes));
  if (!test_classes.empty()) parts.push_back(count_classes("test", test_classes, num_classes));
  const std::vector<std::string>& names = is_binary ? std::vector<std::string>() : dataset.vocabulary;
  const bool is_random = reads_key(settings.source, "stratify") && split_request(settings).how == Split::kRandom;
  if (is_random && parts.size() > 1 && !shape.target_per_step) dataset.notes.push_back(text_of(parts, names));
  for (std::string& note : notes_on_lacking_classes(parts, names)) dataset.notes.push_back(std::move(note));
}

}  // namespace

namespace {

// Not a rule of the settings, because a trained model may be used with another file for validation.
void refuse_needless_stratify(const DataSettings& settings) {
  if (!settings.stratify || !reads_key(settings.source, "stratify")) return;
  if (split_request(settings).how == Split::kOrdered)
    throw_error(ExitCode::kUsage,
                "data.stratify: validation has a file of its own, so no sample is drawn: remove stratify");
}

}  // namespace

void split_samples(Loaded& loaded, const Samples& all, const std::optional<Samples>& valid,
                   const std::vector<int64_t>& classes, const DataSettings& settings, const std::string& file) {
  const bool is_whole = valid && !splits_off_test_part(settings);  // large samples must not be copied
  if (!is_whole) loaded.split = split_rows(all.size(), split_request(settings), file, classes);
  loaded.test_classes = at_rows(classes, loaded.split.test);
  loaded.dataset.train = is_whole ? all : take(all, loaded.split.train);
  loaded.dataset.valid = valid ? *valid : take(all, loaded.split.valid);
}

std::vector<int64_t> samples_of_part(DataPart part, int64_t num_all, const std::vector<int64_t>& classes,
                                     const DataSettings& settings, const std::string& file) {
  const bool is_whole = part == DataPart::kAll || (part == DataPart::kValid && has_valid_files(settings));
  if (is_whole) return first_rows(num_all);
  RowSplit split = split_rows(num_all, split_request(settings), file, classes);
  return part == DataPart::kTrain ? split.train : part == DataPart::kValid ? split.valid : split.test;
}

Dataset load_dataset(const DataSettings& settings) {
  refuse_needless_stratify(settings);
  const SourceInfo& source = info_of(settings.source);
  Loaded loaded = source.load(settings);
  Dataset& dataset = loaded.dataset;
  dataset.train = first_samples_of(dataset.train, settings, DataPart::kTrain, loaded.origin.text());
  dataset.valid = first_samples_of(dataset.valid, settings, DataPart::kValid, loaded.origin.text());
  cut_to(dataset.valid.size(), dataset.naive_forecasts);
  std::vector<NaiveForecast> none;  // of the training part
  for (const auto& note :
       {leave_out_missing_targets(dataset.train, none, DataPart::kTrain, loaded.origin.text()),
        leave_out_missing_targets(dataset.valid, dataset.naive_forecasts, DataPart::kValid, loaded.origin.text())})
    if (note) dataset.notes.push_back(*note);
  require_target_for_each_output(dataset, loaded.origin.text());
  const Normalized scaling =
      normalize(dataset.train, dataset.valid, loaded.normalize, settings.byte_maximum.value_or(kLargestByte));
  if (!scaling.note.empty()) dataset.notes.push_back(scaling.note);
  add_notes_on_classes(dataset, loaded.test_classes, settings);
  if (settings.folds) dataset.notes.push_back(fmt::format("this is fold {} of {}", *settings.fold, *settings.folds));
  if (has_test_part(settings)) dataset.notes.push_back(test_note(settings));
  if (source.form != DataForm::kTable) keep_scaling(dataset, loaded.normalize, scaling.features);
  dataset.description = describe(loaded.origin.text(), dataset);
  dataset.fingerprint = fingerprint(dataset.train, dataset.valid);
  return std::move(dataset);
}

namespace {

bool is_usable(const ColumnScale& scale) {
  return std::isfinite(scale.offset) && std::isfinite(scale.scale) && scale.scale != 0;
}

bool is_size(int64_t size) { return size >= 1 && size <= std::numeric_limits<int32_t>::max(); }

// Checks one size after another; a message contains both sizes that disagree.
std::string fault_of_sizes(const FittedData& data) {
  const DataShape& shape = data.shape;
  if (!is_size(shape.input_size) || !is_size(shape.sequence_length) || !is_size(shape.num_outputs))
    return fmt::format("{} steps of {} features and {} outputs", shape.sequence_length, shape.input_size,
                       shape.num_outputs);
  const auto num_names = std::ssize(data.vocabulary);
  if (num_names > 0 && num_names != shape.num_outputs)
    return fmt::format("{} names of {} outputs", num_names, shape.num_outputs);
  const auto num_targets = std::ssize(data.target_scales);
  if (num_targets > 0 && num_targets != shape.num_outputs)
    return fmt::format("{} scales of {} targets", num_targets, shape.num_outputs);
  return "";
}

std::string fault_of_numbers(const FittedData& data) {
  if (!std::ranges::all_of(data.target_scales, is_usable) || !std::ranges::all_of(data.feature_scales, is_usable))
    return "a scale that is zero or not finite";
  for (const SeriesScales& one : data.series_scales)
    if (!std::ranges::all_of(one.targets, is_usable) || !std::ranges::all_of(one.features, is_usable))
      return "a scale of a series that is zero or not finite";
  const auto is_finite = [](const auto& mean) { return std::isfinite(mean.second); };
  return std::ranges::all_of(data.column_means, is_finite) ? "" : "a mean that is not finite";
}

// The features of such sources are scaled in the same way in all samples.
std::string fault_of_features(const FittedData& data) {
  const auto num_scales = std::ssize(data.feature_scales);
  const int64_t expected = is_fitted(data.normalization) ? data.shape.input_size : 0;
  if (num_scales == expected) return "";
  return fmt::format("{} for {}", counted(num_scales, "scale"), counted(data.shape.input_size, "feature"));
}

std::string fault_of_source(const FittedData& data, const DataSettings& settings) {
  if (!gives_task(settings.source, data.shape.task))
    return fmt::format("a task {} of source {}", config::name_of(data.shape.task), config::name_of(settings.source));
  const auto fault = info_of(settings.source).fault;
  return fault == nullptr ? fault_of_features(data) : fault(data, settings);
}

}  // namespace

std::string fault_of(const FittedData& data, const DataSettings& settings) {
  for (const std::string& fault : {fault_of_sizes(data), fault_of_numbers(data), fault_of_source(data, settings)})
    if (!fault.empty()) return fault;
  return "";
}

namespace {

// Mapped inputs are not in memory. Those of the test part are loaded without the others.
DataSettings without_mapped_inputs(DataSettings settings) {
  const InputMemoryChoice training = choose_input_memory(settings, inputs_of_training(settings));
  const InputMemoryChoice test = choose_input_memory(settings, {settings.test_inputs});
  for (std::string* file : {&settings.train_inputs, &settings.valid_inputs})
    if (training.memory_of(*file) == InputMemory::kMapped) file->clear();
  if (test.memory_of(settings.test_inputs) == InputMemory::kMapped) settings.test_inputs.clear();
  return settings;
}

int64_t largest_file_bytes(const DataSettings& settings) {
  int64_t largest = 0;
  for (const std::filesystem::path& file : data_files(without_mapped_inputs(settings)))
    largest = std::max(largest, num_bytes_of(file).value_or(0));
  return largest;
}

// Inputs are float32; targets are int64 classes or float32 numbers.
int64_t bytes_of_sample(const DataShape& shape) {
  const bool has_classes = shape.task == Task::kClassification;  // of whole sequences: generated data have no others
  const int64_t target =
      has_classes ? int64_t{sizeof(int64_t)} : saturating_multiply(shape.num_outputs, int64_t{sizeof(float)});
  const int64_t num_inputs = saturating_multiply(shape.sequence_length, shape.input_size);
  return saturating_add(saturating_multiply(num_inputs, sizeof(float)), target);
}

}  // namespace

bool is_generated(const DataSettings& settings) { return info_of(settings.source).generated.has_value(); }

GeneratedCounts generated_counts(const DataSettings& settings) {
  const std::optional<GeneratedCounts> usual = info_of(settings.source).generated;
  RNNLAB_INVARIANT(usual.has_value(), "only generated data have counts before they are loaded");
  return {settings.num_train.value_or(usual->train), settings.num_valid.value_or(usual->valid)};
}

DataShape least_shape(const DataSettings& settings) { return info_of(settings.source).least_shape(settings); }

int64_t least_data_bytes(const DataSettings& settings) {
  if (!is_generated(settings)) return largest_file_bytes(settings);
  const GeneratedCounts counts = generated_counts(settings);
  return saturating_multiply(saturating_add(counts.train, counts.valid), bytes_of_sample(least_shape(settings)));
}

bool mapping_saves_memory(const DataSettings& settings) {
  if (!can_map_inputs(settings)) return false;
  DataSettings mapped = settings;
  mapped.memory = InputMemory::kMapped;
  return least_data_bytes(mapped) < least_data_bytes(settings);
}

}  // namespace rnnlab
