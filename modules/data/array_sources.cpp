// SPDX-License-Identifier: Apache-2.0
// The sources mnist, idx and npy: a file of inputs, a file of targets, and optionally a file of lengths.
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/folder.h"
#include "base/numbers.h"
#include "data/array_samples.h"
#include "data/data_settings.h"
#include "data/dataset.h"
#include "data/find_data.h"
#include "data/input_memory.h"
#include "data/inspect.h"
#include "data/load_dataset.h"
#include "data/mapped_inputs.h"
#include "data/readers/array.h"
#include "data/source.h"

namespace rnnlab {
namespace {

using Path = std::filesystem::path;

constexpr std::string_view kTrainImages = "train-images-idx3-ubyte", kTrainLabels = "train-labels-idx1-ubyte",
                           kValidImages = "t10k-images-idx3-ubyte", kValidLabels = "t10k-labels-idx1-ubyte";

// Training and validation must have equal shapes.
void require_same_shape(const Samples& train, const ArrayFiles& train_files, const Samples& valid,
                        const ArrayFiles& valid_files) {
  if (train.sequence_length() != valid.sequence_length() || train.num_features() != valid.num_features()) {
    throw_error(ExitCode::kData, "{} has {} x {}, but {} has {} x {}: both parts must have the same sizes",
                train_files.inputs.string(), counted(train.sequence_length(), "step"),
                counted(train.num_features(), "feature"), valid_files.inputs.string(), valid.sequence_length(),
                valid.num_features());
  }
  if (train.targets.sizes().slice(1) != valid.targets.sizes().slice(1)) {
    throw_error(ExitCode::kData, "{} has {} a sample, but {} has {}: both parts must have the same sizes",
                train_files.targets.string(), counted(train.targets.size(1), "target"), valid_files.targets.string(),
                valid.targets.size(1));
  }
}

// Returns one more than the largest label. Refuses a label that would make more outputs than there are labels, because
// a network for it takes more memory than any machine has.
int64_t number_of_classes(const at::Tensor& labels, const std::string& origin) {
  constexpr int64_t kUsual = 10'000;
  const int64_t largest = labels.max().item<int64_t>();
  if (largest < std::max(kUsual, labels.numel())) return std::max<int64_t>(2, largest + 1);
  const int64_t at = labels.argmax().item<int64_t>();
  const int64_t num_steps = labels.dim() == 2 ? labels.size(1) : 1;
  throw_error(ExitCode::kData,
              "{}: sample {}{} (counted from 0) has class {}, but the file has {}: number the classes from 0, or set "
              "data.num_classes",
              origin, at / num_steps, labels.dim() == 2 ? fmt::format(", step {}", at % num_steps) : "", largest,
              counted(labels.numel(), "label"));
}

DataShape shape_of(const ArrayPart& train, std::optional<int64_t> num_classes, const std::string& targets_origin) {
  DataShape shape;
  shape.task = train.task;
  shape.sequence_length = train.samples.sequence_length();
  shape.input_size = train.samples.num_features();
  shape.has_lengths = train.samples.lengths.defined();
  shape.target_per_step = has_target_per_step(train.samples.targets);
  const at::Tensor& targets = train.samples.targets;
  shape.num_outputs = train.task != Task::kClassification ? targets.size(-1)
                      : num_classes                       ? *num_classes
                                                          : number_of_classes(targets, targets_origin);
  return shape;
}

Normalization resolve(const DataSettings& settings, ElementType type, const Path& inputs) {
  if (settings.normalize == Normalization::kAutomatic) {
    return type == ElementType::kU8 ? Normalization::kUnit : Normalization::kNone;
  }
  if (settings.normalize == Normalization::kUnit && type != ElementType::kU8) {
    throw_error(ExitCode::kData,
                "{}: data.normalize is 'unit', which divides bytes by 255, but the file holds {}: use "
                "standard, minmax or none",
                inputs.string(), element_name(type));
  }
  return settings.normalize;
}

// Returns the first sample with an input larger than this number.
std::optional<int64_t> first_larger(const Samples& samples, float number) {
  const auto is_larger = [number](std::span<const float> values) {
    return std::ranges::any_of(values, [number](float value) { return value > number; });
  };
  if (samples.mapped)
    return samples.mapped->find(samples.all_lengths(),
                                [&](int64_t, std::span<const float> values) { return is_larger(values); });
  const int64_t num_values = samples.sequence_length() * samples.num_features();
  for (int64_t n = 0; n < samples.size(); ++n)
    if (is_larger({samples.inputs.const_data_ptr<float>() + n * num_values, static_cast<size_t>(num_values)})) return n;
  return std::nullopt;
}

float largest_input(const Samples& samples) {
  float largest = 0;
  visit_inputs(samples,
               [&](int64_t, std::span<const float> values) { largest = std::max(largest, std::ranges::max(values)); });
  return largest;
}

bool fill_half_of_range(const ArrayPart& part) {
  constexpr float kHalf = 127;
  return first_larger(part.samples, kHalf).has_value();
}

// What data are read for. A trained model keeps the settings of its training.
enum class Use { kTraining, kTrainedModel };

// Bytes of images reach from 0 to 255. Other bytes, such as counts from 0 to 16, would become very small numbers.
void require_range_of_bytes(const ArrayPart& part, const DataSettings& settings, const Path& inputs, Use use) {
  if (part.input_type != ElementType::kU8) {
    if (settings.byte_maximum)
      throw_error(ExitCode::kData, "{}: the file holds {}, but data.byte_maximum is for bytes (u8): {}",
                  inputs.string(), element_name(part.input_type),
                  use == Use::kTraining ? "remove it" : "use data like those of training");
    return;
  }
  if (settings.byte_maximum) {
    const auto sample = first_larger(part.samples, static_cast<float>(*settings.byte_maximum));
    if (!sample) return;
    throw_error(ExitCode::kData, "{}: sample {} (counted from 0) has a byte larger than data.byte_maximum, {}: {}",
                inputs.string(), *sample, *settings.byte_maximum,
                use == Use::kTraining
                    ? fmt::format("use {}", largest_input(part.samples))
                    : fmt::format("the model was trained on bytes from 0 to {0}; use data like those of training",
                                  *settings.byte_maximum));
  }
  if (settings.normalize != Normalization::kAutomatic || fill_half_of_range(part)) return;
  const float largest = largest_input(part.samples);
  throw_error(ExitCode::kData,
              "{}: the bytes are from 0 to {}, but by default inputs of bytes are divided by 255: set "
              "data.byte_maximum: {} to divide them by that (255 to divide them by 255), or data.normalize: standard, "
              "minmax or "
              "none",
              inputs.string(), largest, std::max(largest, 1.0F));
}

// Other data than those of training may be darker, or have another range.
std::optional<std::string> note_on_range(const ArrayPart& part, const DataSettings& settings, const Path& inputs) {
  const bool is_divided = settings.normalize == Normalization::kAutomatic || settings.normalize == Normalization::kUnit;
  if (!is_divided || settings.byte_maximum || part.input_type != ElementType::kU8 || fill_half_of_range(part))
    return std::nullopt;
  return fmt::format("warning: {}: the bytes are from 0 to {}, and are divided by 255", inputs.filename().string(),
                     largest_input(part.samples));
}

void check_classes(const Loaded& loaded, const Samples& samples, const ArrayFiles& files, MissingTargets missing) {
  if (loaded.dataset.shape.task != Task::kClassification) return;
  require_classes(samples.targets, loaded.dataset.shape.num_outputs, files.targets, missing);
}

// Returns the class of each sample, of a binary target 0 or 1; empty if the targets have no classes.
std::vector<int64_t> classes_of(const Samples& samples, Task task) {
  const at::Tensor& targets = samples.targets;
  const bool is_binary = task == Task::kBinary && targets.defined() && targets.dim() == 2 && targets.size(1) == 1;
  if (!targets.defined() || (targets.dim() != 1 && !is_binary)) return {};
  std::vector<int64_t> classes;
  for (int64_t i = 0; i < targets.numel(); ++i)
    classes.push_back(is_binary ? class_of_binary(targets.const_data_ptr<float>()[i])
                                : targets.const_data_ptr<int64_t>()[i]);
  return classes;
}

Loaded load(const ArrayFiles& train_files, const std::optional<ArrayFiles>& valid_files, ArrayReader read,
            const DataSettings& settings, const Origin& origin, Use use) {
  Loaded loaded;
  loaded.origin = origin;
  const InputMemoryChoice inputs = choose_input_memory(settings, inputs_of_training(settings));
  loaded.dataset.notes = inputs.notes;
  const MissingTargets missing = missing_targets(settings, Targets::kRequired);
  const ArrayPart train = read_arrays(train_files, read, {settings.task, settings.target_per, missing},
                                      inputs.memory_of(settings.train_inputs));
  loaded.dataset.shape = shape_of(train, settings.num_classes, train_files.targets);
  loaded.normalize = resolve(settings, train.input_type, train_files.inputs);
  require_range_of_bytes(train, settings, train_files.inputs, use);
  check_classes(loaded, train.samples, train_files, missing);
  const std::vector<int64_t> classes = classes_of(train.samples, train.task);
  if (!valid_files) {
    split_samples(loaded, train.samples, std::nullopt, classes, settings, origin.text());
    return loaded;
  }
  const ArrayPart valid = read_arrays(*valid_files, read, {choice_of(train.task), settings.target_per, missing},
                                      inputs.memory_of(settings.valid_inputs));
  require_same_shape(train.samples, train_files, valid.samples, *valid_files);
  resolve(settings, valid.input_type, valid_files->inputs);
  if (settings.byte_maximum) require_range_of_bytes(valid, settings, valid_files->inputs, use);
  if (const auto note = note_on_range(valid, settings, valid_files->inputs)) loaded.dataset.notes.push_back(*note);
  check_classes(loaded, valid.samples, *valid_files, missing);
  split_samples(loaded, train.samples, valid.samples, classes, settings, origin.text());
  return loaded;
}

// Returns a file of MNIST in the folder of the file that was found.
Path sibling_file(const Path& found, std::string_view name) {
  Path plain = found.parent_path() / name;
  Path packed = plain;
  packed += ".gz";
  if (path_exists(plain)) return plain;
  if (path_exists(packed)) return packed;
  throw_error(ExitCode::kData,
              "{} exists, but {} (with or without .gz) is missing in its folder: run `data/fetch mnist` in the source "
              "folder of rnnlab to get all four",
              found.string(), name);
}

Path find_array(const DataSettings& settings, const std::string& name) {
  if (name.empty()) return {};
  return find_data({settings.path, name, "",
                    "The file is searched in data.path if that is set, otherwise in $RNNLAB_DATA and data/."});
}

ArrayFiles training_files(const DataSettings& settings) {
  return {find_array(settings, settings.train_inputs), find_array(settings, settings.train_targets),
          find_array(settings, settings.train_lengths)};
}

Origin origin_of(const DataSettings& settings, const ArrayFiles& files) {
  return {std::string(config::name_of(settings.source)), files.inputs};
}

Loaded load_mnist(const DataSettings& settings) {
  const Path images = find_data({settings.path, std::string(kTrainImages), "mnist",
                                 "Run `data/fetch mnist` in the source folder of rnnlab to get it, or set data.path or "
                                 "$RNNLAB_DATA to its folder."});
  const ArrayFiles train{images, sibling_file(images, kTrainLabels), {}};
  const ArrayFiles valid{sibling_file(images, kValidImages), sibling_file(images, kValidLabels), {}};
  DataSettings ten_classes = settings;
  ten_classes.num_classes = 10;
  ten_classes.task = TaskChoice::kClassification;
  return load(train, valid, read_idx, ten_classes, {"mnist", images.parent_path()}, Use::kTraining);
}

Loaded load_arrays(const DataSettings& settings, ArrayReader read, Use use) {
  const ArrayFiles train = training_files(settings);
  std::optional<ArrayFiles> valid;
  if (!settings.valid_inputs.empty()) {
    valid = {find_array(settings, settings.valid_inputs), find_array(settings, settings.valid_targets),
             find_array(settings, settings.valid_lengths)};
  }
  return load(train, valid, read, settings, origin_of(settings, train), use);
}

LoadedPart load_all_arrays(const DataSettings& settings, ArrayReader read, const FittedData& fitted, Targets targets) {
  const ArrayFiles files = training_files(settings);
  if (files.targets.empty() && targets == Targets::kRequired)
    throw_error(ExitCode::kUsage, "{}: these samples have no targets: name their file in data.train_targets",
                files.inputs.string());
  const InputMemoryChoice inputs = choose_input_memory(settings, {settings.train_inputs});
  const MissingTargets missing = missing_targets(settings, targets);
  const ArrayPart all =
      read_arrays(files, read, {settings.task, settings.target_per, missing}, inputs.memory_of(settings.train_inputs));
  if (all.samples.targets.defined() && fitted.shape.task == Task::kClassification)
    require_classes(all.samples.targets, fitted.shape.num_outputs, files.targets, missing);
  if (settings.byte_maximum) require_range_of_bytes(all, settings, files.inputs, Use::kTrainedModel);
  std::vector<std::string> notes = inputs.notes;
  if (const auto note = note_on_range(all, settings, files.inputs)) notes.push_back(*note);
  return {.samples = all.samples,
          .origin = origin_of(settings, files),
          .normalize = resolve(settings, all.input_type, files.inputs),
          .notes = std::move(notes)};
}

LoadedPart load_array_part(const DataSettings& settings, ArrayReader read, const FittedData& fitted, DataPart part,
                           Targets targets) {
  if (part == DataPart::kTrain || part == DataPart::kValid)
    return part_of(load_arrays(settings, read, Use::kTrainedModel), part);
  LoadedPart loaded = load_all_arrays(settings, read, fitted, targets);
  if (part == DataPart::kAll) return loaded;
  loaded.file_samples = samples_of_part(part, loaded.samples.size(), classes_of(loaded.samples, fitted.shape.task),
                                        settings, loaded.origin.text());
  loaded.samples = take(loaded.samples, loaded.file_samples);
  return loaded;
}

DataShape least_array_shape(const DataSettings& settings) {
  return {named_task(settings.task).value_or(Task::kClassification), 1, 1, 1, false, has_target_per_step(settings)};
}

// Targets may be missing, because predict needs none.
void check_test_arrays(const DataSettings& settings, config::Checker& checker) {
  if (settings.test_inputs.empty()) {
    if (!settings.test_targets.empty())
      checker.complain({"test_targets", "test_inputs"}, "targets need samples: name test_inputs too");
    if (!settings.test_lengths.empty())
      checker.complain({"test_lengths", "test_inputs"}, "lengths need samples: name test_inputs too");
    return;
  }
  if (settings.train_lengths.empty() != settings.test_lengths.empty())
    checker.complain({"train_lengths", "test_lengths"}, "only one of the two is set: name both files, or remove both");
}

// An array has neither rows before a sample nor columns, and inputs must be finite.
void check_missing(const DataSettings& settings, config::Checker& checker) {
  if (settings.missing != MissingPolicy::kError && settings.missing != MissingPolicy::kDrop)
    checker.complain({"missing", "source"}, "only targets of arrays may be missing: use error or drop");
}

void check_byte_maximum(const DataSettings& settings, config::Checker& checker) {
  if (settings.byte_maximum && settings.normalize != Normalization::kAutomatic &&
      settings.normalize != Normalization::kUnit)
    checker.complain({"byte_maximum", "normalize"}, "only normalize: unit divides bytes: remove one of the two");
}

void check_arrays(const DataSettings& settings, config::Checker& checker) {
  check_missing(settings, checker);
  const std::string source(config::name_of(settings.source));
  if (settings.train_inputs.empty() || settings.train_targets.empty()) {
    checker.complain(
        {"source", "train_inputs", "train_targets"},
        fmt::format("source {} reads its samples from train_inputs and train_targets: name both files", source));
  }
  if (settings.valid_inputs.empty() != settings.valid_targets.empty()) {
    checker.complain({"valid_inputs", "valid_targets"},
                     "only one of the two is set: name both files, or remove both to split the training files");
  }
  const bool files_for_both = !settings.valid_inputs.empty();
  if (files_for_both && settings.train_lengths.empty() != settings.valid_lengths.empty()) {
    checker.complain({"train_lengths", "valid_lengths"}, "only one of the two is set: name both files, or remove both");
  }
  if (!files_for_both && !settings.valid_lengths.empty()) {
    checker.complain({"valid_lengths", "valid_inputs"}, "lengths need samples: name valid_inputs too");
  }
  if (settings.memory == InputMemory::kMapped && settings.placement == Placement::kDevice)
    checker.complain({"memory", "placement"},
                     "mapped inputs stay on the host: use placement: auto or host, or memory: resident");
  check_byte_maximum(settings, checker);
  check_test_arrays(settings, checker);
}

// Returns the record of a source of files that `read` reads.
template <ArrayReader read>
SourceInfo info_of_arrays(std::string_view description) {
  return {.description = description,
          .tasks = {Task::kClassification, Task::kBinary, Task::kRegression},
          .keys = {"path",         "valid_fraction", "test_fraction", "split",        "stratify",      "seed",
                   "normalize",    "task",           "missing",       "train_inputs", "train_targets", "train_lengths",
                   "valid_inputs", "valid_targets",  "valid_lengths", "num_test",     "test_inputs",   "test_targets",
                   "test_lengths", "num_classes",    "target_per",    "byte_maximum", "folds",         "fold"},
          .check = check_arrays,
          .least_shape = least_array_shape,
          .load = [](const DataSettings& settings) { return load_arrays(settings, read, Use::kTraining); },
          .load_part = [](const DataSettings& settings, const FittedData& fitted, DataPart part,
                          Targets targets) { return load_array_part(settings, read, fitted, part, targets); }};
}

}  // namespace

const SourceInfo& mnist_source() {
  static const SourceInfo info = {
      .description = "the images of handwritten digits in the files of MNIST",
      .tasks = {Task::kClassification},
      .keys = {"path", "normalize", "byte_maximum"},
      .has_images = true,
      .files = {kTrainImages, kTrainLabels, kValidImages, kValidLabels},
      .check = check_byte_maximum,
      .least_shape = least_array_shape,
      .load = load_mnist,
  };
  return info;
}

const SourceInfo& idx_source() {
  static const SourceInfo info = [] {
    SourceInfo idx = info_of_arrays<read_idx>("arrays in IDX files");
    idx.has_images = true;
    idx.magic = std::string_view("\0\0", 2);
    idx.inspect_file = inspect_idx_file;
    return idx;
  }();
  return info;
}

const SourceInfo& npy_source() {
  static const SourceInfo info = [] {
    SourceInfo npy = info_of_arrays<read_npy>("arrays in npy files");
    npy.magic = "\x93NUMPY";
    npy.keys.emplace_back("memory");
    npy.inspect_file = inspect_npy_file;
    return npy;
  }();
  return info;
}

}  // namespace rnnlab
