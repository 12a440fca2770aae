// SPDX-License-Identifier: Apache-2.0
#include "data/data_settings.h"

#include <fmt/format.h>

#include <cmath>
#include <tuple>

#include "base/error.h"
#include "base/text.h"
#include "data/readers/time_grid.h"

namespace rnnlab {
namespace {

using config::Checker;
using Schema = config::Schema<DataSettings>;

std::string source_names(const std::vector<Source>& sources) {
  std::vector<std::string> names;
  for (const Source source : sources) names.emplace_back(config::name_of(source));
  return join_with_or(names);
}

void check_keys(const DataSettings& settings, Checker& checker) {
  const DataSettings defaults;
  for (const config::Entry& entry : DataSettings::schema().spec().entries) {
    const auto& get = entry.field()->get;
    if (reads_key(settings.source, entry.key) || get(&settings) == get(&defaults)) continue;
    checker.complain({entry.key, "source"},
                     fmt::format("{} is for source {}; {} does not use it: remove it", entry.key,
                                 source_names(sources_reading(entry.key)), config::name_of(settings.source)));
  }
}

void check_files(const DataSettings& settings, Checker& checker) {
  if (!settings.valid_file.empty() && settings.train_file.empty())
    checker.complain({"valid_file", "train_file"}, "a file for validation needs one for training: name train_file too");
  if (!settings.test_file.empty() && settings.train_file.empty())
    checker.complain({"test_file", "train_file"}, "a file for tests needs one for training: name train_file too");
  if (settings.num_test > 0 && settings.test_fraction > 0)
    checker.complain({"num_test", "test_fraction"}, "both say how large the test part is: remove one of the two");
  if (!splits_off_test_part(settings) || !has_test_files(settings)) return;
  const std::string key = settings.num_test > 0 ? "num_test" : "test_fraction";
  checker.complain({key, settings.test_file.empty() ? "test_inputs" : "test_file"},
                   key +
                       " takes the test part out of the training file, but it has a file of its own: remove one of "
                       "the two");
}

bool has_several_binary_targets(const DataSettings& settings) {
  return settings.task == TaskChoice::kBinary && settings.target.size() > 1;
}

void check_stratify(const DataSettings& settings, Checker& checker) {
  if (!settings.stratify || !reads_key(settings.source, "stratify")) return;
  if (settings.task == TaskChoice::kRegression)
    checker.complain({"stratify", "task"}, "numbers have no classes: remove stratify");
  else if (has_several_binary_targets(settings))
    checker.complain({"stratify", "target"}, "several binary targets are not one class: remove stratify");
  else if (has_target_per_step(settings))
    checker.complain({"stratify", "target_per"}, "a sequence with a target at each step has no class: remove stratify");
  else if (resolved_split(settings) == Split::kOrdered)
    checker.complain({"stratify", "split"}, "only a random split looks at classes: remove stratify");
}

void check_random_folds(const DataSettings& settings, config::Checker& checker) {
  constexpr const char* kReason =
      "in {} random folds each sample validates once, which says how many validate: remove {}";
  if (settings.num_valid) checker.complain({"folds", "num_valid"}, fmt::format(kReason, *settings.folds, "num_valid"));
  if (settings.valid_fraction != DataSettings().valid_fraction)
    checker.complain({"folds", "valid_fraction"}, fmt::format(kReason, *settings.folds, "valid_fraction"));
}

void check_ordered_folds(const DataSettings& settings, config::Checker& checker) {
  const auto num_folds = static_cast<double>(*settings.folds);
  if (settings.num_valid == 0)
    checker.complain({"folds", "num_valid"},
                     "each fold has a validation part: set num_valid to its size, or remove it");
  if (settings.num_valid || settings.valid_fraction * num_folds < 1) return;
  constexpr double kPerMille = 1000;  // three digits, rounded down
  checker.complain({"folds", "valid_fraction"},
                   fmt::format("{} validation parts of {} of the samples leave none for training: use a valid_fraction "
                               "below {}",
                               *settings.folds, format_shortest(settings.valid_fraction),
                               format_shortest(std::floor(kPerMille / num_folds) / kPerMille)));
}

void check_folds(const DataSettings& settings, config::Checker& checker) {
  if (!reads_key(settings.source, "folds")) return;
  if (settings.fold && !settings.folds)
    checker.complain({"fold", "folds"}, "a fold is one of several: set folds to their number");
  if (!settings.folds) return;
  if (settings.fold.value_or(1) > *settings.folds)
    checker.complain({"fold", "folds"}, "the folds are counted from 1 to folds");
  if (has_valid_files(settings))
    checker.complain({"folds", settings.valid_file.empty() ? "valid_inputs" : "valid_file"},
                     "folds take validation from the training file, but it has a file of its own: remove one of the "
                     "two");
  else
    resolved_split(settings) == Split::kRandom ? check_random_folds(settings, checker)
                                               : check_ordered_folds(settings, checker);
}

void check_source(const DataSettings& settings, Checker& checker) {
  if (const auto check = info_of(settings.source).check) check(settings, checker);
}

// Permits another value when a run is resumed and when its model is used.
template <class Field>
void may_change_later(Field&& field) {
  field.may_change(config::Change::kOnResume).may_change(config::Change::kOnUse);
}

void add_source_and_size_fields(Schema& schema) {
  schema.field("source", &DataSettings::source, "where the samples come from; " + described_sources())
      .may_change(config::Change::kOnUse);
  may_change_later(schema.field(
      "path", &DataSettings::path,
      "file or folder of the data; searched from the current directory, from the experiment file's folder, in "
      "$RNNLAB_DATA and in data/"));
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
             "split; 0: no validation; with group, windows of each series")
      .unit("samples")
      .at_least(0)
      .at_most(config::kMostCounted)
      .may_change(config::Change::kOnUse);
}

void add_split_fields(Schema& schema) {
  schema
      .field("num_test", &DataSettings::num_test,
             "number of samples that are kept for the test part: the last of the file (of each series, if group is "
             "set), or "
             "random ones (split); only --part test of evaluate and predict reads them")
      .unit("samples")
      .at_least(0)
      .at_most(config::kMostCounted);
  schema
      .field("valid_fraction", &DataSettings::valid_fraction,
             "part of the samples, without those of the test part, that is kept for validation if no files are named "
             "for it")
      .above(0)
      .below(1)
      .may_change(config::Change::kOnUse);
  schema
      .field("test_fraction", &DataSettings::test_fraction,
             "part of the samples that is kept for the test part, like num_test; 0: none")
      .at_least(0)
      .below(1);
  schema.field(
      "split", &DataSettings::split,
      "which samples validation gets: random ones by seed, or the last (ordered); auto: ordered for csv windows "
      "and text, else random");
  schema.field(
      "stratify", &DataSettings::stratify,
      "whether a random split gives each part the shares that the classes (or 0 and 1 of a binary target) have "
      "in the file; unset: true");
  schema
      .field("folds", &DataSettings::folds,
             "number of runs of a back-test, each with its own validation part: of an ordered split the last blocks of "
             "the rows, with the rows before as training; of a random split each sample validates once")
      .at_least(2)
      .at_most(100);
  schema
      .field("fold", &DataSettings::fold, "which of the folds a run is, from 1; unset: there is a run for each of them")
      .at_least(1)
      .at_most(100);
  schema.field("seed", &DataSettings::seed, "seed of generated data and of random splits").at_least(0);
}

void add_scaling_and_task_fields(Schema& schema) {
  schema.field(
      "normalize", &DataSettings::normalize,
      "how inputs are scaled, fitted on the training part: unit (bytes / byte_maximum), standard or minmax for each "
      "feature, column_minmax for each feature of each sample over its steps; auto: unit for bytes, standard "
      "for csv and ts, else none");
  schema
      .field(
          "byte_maximum", &DataSettings::byte_maximum,
          "mnist, idx, npy: the byte that normalize: unit makes 1; by default 255, but inputs that fill at most half "
          "of that range are refused")
      .at_least(1)
      .at_most(255)
      .may_change(config::Change::kOnResume);
  schema
      .field("placement", &DataSettings::placement,
             "where the samples are stored: on the device, or on the host with a prefetch thread; auto: on the "
             "device if they take at most half of its free memory")
      .may_change(config::Change::kOnUse);
  schema.field("task", &DataSettings::task,
               "what is predicted; auto: csv by its window (regression) or none (classification), idx and npy by their "
               "targets (integers are classes)");
  schema.field("target_per", &DataSettings::target_per,
               "whether a sequence has one target or each step has its own: idx, npy (samples, steps) or (samples, "
               "steps, targets); csv each row, in sequences by group or window");
}

// The keys of files, with their help.
using FileFields = std::vector<std::tuple<const char*, std::string DataSettings::*, const char*>>;

void add_files(Schema& schema, const FileFields& fields) {
  for (const auto& [key, member, help] : fields) schema.field(key, member, help).may_change(config::Change::kOnUse);
}

void add_array_fields(Schema& schema) {
  add_files(schema,
            {{"train_inputs", &DataSettings::train_inputs, "idx, npy: file of (samples, steps, features)"},
             {"train_targets", &DataSettings::train_targets, "idx, npy: file of (samples) or (samples, targets)"},
             {"train_lengths", &DataSettings::train_lengths,
              "idx, npy: file of (samples): the number of valid steps of each"},
             {"valid_inputs", &DataSettings::valid_inputs, "idx, npy: as train_inputs, for validation"},
             {"valid_targets", &DataSettings::valid_targets, "idx, npy: as train_targets, for validation"},
             {"valid_lengths", &DataSettings::valid_lengths, "idx, npy: as train_lengths, for validation"},
             {"test_inputs", &DataSettings::test_inputs, "idx, npy: as train_inputs, for --part test"},
             {"test_targets", &DataSettings::test_targets, "idx, npy: as train_targets, for --part test"},
             {"test_lengths", &DataSettings::test_lengths, "idx, npy: as train_lengths, for --part test"}});
  may_change_later(schema.field(
      "memory", &DataSettings::memory,
      "npy: whether inputs are read into memory (resident), or stay in their file and are read batch by batch "
      "(mapped); auto: mapped if loading the inputs needs more than three quarters of the memory that the "
      "process may use, without swap"));
  schema
      .field("num_classes", &DataSettings::num_classes,
             "number of classes; default of idx and npy: one more than the largest training label; of synthetic: 10")
      .at_least(2)
      .at_most(config::kMostCounted);
}

void add_file_fields(Schema& schema) {
  add_files(schema, {{"train_file", &DataSettings::train_file,
                      "csv, text, ts: the training file, if path is a folder or not set"},
                     {"valid_file", &DataSettings::valid_file, "csv, text, ts: a separate file for validation"},
                     {"test_file", &DataSettings::test_file, "csv, text, ts: a separate file for --part test"}});
}

bool is_delimiter(const std::string& text) {
  return text.size() == 1 && static_cast<unsigned char>(text[0]) < 128 &&
         text.find_first_of("\"\r\n") == std::string::npos;
}

void add_csv_format_fields(Schema& schema) {
  schema.field("delimiter", &DataSettings::delimiter, "csv: what separates cells")
      .where("one ASCII character, not a quote or line break", is_delimiter)
      .may_change(config::Change::kOnUse);
  schema
      .field("decimal", &DataSettings::decimal,
             "csv: the decimal mark of its numbers; cells with a comma need quotes, or a delimiter that is not a comma")
      .where("\".\" or \",\"", [](const std::string& text) { return text == "." || text == ","; })
      .may_change(config::Change::kOnUse);
  schema
      .field("header", &DataSettings::header,
             "csv: whether the first row names the columns; else they are column1, column2 ...")
      .may_change(config::Change::kOnUse);
}

void add_column_fields(Schema& schema) {
  schema.field("features", &DataSettings::features,
               "csv: input columns; by default all except target and id, but with a window of numbers the target too");
  schema.field("categories", &DataSettings::categories,
               "csv: input columns of texts or codes, of which each value gets a vector that is learned "
               "(model.embedding_size); for rows that are steps");
  schema.field("target", &DataSettings::target, "csv: column or columns to predict");
  schema
      .field("id", &DataSettings::id,
             "csv: columns that identify a row, such as a key or a date; predict copies them, and they are features "
             "only if features names them")
      .may_change(config::Change::kOnUse);
  schema
      .field(
          "missing", &DataSettings::missing,
          "csv, ts: how to treat missing inputs (an empty cell or a word of missing_words; ts has its default words): "
          "error, drop the row or each window that has it, the value of the row or step before, the column's mean in "
          "the training part, or zero; ts has neither drop nor mean; a missing target is never filled: error refuses "
          "it, every other value leaves it out of losses, metrics and baselines; idx, npy: error, or drop for missing "
          "targets (NaN, or class -1)")
      .may_change(config::Change::kOnUse);
  may_change_later(schema.field(
      "missing_words", &DataSettings::missing_words,
      "csv: words that mean a missing value, besides an empty cell; [] if all words are values; the default "
      "ignores "
      "upper and lower case, a list of your own does not"));
}

void add_time_fields(Schema& schema) {
  may_change_later(schema.field(
      "time", &DataSettings::time,
      "csv: column with the time of each row; by default a column of times that is neither a feature nor a "
      "target, if there is one"));
  may_change_later(schema.field(
      "unsorted", &DataSettings::unsorted,
      "csv: rows that are not in the order of time: error, sort them within each series, or ignore it and keep "
      "the order of the file"));
  may_change_later(schema.field(
      "duplicates", &DataSettings::duplicates,
      "csv: rows of a series with the same time: error, keep the first or the last of them, or ignore it and "
      "keep all"));
  may_change_later(schema.field(
      "gaps", &DataSettings::gaps,
      "csv: steps in time that are not the usual one of the series: error, split the series there, so that no "
      "window crosses them, ignore them, fill them with rows whose inputs are treated by missing, or mask: fill, and "
      "an "
      "input that is 1 for rows of the file"));
  may_change_later(
      schema
          .field("frequency", &DataSettings::frequency,
                 "csv: the step in time of a series, such as 15min, 1h, 1d, 1b (a workday), 1w, 1mo, 1q or 1y: other "
                 "times are refused, and longer steps are gaps; by default the usual step")
          .where("a number and a unit: 30s, 15min, 1h, 1d, 1b (a workday), 1w, 1mo, 1q or 1y",
                 [](const std::string& text) { return text.empty() || parse_time_step(text).has_value(); }));
}

void add_series_fields(Schema& schema) {
  schema
      .field("window", &DataSettings::window,
             "csv: rows of a series that make one sample; 0: every row is a sample, its features one after the other")
      .unit("rows")
      .at_least(0)
      .at_most(config::kMostCounted);
  schema.field("group", &DataSettings::group,
               "csv: column that names the series of a row, such as a station; windows never cross series, and "
               "valid_fraction, test_fraction, num_valid and num_test are of each series, but of all sequences with "
               "target_per: step");
  schema
      .field("horizon", &DataSettings::horizon,
             "csv: how many rows after the last row of the window the target is; several, such as [1, 2, 6] or 1..24, "
             "are predicted together")
      .one_is_plain()
      .not_empty()
      .unit("rows")
      .at_least(1)
      .at_most(config::kMostCounted);
  schema
      .field("season", &DataSettings::season,
             "csv: rows after which the series repeats, such as 24 for hours of a day; adds the value of one season "
             "before to the baselines")
      .unit("rows")
      .at_least(2)
      .at_most(config::kMostCounted);
  schema.field("inputs_from", &DataSettings::inputs_from,
               "csv: where a window of validation or of tests may have its rows: in the whole series before its target "
               "(series), or only in its own part (part); targets are always in their part; unset: series");
  schema.field(
      "target_as", &DataSettings::target_as,
      "csv: what a model forecasts of a series: the value, its change from the last value of the window, or that "
      "from the value one data.season before; metrics and predictions add the value again");
  schema.field("scale_by", &DataSettings::scale_by,
               "csv: whose values the scale and the offset of a column are fitted to: of all rows of the training part "
               "(file), of "
               "those of each series of group (series), or of each window (window); metrics and predictions undo it");
  schema.field("static", &DataSettings::static_features,
               "csv: columns of numbers that are constant within each series of group, as inputs of each row, scaled "
               "over the series");
  schema.field("known", &DataSettings::known,
               "csv: columns of numbers that are known ahead, such as a holiday or a price; each row also has their "
               "values in the rows that are forecast from it, and rows after the end of a series may have only them");
  schema.field("calendar", &DataSettings::calendar,
               "csv: adds where each row is in its hour (minute), day (hour), week (weekday), month (day) or year "
               "(month), as a sine and a cosine; times with a zone count in UTC");
  schema.field("calendar_ahead", &DataSettings::calendar_ahead,
               "csv: whether a decoder also reads the calendar of the rows that it forecasts; unset: true with "
               "model.decoder");
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

void require_known_keys(const Schema& schema) {
  for (const auto& [source, name] : config::EnumNames<Source>::kNames)
    for (const std::string_view key : info_of(source).keys)
      RNNLAB_INVARIANT(schema.spec().find(key) != nullptr, fmt::format("source {} reads an unknown key {}", name, key));
}

Schema make_schema() {
  Schema schema("Where the samples come from");
  add_source_and_size_fields(schema);
  add_split_fields(schema);
  add_scaling_and_task_fields(schema);
  add_array_fields(schema);
  add_file_fields(schema);
  add_csv_format_fields(schema);
  add_column_fields(schema);
  add_series_fields(schema);
  add_time_fields(schema);
  add_text_and_synthetic_fields(schema);
  for (const auto rule : {check_keys, check_files, check_stratify, check_folds, check_source}) schema.check(rule);
  require_known_keys(schema);
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
      return std::nullopt;
  }
  fail_invariant("a listed choice", __FILE__, __LINE__, "named_task does not know the choice of a task");
}

TaskChoice choice_of(Task task) {
  for (const TaskChoice choice : {TaskChoice::kClassification, TaskChoice::kBinary, TaskChoice::kRegression})
    if (named_task(choice) == task) return choice;
  fail_invariant("a task that data.task names", __FILE__, __LINE__, "data.task does not name a language model");
}

Split resolved_split(const DataSettings& settings) {
  if (settings.split != Split::kAutomatic) return settings.split;
  return settings.window > 0 || settings.source == Source::kText ? Split::kOrdered : Split::kRandom;
}

SplitRequest split_request(const DataSettings& settings) {
  const bool is_whole = has_valid_files(settings) && !splits_off_test_part(settings);
  return {.how = is_whole ? Split::kOrdered : resolved_split(settings),
          .num_valid = has_valid_files(settings) ? 0 : settings.num_valid,
          .valid_fraction = settings.valid_fraction,
          .seed = settings.seed,
          .num_test = settings.num_test,
          .test_fraction = settings.test_fraction,
          .is_stratified = settings.stratify.value_or(true),
          .num_folds = settings.folds.value_or(0),
          .fold = settings.fold.value_or(0)};
}

bool splits_off_test_part(const DataSettings& settings) { return settings.num_test > 0 || settings.test_fraction > 0; }

bool counts_each_series(const DataSettings& settings) {
  return !settings.group.empty() && !has_target_per_step(settings);
}

namespace {

bool may_be_stratified(const DataSettings& settings) {
  return reads_key(settings.source, "stratify") && split_request(settings).how == Split::kRandom &&
         settings.task != TaskChoice::kRegression && !has_several_binary_targets(settings) &&
         !has_target_per_step(settings);
}

bool has_windows(const DataSettings& settings) { return settings.window > 0 && !has_target_per_step(settings); }

bool may_have_calendar_ahead(const DataSettings& settings) {
  return has_windows(settings) && !settings.calendar.empty() && settings.horizon.size() > 1;
}

}  // namespace

void choose_split(DataSettings& settings) {
  if (!settings.stratify && may_be_stratified(settings)) settings.stratify = true;
  if (!settings.inputs_from && has_windows(settings)) settings.inputs_from = InputsFrom::kSeries;
}

void choose_split_of_earlier_versions(DataSettings& settings) {
  if (!settings.stratify && may_be_stratified(settings)) settings.stratify = false;
  if (!settings.inputs_from && has_windows(settings)) settings.inputs_from = InputsFrom::kPart;
  if (!settings.calendar_ahead && may_have_calendar_ahead(settings)) settings.calendar_ahead = false;
}

void choose_calendar(DataSettings& settings, bool can_read_ahead) {
  if (!settings.calendar_ahead && can_read_ahead && may_have_calendar_ahead(settings)) settings.calendar_ahead = true;
}

bool has_calendar_ahead(const DataSettings& settings) { return settings.calendar_ahead.value_or(false); }

bool reaches_back(const DataSettings& settings) {
  return settings.inputs_from.value_or(InputsFrom::kSeries) == InputsFrom::kSeries;
}

MissingTargets missing_targets(const DataSettings& settings, Targets targets) {
  const bool are_refused = targets == Targets::kRequired && settings.missing == MissingPolicy::kError;
  return are_refused ? MissingTargets::kRefused : MissingTargets::kAllowed;
}

bool has_series(const DataSettings& settings) { return settings.window > 0 || has_target_per_step(settings); }

bool uses_order(const DataSettings& settings) {
  return has_series(settings) || settings.missing == MissingPolicy::kPrevious || settings.split == Split::kOrdered;
}

bool are_changes(const DataSettings& settings) { return settings.target_as != TargetAs::kValue; }

bool are_relative(const DataSettings& settings) { return are_changes(settings) || settings.scale_by != ScaleBy::kFile; }

bool inserts_rows(const DataSettings& settings) { return settings.gaps == Gaps::kFill || settings.gaps == Gaps::kMask; }

bool has_target_per_step(const DataSettings& settings) { return settings.target_per == TargetPer::kStep; }

bool has_valid_files(const DataSettings& settings) {
  return !settings.valid_file.empty() || !settings.valid_inputs.empty();
}

bool has_test_files(const DataSettings& settings) {
  return !settings.test_file.empty() || !settings.test_inputs.empty();
}

bool has_test_part(const DataSettings& settings) { return splits_off_test_part(settings) || has_test_files(settings); }

void refuse_unit_normalization(const DataSettings& settings, Checker& checker) {
  if (settings.normalize == Normalization::kUnit)
    checker.complain({"normalize", "source"},
                     "unit divides bytes (0 to 255) by 255; here use standard, minmax or none");
}

}  // namespace rnnlab
