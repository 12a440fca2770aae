// SPDX-License-Identifier: Apache-2.0
// A .ts file of the UEA archive (also written by sktime and aeon): a header of lines that begin with '@', then one
// series a line. The dimensions of a series are separated by ':', their values by ','. The class or the target is last.
// The reader is strict: every series has the header's dimensions and class names, and all dimensions of a series have
// the same length. Different series may have different lengths. Lines that begin with '#' or '%', and blank lines, are
// skipped. Values with time stamps are refused. Values are neither padded nor scaled.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/readers/csv.h"

namespace rnnlab {

// kNone: the header declares neither classes (@classLabel true) nor a number (@targetLabel true).
enum class TsTarget { kNone, kClass, kNumber };

struct TsSeries {
  int64_t line = 0;
  int64_t num_steps = 0;
  size_t first_value = 0;  // index into TsFile::values
  int64_t label = -1;      // index into TsFile::labels; -1 if the file has no classes or the class is missing
  float target = 0;        // of TsTarget::kNumber; NaN if it is missing
};

// There is at least one series, and every series has at least one step.
struct TsFile {
  std::string path;
  TsTarget target = TsTarget::kNone;
  std::vector<std::string> labels;  // the names of the classes, in the order of the header
  int64_t num_dimensions = 0;
  int64_t num_missing = 0;    // values that the policy has filled
  std::vector<float> values;  // finite; (steps, dimensions) of one series after the other
  std::vector<TsSeries> series;

  int64_t most_steps() const;
  int64_t fewest_steps() const;
  std::span<const float> values_of(const TsSeries& one) const;
};

// A missing value is one of csv.h. `missing` is kError, kPrevious (the value of the step before) or kZero. Reads a
// plain or gzip file. Throws UserError kData with the line if the file is invalid or a number exceeds float32.
TsFile read_ts(const std::filesystem::path& path, MissingPolicy missing = MissingPolicy::kError);

// Parses text in memory by the same rules as read_ts; `name` replaces the path in messages.
TsFile parse_ts(std::string_view text, const std::string& name, MissingPolicy missing = MissingPolicy::kError);

// Returns whether the first line of `head` that is neither blank nor a comment is a line of such a header.
bool begins_like_ts(std::string_view head);

}  // namespace rnnlab
