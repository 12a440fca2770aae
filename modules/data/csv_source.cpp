// SPDX-License-Identifier: Apache-2.0
// The source csv: independent rows, or a series with a sliding window. Columns are scaled one by one, with values
// fitted on the rows of the training part.
#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "data/csv_changes.h"
#include "data/csv_derived.h"
#include "data/csv_part.h"
#include "data/csv_scales.h"
#include "data/data_settings.h"
#include "data/dataset.h"
#include "data/find_data.h"
#include "data/inspect.h"
#include "data/naive_forecasts.h"
#include "data/normalize.h"
#include "data/readers/rows.h"
#include "data/source.h"

namespace rnnlab {
namespace {

std::filesystem::path find_csv(const DataSettings& settings, const std::string& name) {
  return find_data(
      {settings.path, name, "", "Name the file by data.path, or by data.train_file in the folder data.path."});
}

CsvTable read_table(const DataSettings& settings, const std::string& name) {
  return read_csv(find_csv(settings, name), csv_options(settings));
}

std::vector<int64_t> usable_rows(const CsvPart& part, const DataSettings& settings) {
  if (settings.missing == MissingPolicy::kDrop && settings.window == 0) return part.complete_rows();
  return first_rows(part.num_rows());
}

// Returns how many rows this number of training samples needs.
std::optional<int64_t> rows_for(std::optional<int64_t> num_samples, const DataSettings& settings) {
  if (!num_samples || *num_samples == 0 || settings.window == 0) return num_samples;
  return saturating_add(*num_samples, saturating_add(settings.window - 1, settings.horizon.back()));
}

// Returns how many rows this number of samples of a later part needs, whose inputs may reach back before the part.
std::optional<int64_t> rows_for_later(std::optional<int64_t> num_samples, const DataSettings& settings) {
  if (!reaches_back(settings)) return rows_for(num_samples, settings);
  if (!num_samples || *num_samples == 0 || settings.window == 0) return num_samples;
  return saturating_add(*num_samples, settings.horizon.back() - settings.horizon.front());
}

// Rows that data.num_train leaves out must not affect the scaling.
void keep_first(std::vector<int64_t>& rows, std::optional<int64_t> count) {
  if (count && *count < static_cast<int64_t>(rows.size())) rows.resize(static_cast<size_t>(*count));
}

// The message counts windows, as the setting does; split_rows counts rows, and refuses a test part that leaves none.
// Training needs rows for one window.
void require_rows_for_validation(int64_t num_rows, const DataSettings& settings, const std::string& path) {
  if (settings.window == 0 || !settings.num_valid || has_valid_files(settings) || num_rows == 0) return;
  if (settings.folds) return;  // rows_of_fold counts the rows of all folds
  const int64_t needed = *rows_for_later(settings.num_valid, settings);
  if (needed < num_rows) return;
  const int64_t most = num_rows - *rows_for(1, settings) - *rows_for_later(1, settings) + 1;
  throw_error(ExitCode::kData, "{}: data.num_valid: {} windows need {}, but the table has {}{}; {}", path,
              format_count(*settings.num_valid), counted(needed, "row"), format_count(num_rows),
              splits_off_test_part(settings) ? " without its test part" : "",
              most > 0 ? fmt::format("use at most {}, which leaves rows for training", format_count(most))
                       : how_to_fit(settings.window, settings.horizon.back()));
}

void require_rows_for_test(int64_t num_test, int64_t num_rows, const DataSettings& settings, const std::string& path) {
  if (settings.window == 0 || num_test < num_rows) return;
  const bool fits_one = saturating_add(settings.window, settings.horizon.back()) <= num_rows;
  throw_error(ExitCode::kData, "{}: data.num_test: {} windows need {}, but the table has {}; {}", path,
              format_count(settings.num_test), counted(num_test, "row"), format_count(num_rows),
              fits_one ? "use a smaller data.num_test" : how_to_fit(settings.window, settings.horizon.back()));
}

// Settings count windows, and a split counts rows.
SplitRequest request_of_rows(const DataSettings& settings) {
  SplitRequest request = split_request(settings);
  request.num_valid = rows_for_later(request.num_valid, settings);
  request.num_test = rows_for_later(settings.num_test, settings).value();
  request.least_train = rows_for(1, settings).value();
  if (settings.window > 0) request.unit = "row";
  return request;
}

bool has_rows_for_all_parts(int64_t num_rows, const SplitRequest& request) {
  const int64_t num_others = num_rows - num_for_test(num_rows, request);
  if (request.num_valid == 0) return num_others > 0;
  return num_others > 1 && num_for_validation(num_others, request) < num_others;
}

// Each series has its own split, by the order of its rows. A series that has too few rows for all parts trains.
RowSplit split_series(const CsvPart& part, const DataSettings& settings, std::vector<std::string>& notes) {
  const SplitRequest request = request_of_rows(settings);
  if (request.num_folds > 0) return fold_of_each_series(part, request, notes);
  RowSplit all;
  int64_t num_too_short = 0;
  for (const CsvSeries& series : part.series) {
    const int64_t num_rows = series.rows.end - series.rows.begin;
    const bool is_split = has_rows_for_all_parts(num_rows, request);
    const RowSplit own = is_split ? split_rows(num_rows, request, part.table.path())
                                  : RowSplit{.train = first_rows(num_rows), .valid = {}};
    num_too_short += !is_split;
    for (const auto& [rows, to] : {std::pair(&own.train, &all.train), {&own.valid, &all.valid}, {&own.test, &all.test}})
      for (const int64_t row : *rows) to->push_back(series.rows.begin + row);
  }
  if (num_too_short > 0)
    notes.push_back(fmt::format("{} of {} series have too few rows for all parts: their rows are for training",
                                format_count(num_too_short), format_count(std::ssize(part.series))));
  return all;
}

// Returns the class of the target of each of these rows: of a binary target 0 or 1. Empty if the target has no classes.
std::vector<int64_t> classes_of_rows(const CsvPart& part, const std::vector<int64_t>& rows,
                                     const DataSettings& settings) {
  const bool is_binary = csv_task(settings) == Task::kBinary && part.targets.size() == 1;
  if (part.classes.empty() && !is_binary) return {};
  std::vector<int64_t> classes;
  for (const int64_t row : rows) {
    const auto at = static_cast<size_t>(row);
    classes.push_back(part.classes.empty() ? class_of_binary(part.targets[0].values[at]) : part.classes[at]);
  }
  return classes;
}

// Returns the classes for a stratified split, which is one of rows that are samples.
std::vector<int64_t> classes_for_split(const CsvPart& part, const std::vector<int64_t>& rows,
                                       const DataSettings& settings) {
  return settings.window > 0 ? std::vector<int64_t>() : classes_of_rows(part, rows, settings);
}

void require_complete_rows(const std::vector<int64_t>& usable, const CsvPart& part) {
  if (!usable.empty()) return;
  throw_error(
      ExitCode::kData,
      "{}: each of {} has a missing value, and data.missing: drop leaves none; name fewer data.features, or use "
      "data.missing: previous, mean or zero",
      part.table.path(), counted(part.table.num_rows(), "row"));
}

RowSplit split_table(const CsvPart& part, const DataSettings& settings) {
  const std::vector<int64_t> usable = usable_rows(part, settings);
  const std::string& path = part.table.path();
  require_complete_rows(usable, part);
  const SplitRequest request = request_of_rows(settings);
  require_rows_for_test(request.num_test, std::ssize(usable), settings, path);
  require_rows_for_validation(std::ssize(usable) - num_for_test(std::ssize(usable), request), settings, path);
  const RowSplit split = split_rows(std::ssize(usable), request, path, classes_for_split(part, usable, settings));
  return {at_rows(usable, split.train), at_rows(usable, split.valid), at_rows(usable, split.test)};
}

// The sequences of the parts, whose rows have a target each.
struct SequenceSplit {
  Windows train, valid, test;
};

// Sequences do not overlap, so they can be split like rows that are samples.
SequenceSplit split_sequences(const CsvPart& part, const DataSettings& settings) {
  const Windows all = sequences_of(part, settings);
  require_complete_rows(all.first, part);
  RowSplit split = split_rows(std::ssize(all.first), split_request(settings), part.table.path());
  keep_first(split.train, settings.num_train);
  return {selected(all, split.train), selected(all, split.valid), selected(all, split.test)};
}

// The parts, which may be rows of one file.
struct Parts {
  CsvPart train;
  std::optional<CsvPart> valid_file;
  RowSplit rows;
  SequenceSplit sequences = {};         // of these rows, with data.target_per: step
  std::vector<std::string> notes = {};  // on the split

