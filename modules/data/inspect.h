// SPDX-License-Identifier: Apache-2.0
// Describes data for `rnnlab data inspect`: shapes, types, classes, ranges, missing values, first rows, and a picture
// of an image. The description consists of typed values; inspection_json writes them for programs and inspection_text
// for people. No file is changed.
#pragma once

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "data/data_settings.h"
#include "data/dataset.h"
#include "data/normalize.h"
#include "data/readers/times.h"
#include "data/source.h"

namespace rnnlab {

inline constexpr size_t kMostClasses = 100;  // limit of listed classes

// The statistics of numbers: range, mean and standard deviation of the finite numbers, and the count of the rest.
class NumberSummary {
 public:
  template <std::ranges::range Values>
  static NumberSummary of(const Values& values) {
    NumberSummary summary;
    for (const auto value : values) summary.add(static_cast<double>(value));
    return summary;
  }

  void add(double value) {
    if (std::isfinite(value)) {
      finite_.add(value);
    } else {
      ++num_not_finite_;
    }
  }

  const Moments& finite() const { return finite_; }
  int64_t num_not_finite() const { return num_not_finite_; }

 private:
  Moments finite_;
  int64_t num_not_finite_ = 0;
};

struct Array;  // readers/array.h

struct ArraySummary {
  std::vector<int64_t> shape;
  std::string type;  // "float32", or "f32" of a file
  NumberSummary numbers;
};

struct ClassCount {
  std::string name;
  int64_t count = 0;
};

// The training part or the validation part. A part without samples has only its number of samples.
struct PartInspection {
  int64_t num_samples = 0;
  std::optional<ArraySummary> inputs, targets, lengths;
  std::vector<ClassCount> classes;  // empty if the task is not a classification
};

struct VocabularySummary {
  size_t size = 0;
  std::vector<std::string> first_tokens;  // in quotes
};

struct SampleInspection {
  std::string text = {};  // of a language model, in quotes; the other fields are for other models
  std::string target = {};
  int64_t num_steps = 0;
  int64_t num_features = 0;
  std::vector<std::vector<float>> first_steps = {};
};

// The data set of an experiment after it is split and scaled for training.
struct DatasetInspection {
  std::string description;
  std::vector<std::string> notes;
  std::string fingerprint;
  PartInspection training, validation;
  std::vector<ColumnScale> target_scales;
  std::optional<VocabularySummary> vocabulary;  // of a language model
  std::vector<SampleInspection> first_samples;
  std::string picture;  // of the first sample if it is an image
};

// The content of an idx or npy file.
struct ArrayInspection {
  ArraySummary array;
  std::vector<ClassCount> classes;
  std::string picture;  // of the first image
};

struct NamedArray {
  std::string name;
  ArraySummary array;
};

// The arrays of an .npz archive, without those that cannot be read.
struct ArchiveInspection {
  std::vector<NamedArray> arrays;
};

// The content of a .ts file. Lengths are those of the series if they vary.
struct SeriesInspection {
  PartInspection part;
  int64_t num_missing = 0;  // values, which count as 0 here
};

struct ColumnInspection {
  std::string name;
  int64_t num_numbers = 0;
  int64_t num_missing = 0;
  int64_t num_texts = 0;           // neither number nor missing
  int64_t num_booleans = 0;        // of the texts: true and false
  int64_t num_decimal_commas = 0;  // of the texts: numbers written as 1,5 in a file that also has 1.5
  int64_t num_integers = 0;        // of the numbers
  int64_t num_like_thousands = 0;  // of the numbers: written as 1.326 or 12.500, with the decimal mark of the file
  int64_t num_below_thousand = 0;  // of the numbers: integers of at most three digits, such as 998
  std::string like_thousands;      // the first number that is written as 1.326
  NumberSummary numbers;
  Moments likely_values;                              // the numbers except likely placeholders
  std::map<std::string, int64_t> placeholders = {};   // of the numbers: such as -999, which may mean a missing value
  std::set<std::string> texts;                        // at most kMostClasses + 1 texts
  std::set<std::string> values;                       // numbers and texts, at most kMostClasses + 1
  std::map<std::string, int64_t> missing_words = {};  // of the missing values: those that are not empty cells
  std::vector<std::string> alike = {};  // of the values: the first group of those that differ only in their spelling
  bool numbers_rows = false;            // whether it is an index
  bool is_nameless_and_empty = false;   // whether it is what a delimiter at the end of each line makes
  bool has_times = false;               // whether every cell is a date or a time

  // Returns whether the column holds numbers, or true and false, and at most as many missing values.
  bool is_numeric() const {
    return num_numbers + num_booleans > 0 && num_texts == (num_numbers > 0 ? 0 : num_booleans) &&
           num_missing <= num_numbers + num_booleans;
  }

  // Returns whether the column may be an input.
  bool may_be_input() const { return is_numeric() && !numbers_rows && !has_times; }

  // Returns whether the column holds texts that repeat, or few integers that repeat often.
  bool is_label() const;

