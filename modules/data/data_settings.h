// SPDX-License-Identifier: Apache-2.0
// The `data:` part of an experiment: the source of the samples, and how they are split and scaled. The record
// of a source says which keys it reads (source.h). A key that the chosen source does not read is an error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/config/schema.h"
#include "data/batches.h"
#include "data/readers/csv.h"
#include "data/readers/text_file.h"
#include "data/source.h"
#include "data/split.h"

namespace rnnlab {

enum class TaskChoice { kAutomatic, kClassification, kBinary, kRegression };
enum class TargetPer { kSequence, kStep };
enum class Labels { kClasses, kBinary, kGaussian };
enum class Unsorted { kError, kSort, kIgnore };             // rows that are not in the order of time
enum class Duplicates { kError, kFirst, kLast, kIgnore };   // rows of a series with the same time
enum class Gaps { kError, kSplit, kIgnore, kFill, kMask };  // steps in time that are not the usual one
enum class CalendarPhase { kMinute, kHour, kWeekday, kDay, kMonth };
enum class TargetAs { kValue, kChange, kSeasonalChange };
enum class ScaleBy { kFile, kSeries, kWindow };  // whose values the scales of csv columns are fitted to
enum class InputsFrom { kSeries, kPart };        // where the rows may be that windows of validation and of tests read
enum class InputMemory { kAutomatic, kResident, kMapped };  // where inputs are: in memory, or in their mapped file

// The members stand in the order of the reference of keys; there is one such struct in a program.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
struct DataSettings {
  Source source = Source::kDigits;
  std::string path;
  std::optional<int64_t> num_train;
  std::optional<int64_t> num_valid;
  int64_t num_test = 0;
  double valid_fraction = 0.1;
  double test_fraction = 0;
  Split split = Split::kAutomatic;
  std::optional<bool> stratify;
  std::optional<int64_t> folds;
  std::optional<int64_t> fold;  // from 1; each run of a back-test has its own
  int64_t seed = 1;
  Normalization normalize = Normalization::kAutomatic;
  std::optional<int64_t> byte_maximum;  // mnist, idx, npy: the byte that `unit` makes 1; not set: 255
  Placement placement = Placement::kAutomatic;
  TaskChoice task = TaskChoice::kAutomatic;
  TargetPer target_per = TargetPer::kSequence;

  // idx, npy
  std::string train_inputs;
  std::string train_targets;
  std::string train_lengths;
  std::string valid_inputs;
  std::string valid_targets;
  std::string valid_lengths;
  std::string test_inputs;
  std::string test_targets;
  std::string test_lengths;

  // npy
  InputMemory memory = InputMemory::kAutomatic;

  // csv, text, ts
  std::string train_file;
  std::string valid_file;
  std::string test_file;

  // csv
  std::string delimiter = ",";
  std::string decimal = ".";
  bool header = true;
  std::vector<std::string> features;
  std::vector<std::string> target;
  std::vector<std::string> categories;
  std::vector<std::string> id;
  MissingPolicy missing = MissingPolicy::kError;  // idx, npy and ts too
  int64_t window = 0;
  std::string group;                   // column that names the series of a row; "": one series
  std::vector<int64_t> horizon = {1};  // ascending
  std::optional<int64_t> season;
  std::string time;  // column with the times of the rows; "": looked for among the columns that are not used
  Unsorted unsorted = Unsorted::kError;
  Duplicates duplicates = Duplicates::kError;
  Gaps gaps = Gaps::kError;
  std::string frequency;  // the step in time of a series, such as "1h"; "": the usual one
  std::vector<std::string> missing_words = {usual_missing_words().begin(), usual_missing_words().end()};
  std::optional<InputsFrom> inputs_from;
  TargetAs target_as = TargetAs::kValue;
  ScaleBy scale_by = ScaleBy::kFile;
  std::vector<std::string> known;            // columns whose values are known ahead, up to the horizon
  std::vector<CalendarPhase> calendar;       // phases of the times of the rows, as inputs
  std::optional<bool> calendar_ahead;        // the same of the rows to be forecast, for a decoder; unset: see below
  std::vector<std::string> static_features;  // columns of numbers that are constant within each series

