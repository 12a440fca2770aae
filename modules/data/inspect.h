// SPDX-License-Identifier: Apache-2.0
// Describes data for `rnnlab data inspect`: shapes, types, classes, ranges, missing values, first rows, and a picture
// of an image. The description is a JSON document, for programs; inspection_text writes the same for people. No file is
// changed.
#pragma once

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "data/data_settings.h"
#include "data/dataset.h"
#include "data/source.h"

namespace rnnlab {

using Json = nlohmann::ordered_json;

// The data set of an experiment after it is split and scaled for training.
struct DatasetInspection {
  Json json;
};

struct FileInspection {
  std::string path;  // as the user wrote it
  Source format = Source::kText;
  Json content;  // a key is left out if there is no value for it
  std::vector<std::string> hints;
  std::vector<std::string> yaml;  // the lines of an experiment that train on the file; empty if that is impossible
};

using Inspection = std::variant<DatasetInspection, FileInspection>;

// Throws UserError as load_dataset.
Inspection inspect(const DataSettings& settings);

// The format is guessed from the content (idx, npy, ts, csv or text; gzip is unpacked). Throws UserError as the reader
// of that format, and kData for archives and other formats that rnnlab does not read.
Inspection inspect_file(const std::filesystem::path& path);

Json inspection_json(const Inspection& inspection);

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

// The parts of descriptions that several formats have.

inline constexpr size_t kMostClasses = 100;     // limit of listed classes
inline constexpr int64_t kSmallestPicture = 8;  // rows and columns

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

  // Adds the keys of the statistics.
  void add_to(Json& json) const;

 private:
  Moments finite_;
  int64_t num_not_finite_ = 0;
};

// Returns the shape, type ("float32", or "f32" of a file) and numbers of an array.
Json array_json(std::span<const int64_t> shape, std::string_view type, const NumberSummary& numbers);

// Adds a class with its count to the classes of `json`. `counted` is what has a class each: "samples" or "steps".
void add_class(Json& json, const std::string& name, int64_t count, const char* counted = "samples");

// Returns the lines of YAML that name the model for this task.
std::vector<std::string> yaml_of_model(Task task);

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