  const CsvPart& file_of(DataPart part) const { return part == DataPart::kValid && valid_file ? *valid_file : train; }
};

void split_training_file(Parts& parts, const DataSettings& settings) {
  if (has_target_per_step(settings)) {
    parts.sequences = split_sequences(parts.train, settings);
    parts.rows = {rows_of(parts.sequences.train), rows_of(parts.sequences.valid), rows_of(parts.sequences.test)};
    return;
  }
  parts.rows =
      settings.group.empty() ? split_table(parts.train, settings) : split_series(parts.train, settings, parts.notes);
  keep_first(parts.rows.train, rows_for(settings.num_train, settings));
}

Parts read_parts(const DataSettings& settings, const CsvLayout* like) {
  Parts parts;
  parts.train = read_csv_part(read_table(settings, settings.train_file), settings, like);
  split_training_file(parts, settings);
  if (!settings.valid_file.empty()) {
    const CsvLayout layout = like != nullptr ? *like : parts.train.layout();
    parts.valid_file = read_csv_part(read_table(settings, settings.valid_file), settings, &layout);
    parts.rows.valid = usable_rows(*parts.valid_file, settings);
    if (has_target_per_step(settings)) parts.sequences.valid = sequences_of(*parts.valid_file, settings);
  }
  return parts;
}

// Reads one file and uses every row that is complete or filled.
Parts read_whole_file(const DataSettings& settings, const CsvLayout& like, Targets targets) {
  Parts parts;
  parts.train = read_csv_part(read_table(settings, settings.train_file), settings, &like, targets);
  parts.rows.train = usable_rows(parts.train, settings);
  if (has_target_per_step(settings)) parts.sequences.train = sequences_of(parts.train, settings);
  return parts;
}

void fill_missing(Parts& parts, const DataSettings& settings, const std::map<std::string, double>& means) {
  fill_missing(parts.train, settings.missing, means);
  if (parts.valid_file) fill_missing(*parts.valid_file, settings.missing, means);
}

// `frame` is the frame_of_targets() of the windows.
Samples samples_in(const CsvPart& part, const Windows& windows, const CsvScalings& scalings, const TargetFrame& frame,
                   const LocalScales& local) {
  Samples samples;
  samples.inputs = local.inputs_of(part, windows, scalings.features);
  samples.target_bases = frame.bases;
  samples.target_units = frame.units;
  if (part.has_targets()) samples.targets = targets_in(part.targets, part.classes, windows, scalings, frame);
  const bool has_lengths = std::ranges::any_of(windows.lengths, [&](int64_t rows) { return rows < windows.window; });
  if (has_lengths) samples.lengths = at::tensor(windows.lengths, at::kLong);
  return samples;
}

// Windows that are left out count too, because the rows of the part were chosen before.
void require_as_many(std::optional<int64_t> count, const char* key, const SeriesWindows& of, const CsvPart& part) {
  const int64_t num_left_out = of.num_with_gaps + of.num_across_breaks, num_kept = std::ssize(of.windows.first);
  if (!count || *count <= num_kept + num_left_out) return;
  throw_error(ExitCode::kData, "csv from {}: data.{} is {}, but the data holds {}{}", part.table.path(), key, *count,
              counted(num_kept, "sample"),
              num_left_out == 0 ? "" : fmt::format(", and {} that are left out", format_count(num_left_out)));
}

// A whole file has the rows and the sequences of the training part.
SeriesWindows windows_of(const Parts& parts, DataPart part, const DataSettings& settings,
                         LastWindows last = LastWindows::kWithTargets) {
  const auto of_part = [part](const auto& all) -> const auto& {
    return part == DataPart::kValid ? all.valid : part == DataPart::kTest ? all.test : all.train;
  };
  if (has_target_per_step(settings)) return {of_part(parts.sequences)};
  const std::vector<int64_t>& rows = of_part(parts.rows);
  const bool none_wanted = rows.empty() && part == DataPart::kValid && settings.num_valid == 0;
  if (none_wanted) return {.windows = {.window = settings.window, .first = {}, .target = {}}};
  const CsvPart& file = parts.file_of(part);
  const std::string name = part == DataPart::kAll ? "" : fmt::format(": the {}part", part_name(part));
  SeriesWindows windows = windows_of_series(file, rows, settings, last, file.table.path() + name);
  if (part == DataPart::kTrain) require_as_many(settings.num_train, "num_train", windows, file);
  if (part == DataPart::kValid && !counts_each_series(settings))
    require_as_many(settings.num_valid, "num_valid", windows, file);
  return windows;
}

// Returns the rows of the test part that are targets: of windows that stay in their part, not its first rows.
std::vector<int64_t> test_targets(const std::vector<int64_t>& rows, const DataSettings& settings) {
  if (settings.window == 0 || has_target_per_step(settings) || reaches_back(settings)) return rows;
  std::vector<int64_t> targets = rows;
  std::erase_if(targets, [&](int64_t row) {
    return !std::ranges::binary_search(rows, row - (settings.window + settings.horizon.back() - 1));
  });
  return targets;
}

std::optional<std::string> note_on_series(const SeriesWindows& windows, std::string_view part) {
  if (windows.num_too_short == 0) return std::nullopt;
  return fmt::format("{} of {} series have too few rows for a window in the {}, and no samples there",
                     windows.num_too_short, windows.num_series, part);
}

std::optional<std::string> note_on_missing(const Parts& parts, const DataSettings& settings) {
  int64_t num_missing = parts.train.num_missing();
  if (parts.valid_file) num_missing += parts.valid_file->num_missing();
  if (num_missing == 0) return std::nullopt;
  return fmt::format("{}, treated by missing: {}", counted(num_missing, "missing value"),
                     config::name_of(settings.missing));
}

std::optional<std::string> note_on_gaps(const SeriesWindows& windows, std::string_view part) {
  if (windows.num_with_gaps == 0) return std::nullopt;
  return fmt::format("{} of the {} {} left out, because {} a row with a missing value",
                     counted(windows.num_with_gaps, "window"), part, windows.num_with_gaps == 1 ? "is" : "are",
                     windows.num_with_gaps == 1 ? "it has" : "each has");
}

std::optional<std::string> note_on_dropped_rows(const Parts& parts, const DataSettings& settings) {
  if (settings.missing != MissingPolicy::kDrop || settings.window > 0 || has_target_per_step(settings))
    return std::nullopt;
  int64_t num_rows = 0, num_complete = 0;
  for (const CsvPart* part : {&parts.train, parts.valid_file ? &*parts.valid_file : nullptr}) {
    if (part == nullptr) continue;
    num_rows += part->table.num_rows();
    num_complete += std::ssize(part->complete_rows());
  }
  if (num_complete == num_rows) return std::nullopt;
  return fmt::format("{} of {} rows have a missing value and are left out (missing: drop)",
                     format_count(num_rows - num_complete), format_count(num_rows));
}

// A usual word for a missing value may be the name of a class.
std::optional<std::string> note_on_words_for_no_class(const CsvPart& part, const DataSettings& settings) {
  std::map<std::string, int64_t> counts;
  for (int64_t row = 0; row < std::ssize(part.classes); ++row) {
    if (part.classes[static_cast<size_t>(row)] >= 0 || part.table_row(row) == kNoRow) continue;
    const auto word = part.table.value(part.table_row(row), part.table.column_index(settings.target[0]));
    if (!word.empty()) ++counts[std::string(word)];
  }
  if (counts.empty()) return std::nullopt;
  std::vector<std::string> words;
  for (const auto& [word, count] : counts)
    words.push_back(fmt::format("{} in {}", in_quotes(word), counted(count, "row")));
  return fmt::format(
      "column {} of {} has words for a missing class: {}; if one is the name of a class, take it out of "
      "data.missing_words",
      in_quotes(settings.target[0]), last_name(part.table.path()), join_with_and(words));
}

void add_notes(Dataset& dataset, const Parts& parts, const DataSettings& settings, Normalization how) {
  for (const auto& note : {note_on_missing(parts, settings), note_on_dropped_rows(parts, settings),
                           note_on_words_for_no_class(parts.train, settings),
                           parts.valid_file ? note_on_words_for_no_class(*parts.valid_file, settings) : std::nullopt})
    if (note) dataset.notes.push_back(*note);
  if (!is_fitted(how)) return;
  const std::string_view range = how == Normalization::kStandard ? "mean 0 and standard deviation 1" : "0 to 1";
  dataset.notes.push_back(fmt::format("columns scaled to {}, fitted on the training part ({})", range,
                                      counted(std::ssize(parts.rows.train), "row")));
}

void add_scales(Dataset& dataset, const CsvPart& train, const CsvScalings& scalings, Normalization how,
                const DataSettings& settings) {
  for (size_t i = 0; i < train.features.size(); ++i)
    dataset.feature_scales.push_back({train.features[i].name, scalings.features[i].offset, scalings.features[i].scale});
  if (!is_fitted(how)) return;
  if (dataset.shape.task != Task::kRegression) return;
  const std::vector<std::string> names = target_names(settings);
  const size_t num_horizons = settings.horizon.size();
  for (size_t i = 0; i < names.size(); ++i) {
    const Scaling& scaling = scalings.targets[are_relative(settings) ? i : i / num_horizons];
    dataset.target_scales.push_back({names[i], scaling.offset, scaling.scale});
  }
}

// Scaling by columns is already done on the table; only scaling within a sample remains for the samples.
Normalization left_to_do(Normalization how) { return how == Normalization::kColumnMinMax ? how : Normalization::kNone; }

void add_derived(Parts& parts, const DataSettings& settings, const std::map<std::string, double>& means) {
  add_derived(parts.train, settings, means);
  if (!parts.valid_file) return;
  if (!parts.valid_file->order) parts.valid_file->order = parts.train.order;
  add_derived(*parts.valid_file, settings, means);
}

void encode_categories(Parts& parts, const std::vector<CategoryColumn>& categories, const DataSettings& settings) {
  add_categories(parts.train, categories, settings);
  if (parts.valid_file) add_categories(*parts.valid_file, categories, settings);
}

void move_notes(Parts& parts, std::vector<std::string>& notes) {
  std::ranges::move(parts.train.notes, std::back_inserter(notes));
  if (parts.valid_file)
    for (const std::string& note : parts.valid_file->notes) notes.push_back("validation file: " + note);
}

std::optional<std::string> note_on_breaks(const SeriesWindows& windows, std::string_view part) {
  if (windows.num_across_breaks == 0) return std::nullopt;
  return fmt::format("{} would cross a gap in the {} and {} left out", counted(windows.num_across_breaks, "window"),
                     part, windows.num_across_breaks == 1 ? "is" : "are");
}

std::optional<std::string> note_on_known(const SeriesWindows& windows, const DataSettings& settings) {
  if (windows.num_beyond_known == 0) return std::nullopt;
  const bool is_one = windows.num_beyond_known == 1;
  const std::string left_out = fmt::format("{} at the end of the data {} left out, because",
                                           counted(windows.num_beyond_known, "window"), is_one ? "is" : "are");
  if (settings.known.empty())
    return fmt::format(
        "{} the times have no usual step, so that the rows that {} would forecast have no dates, "
        "which data.calendar_ahead needs; set data.frequency, or train with data.calendar_ahead: false",
        left_out, is_one ? "it" : "they");
  return fmt::format("{} the columns of data.known end before the rows that {} would forecast", left_out,
                     is_one ? "it" : "they");
}

// If only some part has shorter sequences, the other has lengths too.
void give_both_lengths(Samples& train, Samples& valid) {
  if (train.lengths.defined() == valid.lengths.defined()) return;
  Samples& whole = train.lengths.defined() ? valid : train;
  whole.lengths = at::full({whole.size()}, whole.inputs.size(1), at::kLong);
}

DataShape shape_of(const Dataset& dataset, const Parts& parts, const DataSettings& settings) {
  const CsvPart& train = parts.train;
  const int64_t num_outputs = train.targets.empty() ? std::ssize(train.labels) : std::ssize(target_names(settings));
  return with_horizons({.task = csv_task(settings),
                        .input_size = dataset.train.inputs.size(2),
                        .sequence_length = dataset.train.inputs.size(1),
                        .num_outputs = num_outputs,
                        .has_lengths = dataset.train.lengths.defined(),
                        .target_per_step = has_target_per_step(settings),
                        .category_sizes = category_sizes(dataset.categories)},
                       settings);
}

void add_samples(Dataset& dataset, const Parts& parts, CsvScalings& scalings, const LocalScales& local,
                 const DataSettings& settings) {
  const SeriesWindows train = windows_of(parts, DataPart::kTrain, settings),
                      valid = windows_of(parts, DataPart::kValid, settings);
  const CsvPart& valid_file = parts.file_of(DataPart::kValid);
  const TargetFrame frame = frame_of_targets(parts.train, train.windows, local, settings);
  const TargetFrame of_valid = frame_of_targets(valid_file, valid.windows, local, settings);
  if (frame.bases.defined())
    scalings.targets =
        fit_changes(relative_to(frame, values_in(parts.train.targets, train.windows)), dataset.normalization);
  dataset.train = samples_in(parts.train, train.windows, scalings, frame, local);
  dataset.valid = samples_in(valid_file, valid.windows, scalings, of_valid, local);
  give_both_lengths(dataset.train, dataset.valid);
  dataset.naive_forecasts = naive_forecasts(valid_file, valid.windows, scalings, settings, of_valid);
  dataset.naive_errors = naive_errors(parts.train, parts.rows.train, settings);
  for (const auto& note : {note_on_series(train, "training part"), note_on_series(valid, "validation part"),
                           note_on_breaks(train, "training part"), note_on_breaks(valid, "validation part"),
                           note_on_gaps(train, "training part"), note_on_gaps(valid, "validation part"),
                           note_on_season(valid_file, valid.windows, settings)})
    if (note) dataset.notes.push_back(*note);
  if (std::string note = local.note_on_unknown(valid_file); !note.empty()) dataset.notes.push_back(std::move(note));
  for (std::string& note : notes_on_missing(dataset.naive_forecasts, dataset.valid.targets, valid_file))
    dataset.notes.push_back(std::move(note));
}

Loaded load_csv(const DataSettings& settings) {
  const Normalization how =
      settings.normalize == Normalization::kAutomatic ? Normalization::kStandard : settings.normalize;
  Parts parts = read_parts(settings, nullptr);
  Loaded loaded;
  loaded.origin = {"csv", parts.train.table.path()};
  loaded.normalize = left_to_do(how);
  loaded.test_classes = classes_of_rows(parts.train, test_targets(parts.rows.test, settings), settings);
  Dataset& dataset = loaded.dataset;
  dataset.notes = std::move(parts.notes);
  dataset.normalization = how;
  dataset.vocabulary = parts.train.labels;
  // The model may later be used with missing: mean.
  dataset.column_means = column_means(parts.train, parts.rows.train);
  fill_missing(parts, settings, dataset.column_means);
  CsvScalings scalings = fit_scalings(parts.train, parts.rows.train, settings, how);
  const LocalScales local = LocalScales::fit(parts.train, parts.rows.train, scalings.features, settings, how);
  dataset.series_scales = local.saved();
  const std::vector<Scaling> derived = derived_scalings(parts.train, scalings.features, settings);
  scalings.features.insert(scalings.features.end(), derived.begin(), derived.end());
  add_derived(parts, settings, dataset.column_means);
  dataset.categories = categories_in(parts.train, parts.rows.train, settings);
  encode_categories(parts, dataset.categories, settings);
  move_notes(parts, dataset.notes);
  dataset.time = parts.train.time;
  if (parts.train.order) dataset.is_day_first = parts.train.order == DateOrder::kDayFirst;
  scalings.features.resize(parts.train.features.size());  // the numbers of categories are not scaled
  add_samples(dataset, parts, scalings, local, settings);
  dataset.shape = shape_of(dataset, parts, settings);
  add_notes(dataset, parts, settings, how);
  add_scales(dataset, parts.train, scalings, how, settings);
  return loaded;
}

// The mask is an input, which a model has or has not.
void refuse_other_mask(const FittedData& fitted, const DataSettings& settings) {
  const bool is_trained_with = std::ranges::count(fitted.feature_scales, kObserved, &ColumnScale::name) > 0;
  if (is_trained_with == (settings.gaps == Gaps::kMask)) return;
  throw_error(ExitCode::kUsage, "data.gaps: mask adds an input, and the model was trained {}; use {}",
              is_trained_with ? "with it" : "without it",
              is_trained_with ? "data.gaps=mask" : "another value, such as data.gaps=fill");
}

LoadedPart load_csv_part(const DataSettings& settings, const FittedData& fitted, DataPart part, Targets targets) {
  const CsvLayout like = layout_of(fitted);
  refuse_other_mask(fitted, settings);
  Parts parts = part == DataPart::kAll ? read_whole_file(settings, like, targets) : read_parts(settings, &like);
  fill_missing(parts, settings, fitted.column_means);
  const CsvScalings scalings = scalings_of(fitted, parts.train, settings);
  add_derived(parts, settings, fitted.column_means);
  encode_categories(parts, fitted.categories, settings);
  const CsvPart& file = parts.file_of(part);
  LoadedPart loaded{.samples = {}, .origin = {"csv", file.table.path()}, .normalize = left_to_do(settings.normalize)};
  const auto dropped = targets == Targets::kRequired ? note_on_dropped_rows(parts, settings) : std::nullopt;
  for (const auto& note : {note_on_missing(parts, settings), dropped})
    if (note) loaded.notes.push_back(*note);
  move_notes(parts, loaded.notes);
  const bool has_all_targets = part != DataPart::kAll || targets == Targets::kRequired;
  const LocalScales local = LocalScales::of(fitted, settings);
  if (std::string note = local.note_on_unknown(file); !note.empty()) loaded.notes.push_back(std::move(note));
  const SeriesWindows of_series =
      windows_of(parts, part, settings, has_all_targets ? LastWindows::kWithTargets : LastWindows::kAll);
  const Windows& windows = of_series.windows;
  for (const auto& note :
       {note_on_gaps(of_series, "data"), note_on_breaks(of_series, "data"), note_on_known(of_series, settings)})
    if (note) loaded.notes.push_back(*note);
  const TargetFrame frame = frame_of_targets(file, windows, local, settings);
  loaded.samples = samples_in(file, windows, scalings, frame, local);
  if (part == DataPart::kTrain) loaded.naive_errors = naive_errors(file, parts.rows.train, settings);
  if (has_all_targets) loaded.naive_forecasts = naive_forecasts(file, windows, scalings, settings, frame);
  if (targets == Targets::kRequired) return loaded;
  loaded.rows =
      part == DataPart::kAll ? rows_of_file(file, windows, settings) : rows_of_samples(file, windows, settings);
  return loaded;
}

std::string fault_of_local_scales(const FittedData& data, const DataSettings& settings) {
  if (data.series_scales.empty() != (settings.scale_by == ScaleBy::kFile))
    return fmt::format("{} for data.scale_by: {}", counted(std::ssize(data.series_scales), "scale"),
                       config::name_of(settings.scale_by));
  const bool has_numbers = data.shape.task != Task::kClassification;
  for (const SeriesScales& one : data.series_scales) {
    if (!std::ranges::equal(one.features, data.series_scales.front().features, {}, &ColumnScale::name,
                            &ColumnScale::name))
      return fmt::format("scales of other columns for the series {}", in_quotes(one.name));
    if (std::ssize(one.targets) != (has_numbers ? std::ssize(settings.target) : 0))
      return fmt::format("{} of targets for the series {}", counted(std::ssize(one.targets), "scale"),
                         in_quotes(one.name));
  }
  return "";
}

// A table is scaled column by column.
std::string fault_of_csv(const FittedData& data, const DataSettings& settings) {
  const DataShape& shape = data.shape;
  const bool has_steps_of_rows = settings.window > 0 || shape.target_per_step;
  const int64_t num_columns = has_steps_of_rows ? shape.input_size : shape.sequence_length;
  if (std::ssize(data.feature_scales) != num_columns)
    return fmt::format("{} for {}", counted(std::ssize(data.feature_scales), "scale"), counted(num_columns, "column"));
  const bool are_known = std::ranges::equal(data.categories, settings.categories, {}, &CategoryColumn::name);
  if (!are_known || std::ssize(data.categories) > shape.input_size)
    return "values of other columns than those of data.categories";
  if (const std::string fault = fault_of_local_scales(data, settings); !fault.empty()) return fault;
  if (shape.first_ahead < 0) return "fewer features than data.known, calendar and gaps: mask add";
  const bool fits_window = shape.target_per_step ? settings.window == 0 || shape.sequence_length <= settings.window
                           : settings.window > 0 ? shape.sequence_length == settings.window
                                                 : shape.input_size == 1;
  if (!fits_window)
    return fmt::format("{} steps of {} features for a data.window of {}", shape.sequence_length, shape.input_size,
                       settings.window);
  const bool has_names = shape.task == Task::kClassification;
  const auto num_outputs = has_names ? std::ssize(data.vocabulary) : std::ssize(target_names(settings));
  if (num_outputs != shape.num_outputs)
    return fmt::format("{} {} of {} outputs", num_outputs, has_names ? "names" : "columns", shape.num_outputs);
  const bool scales_targets = shape.task == Task::kRegression && is_fitted(data.normalization);
  if (scales_targets == data.target_scales.empty())
    return fmt::format("{} of {} targets", counted(std::ssize(data.target_scales), "scale"), shape.num_outputs);
  return "";
}

DataShape least_csv_shape(const DataSettings& settings) {
  return with_horizons({.task = csv_task(settings),
                        .input_size = 1 + std::ssize(derived_names(settings)),
                        .sequence_length = has_target_per_step(settings) ? 1 : std::max<int64_t>(settings.window, 1),
                        .num_outputs = std::ssize(settings.horizon),
                        .target_per_step = has_target_per_step(settings)},
                       settings);
}

}  // namespace

const SourceInfo& csv_source() {
  static const SourceInfo info = {
      .description = "a table in a CSV file, or a series with a window",
      .form = DataForm::kTable,
      .tasks = {Task::kClassification, Task::kBinary, Task::kRegression},
      .keys =
          {"path",       "valid_fraction", "test_fraction", "split",       "stratify",   "seed",           "normalize",
           "task",       "train_file",     "valid_file",    "num_test",    "test_file",  "delimiter",      "decimal",
           "header",     "features",       "target",        "id",          "missing",    "window",         "categories",
           "group",      "horizon",        "season",        "inputs_from", "target_per", "time",           "unsorted",
           "duplicates", "gaps",           "missing_words", "known",       "calendar",   "calendar_ahead", "target_as",
           "frequency",  "static",         "scale_by",      "folds",       "fold"},
      .check = check_csv,
      .least_shape = least_csv_shape,
      .load = load_csv,
      .load_part = load_csv_part,
      .fault = fault_of_csv,
      .inspect_file = inspect_csv_file,
  };
  return info;
}

}  // namespace rnnlab