  // text
  TextUnit tokens = TextUnit::kCodePoint;

  // text, synthetic
  int64_t sequence_length = 50;

  // synthetic
  int64_t num_features = 32;
  Labels labels = Labels::kClasses;

  // idx, npy, synthetic
  std::optional<int64_t> num_classes;

  static const config::Schema<DataSettings>& schema();
};

// Returns the task that `choice` names; nullopt for kAutomatic, because then the task depends on the data.
std::optional<Task> named_task(TaskChoice choice);

// Returns the choice that names the task. Throws InvariantError for a language model, because no choice names it.
TaskChoice choice_of(Task task);

// Resolves data.split: auto is ordered for text and for windows, because they overlap, else random.
Split resolved_split(const DataSettings& settings);

// Returns how the training file is split. A part with files of its own gets nothing of it. If no part gets anything,
// the samples keep their order.
SplitRequest split_request(const DataSettings& settings);

// A missing target is never filled, because it would be taken for a true one. Returns whether it is refused.
MissingTargets missing_targets(const DataSettings& settings, Targets targets);

// Returns whether the rows of a csv file are steps of series.
bool has_series(const DataSettings& settings);

// Returns whether the order of the rows of a csv file matters: for series, for an ordered split, and where a missing
// value is that of the row before.
bool uses_order(const DataSettings& settings);
// Returns whether the training file gives samples to the test part.
bool splits_off_test_part(const DataSettings& settings);

// Returns whether data.num_valid and data.num_test count windows of each series, and not of the whole file.
bool counts_each_series(const DataSettings& settings);

// Runs record how their data were split. The first function sets the keys `stratify` and `inputs_from` to what training
// does if they are not set, and the second to what versions did that did not know the keys. They set only keys that
// have an effect.
void choose_split(DataSettings& settings);
void choose_split_of_earlier_versions(DataSettings& settings);

// Sets the key `calendar_ahead` to what training does if it is not set: a model that can read the calendar of the rows
// to be forecast, such as one with a decoder, does. Versions that did not know the key never did (the second above).
void choose_calendar(DataSettings& settings, bool can_read_ahead);

// Returns whether inputs have the calendar of the rows to be forecast.
bool has_calendar_ahead(const DataSettings& settings);

// Returns whether windows of validation and of tests may have rows before their part.
bool reaches_back(const DataSettings& settings);

// Returns whether targets are changes from values before them.
bool are_changes(const DataSettings& settings);

// Returns whether targets are relative to values of their own series or window: to a base, a scale or both.
bool are_relative(const DataSettings& settings);

// Returns whether rows that are missing in time become rows of their series.
bool inserts_rows(const DataSettings& settings);

// Returns whether each step has a target, as in tagging.
bool has_target_per_step(const DataSettings& settings);

// Returns whether there are files for the validation part.
bool has_valid_files(const DataSettings& settings);

// Returns whether there are files for the test part.
bool has_test_files(const DataSettings& settings);

// Returns whether there is a test part, from files of its own or from the training files.
bool has_test_part(const DataSettings& settings);

// Reports data.normalize: unit, which is only for sources that can hold bytes.
void refuse_unit_normalization(const DataSettings& settings, config::Checker& checker);

}  // namespace rnnlab