  // Returns whether all numbers are written as numbers with a mark between thousands would be: 998, 1.326, 12.500.
  bool is_like_thousands() const {
    return num_like_thousands >= 2 && num_like_thousands + num_below_thousand == num_numbers;
  }
};

// The times of the rows of a table, and the steps between them in all series together.
struct TimeInspection {
  std::string column;
  std::string group;        // column of the series; "" for one series
  std::string first, last;  // cells of the earliest and the latest row
  TimeSteps steps;
  bool fits_windows = true;  // whether enough windows cross no gap

  bool is_in_order() const { return steps.num_backwards == 0 && steps.num_repeated == 0 && steps.is_regular(); }
};

struct TableInspection {
  int64_t num_rows = 0;
  std::string delimiter;
  std::string decimal;
  bool has_header = false;
  std::vector<ColumnInspection> columns;
  std::vector<std::vector<std::string>> first_rows;  // cells in quotes
  std::optional<TimeInspection> time = {};
};

struct TextInspection {
  TextUnit unit = TextUnit::kCodePoint;
  size_t num_tokens = 0;
  VocabularySummary vocabulary;
  std::string beginning;  // in quotes
};

struct FileInspection {
  std::string path;  // as the user wrote it
  Source format = Source::kText;
  std::variant<ArrayInspection, ArchiveInspection, SeriesInspection, TableInspection, TextInspection> content;
  std::vector<std::string> hints;
  std::vector<std::string> yaml;  // the lines of an experiment that train on the file; empty if that is impossible
};

using Inspection = std::variant<DatasetInspection, FileInspection>;

// Throws UserError as load_dataset.
Inspection inspect(const DataSettings& settings);

// The format is guessed from the content (idx, npy, ts, csv or text; gzip is unpacked). Throws UserError as the reader
// of that format, and kData for archives and other formats that rnnlab does not read.
Inspection inspect_file(const std::filesystem::path& path);

nlohmann::ordered_json inspection_json(const Inspection& inspection);

// Returns the text of an inspection. Lines have at most `width` columns, except those of pictures and YAML.
std::string inspection_text(const Inspection& inspection, size_t width = 100);

// Returns the lines of YAML that train on the file, after comments with what the file holds.
std::string inspection_yaml(const FileInspection& file, size_t width = 100);

// The functions below describe a file for the record of its source (SourceInfo::inspect_file). `head` is the beginning
// of the file, or all of it if the file is shorter than kHeadBytes.

inline constexpr size_t kHeadBytes = 4096;

std::optional<FileInspection> inspect_idx_file(const std::filesystem::path& path, const std::string& head);
std::optional<FileInspection> inspect_npy_file(const std::filesystem::path& path, const std::string& head);

// Returns nullopt if the file is not a zip archive with arrays (NAME.npy).
std::optional<FileInspection> inspect_npz_file(const std::filesystem::path& path, const std::string& head);

// Returns nullopt if the name does not end in .ts and the file does not begin with a header of this format.
std::optional<FileInspection> inspect_ts_file(const std::filesystem::path& path, const std::string& head);

// Returns nullopt if the file is not a table of at least two columns and rows, or if its name ends in .txt. Throws
// UserError kData if its name ends in .csv or .tsv and it is not a table.
std::optional<FileInspection> inspect_csv_file(const std::filesystem::path& path, const std::string& head);

std::optional<FileInspection> inspect_text_file(const std::filesystem::path& path, const std::string& head);

// Returns the shape, type and numbers of an array.
ArraySummary summary_of_array(const Array& array);

// Returns the largest byte, at least 1, of inputs that fill at most half of the range of a byte; 0 for other inputs.
// Training refuses such bytes, unless data.byte_maximum or data.normalize is set.
int64_t small_byte_maximum(const ArraySummary& inputs);
std::string byte_maximum_line(int64_t maximum);  // of YAML
std::string hint_on_bytes(int64_t maximum);

// Returns whether targets of this shape are a class for each step of inputs (N, T, F): whole numbers (N, T).
bool are_classes_of_steps(std::span<const int64_t> targets, bool are_whole, std::span<const int64_t> inputs);

// Returns whether targets of this shape are numbers for each step of inputs (N, T, ...): (N, T, K).
bool are_numbers_of_steps(std::span<const int64_t> targets, std::span<const int64_t> inputs);

// The two files of a data set in the UCR and UEA archives: NAME_TRAIN.ts and NAME_TEST.ts in one folder, or .tsv.
struct ArchiveFiles {
  std::filesystem::path folder;
  std::string train;
  std::string test;
};

// Returns both files if `path` has the name of one of them and both exist.
std::optional<ArchiveFiles> archive_files(const std::filesystem::path& path);

// Returns the lines of YAML that name the data: a folder and its two files if archive_files finds them, else `path`.
std::vector<std::string> yaml_of_files(const std::filesystem::path& path);

// Returns `text` as a double-quoted string of YAML.
std::string yaml_text(const std::string& text);

}  // namespace rnnlab
