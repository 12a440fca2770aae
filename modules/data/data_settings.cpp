#include "data/data_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/text.h"

namespace rnnlab {
namespace {

using config::Checker;
using enum Source;
using Schema = config::Schema<DataSettings>;

// A key that only some sources use.
struct Use {
  std::string key;
  std::vector<Source> sources;
  std::function<bool(const DataSettings&)> differs;  // whether the value differs from its default
};

template <class V>
Use use(std::string key, V DataSettings::*member, std::vector<Source> sources) {
  return {std::move(key), std::move(sources),
          [member](const DataSettings& settings) { return settings.*member != DataSettings{}.*member; }};
}

const std::vector<Use>& uses() {
  static const std::vector<Use> list = {
      use("path", &DataSettings::path, {kMnist, kIdx, kCsv, kText, kNpy}),
      use("valid_fraction", &DataSettings::valid_fraction, {kIdx, kCsv, kText, kNpy}),
      use("split", &DataSettings::split, {kIdx, kCsv, kText, kNpy}),
      use("seed", &DataSettings::seed, {kDigits, kIdx, kCsv, kText, kNpy, kSynthetic}),
      use("normalize", &DataSettings::normalize, {kDigits, kMnist, kIdx, kCsv, kNpy, kSynthetic}),
      use("task", &DataSettings::task, {kIdx, kCsv, kNpy}),
      use("train_inputs", &DataSettings::train_inputs, {kIdx, kNpy}),
      use("train_targets", &DataSettings::train_targets, {kIdx, kNpy}),
      use("train_lengths", &DataSettings::train_lengths, {kIdx, kNpy}),
      use("valid_inputs", &DataSettings::valid_inputs, {kIdx, kNpy}),
      use("valid_targets", &DataSettings::valid_targets, {kIdx, kNpy}),
      use("valid_lengths", &DataSettings::valid_lengths, {kIdx, kNpy}),
      use("train_file", &DataSettings::train_file, {kCsv, kText}),
      use("valid_file", &DataSettings::valid_file, {kCsv, kText}),
      use("delimiter", &DataSettings::delimiter, {kCsv}),
      use("header", &DataSettings::header, {kCsv}),
      use("features", &DataSettings::features, {kCsv}),
      use("target", &DataSettings::target, {kCsv}),
      use("id", &DataSettings::id, {kCsv}),
      use("missing", &DataSettings::missing, {kCsv}),
      use("window", &DataSettings::window, {kCsv}),
      use("horizon", &DataSettings::horizon, {kCsv}),
      use("tokens", &DataSettings::tokens, {kText}),
      use("sequence_length", &DataSettings::sequence_length, {kText, kSynthetic}),
      use("num_features", &DataSettings::num_features, {kSynthetic}),
      use("labels", &DataSettings::labels, {kSynthetic}),
      use("num_classes", &DataSettings::num_classes, {kIdx, kNpy, kSynthetic}),
  };
  return list;
}

std::string source_names(const std::vector<Source>& sources) {
  std::vector<std::string> names;
  for (const Source source : sources) names.emplace_back(config::name_of(source));
  return one_of(names);
}

void check_uses(const DataSettings& settings, Checker& checker) {
  for (const Use& use : uses()) {
    if (std::ranges::count(use.sources, settings.source) > 0 || !use.differs(settings)) continue;
    checker.complain({use.key, "source"}, fmt::format("{} is for source {}; {} does not use it: remove it", use.key,
                                                      source_names(use.sources), config::name_of(settings.source)));
  }
}

void check_arrays(const DataSettings& settings, Checker& checker) {
  if (settings.source != kIdx && settings.source != kNpy) return;
  const std::string source(config::name_of(settings.source));
  if (settings.train_inputs.empty() || settings.train_targets.empty()) {
    checker.complain(
        {"source", "train_inputs", "train_targets"},
        fmt::format("source {} reads its samples from train_inputs and train_targets: name both files", source));
  }
  if (settings.valid_inputs.empty() != settings.valid_targets.empty()) {
    checker.complain({"valid_inputs", "valid_targets"},
                     "one is set and the other is not: name both files, or none to split the training files");
  }
  const bool files_for_both = !settings.valid_inputs.empty();
  if (files_for_both && settings.train_lengths.empty() != settings.valid_lengths.empty()) {
    checker.complain({"train_lengths", "valid_lengths"}, "both parts have lengths or none: name both files or none");
  }
  if (!files_for_both && !settings.valid_lengths.empty()) {
    checker.complain({"valid_lengths", "valid_inputs"}, "lengths need samples: name valid_inputs too");
  }
}

void check_files(const DataSettings& settings, Checker& checker) {
  if (settings.source == kCsv && settings.path.empty() && settings.train_file.empty()) {
    checker.complain({"source", "path", "train_file"}, "source csv needs a file: path, or train_file");
  }
  if (!settings.valid_file.empty() && settings.train_file.empty()) {
    checker.complain({"valid_file", "train_file"}, "a file for validation needs one for training: name train_file too");
  }
}

void check_csv(const DataSettings& settings, Checker& checker) {
  if (settings.source != kCsv) return;
  if (settings.target.empty()) {
    checker.complain({"source", "target"}, "source csv needs target, the column to predict");
  }
  const bool classes =
      settings.task == TaskChoice::kClassification || (settings.task == TaskChoice::kAutomatic && settings.window == 0);
  if (classes && settings.target.size() > 1) {
    checker.complain({"target", "task", "window"},
                     "a classification has one target column; for several numbers use task: regression");
  }
  for (const std::string& name : settings.target) {
    if (settings.window > 0 || std::ranges::count(settings.features, name) == 0) continue;
    checker.complain({"features", "target"},
                     fmt::format("{} is both a feature and a target: remove it from features", in_quotes(name)));
  }
}

void check_id(const DataSettings& settings, Checker& checker) {
  for (const std::string& name : settings.id) {
    if (std::ranges::count(settings.target, name) > 0)
      checker.complain({"id", "target"},
                       fmt::format("{} is both an id and a target: remove it from one of the two", in_quotes(name)));
    if (std::ranges::count(settings.id, name) > 1) {
      checker.complain({"id"}, fmt::format("{} is listed twice: remove one of the two", in_quotes(name)));
      return;
    }
  }
}

void check_windows(const DataSettings& settings, Checker& checker) {
  if (settings.source != kCsv) return;
  if (settings.horizon != 1 && settings.window == 0) {
    checker.complain({"horizon", "window"}, "a horizon is counted from the end of a window: set window too");
  }
  if (settings.window > 0 && settings.split == Split::kRandom) {
    checker.complain({"split", "window"},
                     "windows overlap, so a random split would put values of validation into training: use ordered");
  }
  if (settings.window > 0 && settings.missing == MissingPolicy::kDrop) {
    checker.complain({"missing", "window"},
                     "dropping rows leaves gaps in the series: use error, previous, mean or zero");
  }
}

void check_normalization(const DataSettings& settings, Checker& checker) {
  if (settings.normalize != Normalization::kUnit) return;
  if (settings.source != kCsv && settings.source != kSynthetic) return;
  checker.complain({"normalize", "source"}, "unit divides bytes (0 to 255) by 255; here use standard, minmax or none");
}

void check_labels(const DataSettings& settings, Checker& checker) {
  if (settings.source != kSynthetic || settings.labels == Labels::kClasses || !settings.num_classes) return;
  checker.complain({"num_classes", "labels"}, "only labels: classes have classes: remove one of the two");
}

void add_source_and_size_fields(Schema& schema) {
  schema.field("source", &DataSettings::source, "where the samples come from; digits and synthetic are generated")
      .may_change(config::Change::kOnUse);
  schema
      .field("path", &DataSettings::path,
             "file or folder of the data; searched from the current directory, from the experiment file's folder, in "
             "$RNNLAB_DATA and in data/")
      .may_change(config::Change::kOnResume)
      .may_change(config::Change::kOnUse);
  schema
      .field("num_train", &DataSettings::num_train,
             "number of training samples: the first ones of a file, by default all; or the number to generate (digits "
             "60000, synthetic 1024)")
      .unit("samples")
      .at_least(1)
      .at_most(config::kMostCounted)
      .may_change(config::Change::kOnUse);
  schema
      .field("num_valid", &DataSettings::num_valid,
             "number of validation samples, like num_train (digits 10000, synthetic 256); replaces valid_fraction in a "
             "split; 0: no validation")
      .unit("samples")
      .at_least(0)
      .at_most(config::kMostCounted)
      .may_change(config::Change::kOnUse);
}

void add_split_and_scaling_fields(Schema& schema) {
  schema
      .field("valid_fraction", &DataSettings::valid_fraction,
             "part of the samples that is kept for validation if no files are named for it")
      .above(0)
      .below(1)
      .may_change(config::Change::kOnUse);
  schema.field(
      "split", &DataSettings::split,
      "which samples validation gets: random ones by seed, or the last (ordered); auto: ordered for csv windows "
      "and text, else random");
  schema.field("seed", &DataSettings::seed, "seed of generated data and of random splits").at_least(0);
  schema.field("normalize", &DataSettings::normalize,
               "how inputs are scaled, fitted on the training part: unit (bytes / 255), standard or minmax for each "
               "feature, column_minmax for each feature of each sample over its steps; auto: unit for bytes, standard "
               "for csv, else none");
  schema
      .field("placement", &DataSettings::placement,
             "where the samples are stored: on the device, or on the host with a prefetch thread; auto: on the "
             "device if they take at most half of its free memory")
      .may_change(config::Change::kOnUse);
  schema.field("task", &DataSettings::task,
               "what is predicted; auto: csv by its window (regression) or none (classification), idx and npy by their "
               "targets (integers are classes)");
}

void add_array_fields(Schema& schema) {
  schema.field("train_inputs", &DataSettings::train_inputs, "idx, npy: file of (samples, steps, features)")
      .may_change(config::Change::kOnUse);
  schema.field("train_targets", &DataSettings::train_targets, "idx, npy: file of (samples) or (samples, targets)")
      .may_change(config::Change::kOnUse);
  schema
      .field("train_lengths", &DataSettings::train_lengths,
             "idx, npy: file of (samples): the number of valid steps of each")
      .may_change(config::Change::kOnUse);
  schema.field("valid_inputs", &DataSettings::valid_inputs, "idx, npy: as train_inputs, for validation")
      .may_change(config::Change::kOnUse);
  schema.field("valid_targets", &DataSettings::valid_targets, "idx, npy: as train_targets, for validation")
      .may_change(config::Change::kOnUse);
  schema.field("valid_lengths", &DataSettings::valid_lengths, "idx, npy: as train_lengths, for validation")
      .may_change(config::Change::kOnUse);
  schema
      .field("num_classes", &DataSettings::num_classes,
             "number of classes; default of idx and npy: one more than the largest training label; of synthetic: 10")
      .at_least(2)
      .at_most(config::kMostCounted);
}

void add_table_fields(Schema& schema) {
  schema.field("train_file", &DataSettings::train_file, "csv, text: the training file, if path is a folder or not set")
      .may_change(config::Change::kOnUse);
  schema.field("valid_file", &DataSettings::valid_file, "csv, text: a separate file for validation")
      .may_change(config::Change::kOnUse);
  schema.field("delimiter", &DataSettings::delimiter, "csv: what separates cells")
      .where("one ASCII character, not a quote or line break",
             [](const std::string& text) {
               return text.size() == 1 && static_cast<unsigned char>(text[0]) < 128 &&
                      text.find_first_of("\"\r\n") == std::string::npos;
             })
      .may_change(config::Change::kOnUse);
  schema
      .field("header", &DataSettings::header,
             "csv: whether the first row names the columns; else they are column1, column2 ...")
      .may_change(config::Change::kOnUse);
  schema.field("features", &DataSettings::features,
               "csv: input columns; by default all except target and id, but with a window of numbers the target too");
  schema.field("target", &DataSettings::target, "csv: column or columns to predict");
  schema
      .field("id", &DataSettings::id,
             "csv: columns that identify a row, such as a key or a date; predict copies them, and they are features "
             "only if features names them")
      .may_change(config::Change::kOnUse);
  schema
      .field("missing", &DataSettings::missing,
             "csv: how to treat missing values (empty, NA, NaN, null, ?): error, drop the row, the value of the "
             "row before, the "
             "column's mean in the training part, or zero")
      .may_change(config::Change::kOnUse);
  schema
      .field("window", &DataSettings::window,
             "csv: rows of a series that make one sample; 0: every row is a sample, its features one after the other")
      .unit("rows")
      .at_least(0)
      .at_most(config::kMostCounted);
  schema.field("horizon", &DataSettings::horizon, "csv: how many rows after the last row of the window the target is")
      .unit("rows")
      .at_least(1)
      .at_most(config::kMostCounted);
}

void add_text_and_synthetic_fields(Schema& schema) {
  schema.field("tokens", &DataSettings::tokens, "text: what a token is");
  schema.field("sequence_length", &DataSettings::sequence_length, "text, synthetic: steps of a sample")
      .unit("steps")
      .at_least(1)
      .at_most(config::kMostCounted);
  schema.field("num_features", &DataSettings::num_features, "synthetic: features of a step")
      .at_least(1)
      .at_most(config::kMostCounted);
  schema.field("labels", &DataSettings::labels,
               "synthetic: classes, 0 or 1 (binary), or one number from N(0, 1) (gaussian)");
}

Schema make_schema() {
  Schema schema("Where the samples come from");
  add_source_and_size_fields(schema);
  add_split_and_scaling_fields(schema);
  add_array_fields(schema);
  add_table_fields(schema);
  add_text_and_synthetic_fields(schema);
  for (const auto rule :
       {check_uses, check_arrays, check_files, check_csv, check_id, check_windows, check_normalization, check_labels}) {
    schema.check(rule);
  }
  return schema;
}

}  // namespace

const config::Schema<DataSettings>& DataSettings::schema() {
  static const Schema schema = make_schema();
  return schema;
}

std::optional<Task> named_task(TaskChoice choice) {
  switch (choice) {
    case TaskChoice::kClassification:
      return Task::kClassification;
    case TaskChoice::kBinary:
      return Task::kBinary;
    case TaskChoice::kRegression:
      return Task::kRegression;
    case TaskChoice::kAutomatic:
      break;
  }
  return std::nullopt;
}

}  // namespace rnnlab