namespace rnnlab::config {

template <>
struct EnumNames<Placement> {
  static constexpr std::array<std::pair<Placement, std::string_view>, 3> kNames = {
      {{Placement::kAutomatic, "auto"}, {Placement::kDevice, "device"}, {Placement::kHost, "host"}}};
};

template <>
struct EnumNames<InputsFrom> {
  static constexpr std::array<std::pair<InputsFrom, std::string_view>, 2> kNames = {
      {{InputsFrom::kSeries, "series"}, {InputsFrom::kPart, "part"}}};
};

template <>
struct EnumNames<ScaleBy> {
  static constexpr std::array<std::pair<ScaleBy, std::string_view>, 3> kNames = {
      {{ScaleBy::kFile, "file"}, {ScaleBy::kSeries, "series"}, {ScaleBy::kWindow, "window"}}};
};

template <>
struct EnumNames<TargetAs> {
  static constexpr std::array<std::pair<TargetAs, std::string_view>, 3> kNames = {
      {{TargetAs::kValue, "value"}, {TargetAs::kChange, "change"}, {TargetAs::kSeasonalChange, "seasonal_change"}}};
};

template <>
struct EnumNames<CalendarPhase> {
  static constexpr std::array<std::pair<CalendarPhase, std::string_view>, 5> kNames = {
      {{CalendarPhase::kMinute, "minute"},
       {CalendarPhase::kHour, "hour"},
       {CalendarPhase::kWeekday, "weekday"},
       {CalendarPhase::kDay, "day"},
       {CalendarPhase::kMonth, "month"}}};
};

template <>
struct EnumNames<InputMemory> {
  static constexpr std::array<std::pair<InputMemory, std::string_view>, 3> kNames = {
      {{InputMemory::kAutomatic, "auto"}, {InputMemory::kResident, "resident"}, {InputMemory::kMapped, "mapped"}}};
};

template <>
struct EnumNames<TaskChoice> {
  static constexpr std::array<std::pair<TaskChoice, std::string_view>, 4> kNames = {
      {{TaskChoice::kAutomatic, "auto"},
       {TaskChoice::kClassification, "classification"},
       {TaskChoice::kBinary, "binary"},
       {TaskChoice::kRegression, "regression"}}};
};

template <>
struct EnumNames<TargetPer> {
  static constexpr std::array<std::pair<TargetPer, std::string_view>, 2> kNames = {
      {{TargetPer::kSequence, "sequence"}, {TargetPer::kStep, "step"}}};
};

template <>
struct EnumNames<Labels> {
  static constexpr std::array<std::pair<Labels, std::string_view>, 3> kNames = {
      {{Labels::kClasses, "classes"}, {Labels::kBinary, "binary"}, {Labels::kGaussian, "gaussian"}}};
};

template <>
struct EnumNames<MissingPolicy> {
  static constexpr std::array<std::pair<MissingPolicy, std::string_view>, 5> kNames = {
      {{MissingPolicy::kError, "error"},
       {MissingPolicy::kDrop, "drop"},
       {MissingPolicy::kPrevious, "previous"},
       {MissingPolicy::kMean, "mean"},
       {MissingPolicy::kZero, "zero"}}};
};

template <>
struct EnumNames<Unsorted> {
  static constexpr std::array<std::pair<Unsorted, std::string_view>, 3> kNames = {
      {{Unsorted::kError, "error"}, {Unsorted::kSort, "sort"}, {Unsorted::kIgnore, "ignore"}}};
};

template <>
struct EnumNames<Duplicates> {
  static constexpr std::array<std::pair<Duplicates, std::string_view>, 4> kNames = {{{Duplicates::kError, "error"},
                                                                                     {Duplicates::kFirst, "first"},
                                                                                     {Duplicates::kLast, "last"},
                                                                                     {Duplicates::kIgnore, "ignore"}}};
};

template <>
struct EnumNames<Gaps> {
  static constexpr std::array<std::pair<Gaps, std::string_view>, 5> kNames = {{{Gaps::kError, "error"},
                                                                               {Gaps::kSplit, "split"},
                                                                               {Gaps::kIgnore, "ignore"},
                                                                               {Gaps::kFill, "fill"},
                                                                               {Gaps::kMask, "mask"}}};
};

template <>
struct EnumNames<TextUnit> {
  static constexpr std::array<std::pair<TextUnit, std::string_view>, 2> kNames = {
      {{TextUnit::kByte, "bytes"}, {TextUnit::kCodePoint, "characters"}}};
};

}  // namespace rnnlab::config
