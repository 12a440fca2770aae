// Loads mnist, idx and npy: a file of inputs, a file of targets, and optionally a file of lengths.
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/numbers.h"
#include "data/array_samples.h"
#include "data/find_data.h"
#include "data/readers/array.h"
#include "data/source.h"
#include "data/split.h"

namespace rnnlab {
namespace {

using Path = std::filesystem::path;
using Reader = Array (*)(const Path&);

struct PartFiles {
  Path inputs;
  Path targets;  // empty: no targets
  Path lengths;  // empty: every sequence is whole
};

struct Part {
  Samples samples;
  Task task = Task::kClassification;
  ElementType input_type = ElementType::kU8;
};

void add_lengths(Samples& samples, const PartFiles& files, Reader read) {
  if (files.lengths.empty()) return;
  samples.lengths = lengths_from(read(files.lengths), files.lengths);
  require_equal_counts(samples.size(), files.inputs, samples.lengths.size(0), files.lengths);
  require_lengths(samples.lengths, samples.inputs.size(1), files.lengths);
}

void add_targets(Part& part, const PartFiles& files, Reader read, TaskChoice choice) {
  if (files.targets.empty()) return;
  const Array targets = read(files.targets);
  part.task = task_for(targets, choice);
  part.samples.targets = part.task == Task::kClassification ? classes_from(targets, files.targets)
                                                            : values_from(targets, part.task, files.targets);
}

Part read_part(const PartFiles& files, Reader read, TaskChoice choice) {
  Part part;
  add_targets(part, files, read, choice);
  const Array inputs = read(files.inputs);
  part.input_type = inputs.type;
  if (part.samples.targets.defined())
    require_equal_counts(inputs.shape[0], files.inputs, part.samples.targets.size(0), files.targets);
  part.samples.inputs = inputs_from(inputs, files.inputs);
  add_lengths(part.samples, files, read);
  return part;
}

TaskChoice as_choice(Task task) {
  if (task == Task::kClassification) return TaskChoice::kClassification;
  return task == Task::kBinary ? TaskChoice::kBinary : TaskChoice::kRegression;
}

// Training and validation must have equal shapes.
void require_same_shape(const Samples& train, const PartFiles& train_files, const Samples& valid,
                        const PartFiles& valid_files) {
  if (train.inputs.sizes().slice(1) != valid.inputs.sizes().slice(1)) {
    throw_error(ExitCode::kData, "{} has {} x {}, but {} has {} x {}: both parts must have the same sizes",
                train_files.inputs.string(), counted(train.inputs.size(1), "step"),
                counted(train.inputs.size(2), "feature"), valid_files.inputs.string(), valid.inputs.size(1),
                valid.inputs.size(2));
  }
  if (train.targets.sizes().slice(1) != valid.targets.sizes().slice(1)) {
    throw_error(ExitCode::kData, "{} has {} a sample, but {} has {}: both parts must have the same sizes",
                train_files.targets.string(), counted(train.targets.size(1), "target"), valid_files.targets.string(),
                valid.targets.size(1));
  }
}

DataShape shape_of(const Part& train, std::optional<int64_t> num_classes) {
  DataShape shape;
  shape.task = train.task;
  shape.sequence_length = train.samples.inputs.size(1);
  shape.input_size = train.samples.inputs.size(2);
  shape.has_lengths = train.samples.lengths.defined();
  shape.num_outputs = train.task != Task::kClassification
                          ? train.samples.targets.size(1)
                          : num_classes.value_or(std::max<int64_t>(2, train.samples.targets.max().item<int64_t>() + 1));
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

void check_classes(const Loaded& loaded, const Samples& samples, const PartFiles& files) {
  if (loaded.dataset.shape.task != Task::kClassification) return;
  require_classes(samples.targets, loaded.dataset.shape.num_outputs, files.targets);
}

void split_one(Dataset& dataset, const Samples& samples, const DataSettings& settings, const std::string& origin) {
  const RowSplit rows = split_rows(
      samples.size(), {resolved_split(settings), settings.num_valid, settings.valid_fraction, settings.seed}, origin);
  dataset.train = take(samples, rows.train);
  dataset.valid = take(samples, rows.valid);
}

Loaded load(const PartFiles& train_files, const std::optional<PartFiles>& valid_files, Reader read,
            const DataSettings& settings, const Origin& origin) {
  Loaded loaded;
  loaded.origin = origin;
  const Part train = read_part(train_files, read, settings.task);
  loaded.dataset.shape = shape_of(train, settings.num_classes);
  loaded.normalize = resolve(settings, train.input_type, train_files.inputs);
  check_classes(loaded, train.samples, train_files);
  if (!valid_files) {
    split_one(loaded.dataset, train.samples, settings, origin.text());
    return loaded;
  }
  Part valid = read_part(*valid_files, read, as_choice(train.task));
  require_same_shape(train.samples, train_files, valid.samples, *valid_files);
  resolve(settings, valid.input_type, valid_files->inputs);
  check_classes(loaded, valid.samples, *valid_files);
  loaded.dataset.train = train.samples;
  loaded.dataset.valid = valid.samples;
  return loaded;
}

// Returns a file of MNIST in the folder of the file that was found.
Path beside(const Path& found, const std::string& name) {
  const Path plain = found.parent_path() / name;
  Path packed = plain;
  packed += ".gz";
  std::error_code ignored;
  if (std::filesystem::exists(plain, ignored)) return plain;
  if (std::filesystem::exists(packed, ignored)) return packed;
  throw_error(
      ExitCode::kData,
      "{} exists, but {} (with or without .gz) is missing in its folder: run `data/fetch mnist` to get all four",
      found.string(), name);
}

Path find_array(const DataSettings& settings, const std::string& name) {
  if (name.empty()) return {};
  return find_data({settings.path, name, "",
                    "The file is searched in data.path if that is set, otherwise in $RNNLAB_DATA and data/."});
}

PartFiles training_files(const DataSettings& settings) {
  return {find_array(settings, settings.train_inputs), find_array(settings, settings.train_targets),
          find_array(settings, settings.train_lengths)};
}

Reader reader_of(const DataSettings& settings) { return settings.source == Source::kIdx ? read_idx : read_npy; }

Origin origin_of(const DataSettings& settings, const PartFiles& files) {
  return {std::string(config::name_of(settings.source)), files.inputs};
}

}  // namespace

Loaded load_mnist(const DataSettings& settings) {
  const Path images = find_data({settings.path, "train-images-idx3-ubyte", "mnist",
                                 "Run `data/fetch mnist` to get it, or set data.path or $RNNLAB_DATA to its folder."});
  const PartFiles train{images, beside(images, "train-labels-idx1-ubyte"), {}};
  const PartFiles valid{beside(images, "t10k-images-idx3-ubyte"), beside(images, "t10k-labels-idx1-ubyte"), {}};
  DataSettings ten_classes = settings;
  ten_classes.num_classes = 10;
  ten_classes.task = TaskChoice::kClassification;
  return load(train, valid, read_idx, ten_classes, {"mnist", images.parent_path()});
}

Loaded load_arrays(const DataSettings& settings) {
  const PartFiles train = training_files(settings);
  std::optional<PartFiles> valid;
  if (!settings.valid_inputs.empty()) {
    valid = {find_array(settings, settings.valid_inputs), find_array(settings, settings.valid_targets),
             find_array(settings, settings.valid_lengths)};
  }
  return load(train, valid, reader_of(settings), settings, origin_of(settings, train));
}

LoadedPart load_all_arrays(const DataSettings& settings, const FittedData& fitted, Targets targets) {
  const PartFiles files = training_files(settings);
  if (files.targets.empty() && targets == Targets::kRequired)
    throw_error(ExitCode::kUsage, "{}: these samples have no targets: name their file in data.train_targets",
                files.inputs.string());
  const Part all = read_part(files, reader_of(settings), settings.task);
  if (all.samples.targets.defined() && fitted.shape.task == Task::kClassification)
    require_classes(all.samples.targets, fitted.shape.num_outputs, files.targets);
  return {.samples = all.samples,
          .origin = origin_of(settings, files),
          .normalize = resolve(settings, all.input_type, files.inputs)};
}

}  // namespace rnnlab
