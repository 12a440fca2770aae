// Describes a file of each format for inspect_file(), with the lines of YAML that train on it. Internal to inspect.h:
// inspect_file() guesses the format and adds the file's name.
#pragma once

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <ranges>
#include <string>
#include <vector>

#include "data/normalize.h"

namespace rnnlab {

// The statistics of numbers in `data inspect`: range, mean and standard deviation of the finite numbers, and the count
// of the rest. They are written to JSON.
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

  // Adds minimum, maximum, mean and standard_deviation to `json`, and not_finite if there are NaN or Inf.
  void write(nlohmann::ordered_json& json) const {
    if (finite_.count() > 0) {
      json["minimum"] = finite_.minimum();
      json["maximum"] = finite_.maximum();
      json["mean"] = finite_.mean();
      json["standard_deviation"] = finite_.standard_deviation();
    }
    if (num_not_finite_ > 0) json["not_finite"] = num_not_finite_;
  }

 private:
  Moments finite_;
  int64_t num_not_finite_ = 0;
};

// `source` is idx or npy, and `path` must have this format. Throws UserError as the reader of that format.
nlohmann::ordered_json describe_array(const std::string& source, const std::filesystem::path& path);

// Returns nullopt if the file is not a table of at least two columns and rows, or if its name ends in .txt. Throws
// UserError kData if its name ends in .csv or .tsv and it is not a table. `head` is the beginning of the file.
std::optional<nlohmann::ordered_json> describe_if_table(const std::filesystem::path& path, const std::string& head);

// `head` is the beginning of the file, or all of it if the file is shorter than kHeadBytes.
nlohmann::ordered_json describe_text(const std::filesystem::path& path, const std::string& head);

inline constexpr size_t kHeadBytes = 4096;
inline constexpr size_t kMostClasses = 100;  // limit of listed classes

// Returns `text` as a JSON string, which is also a double-quoted string of YAML.
std::string yaml_text(const std::string& text);

// Adds vocabulary_size, and the first tokens as vocabulary.
void add_vocabulary(nlohmann::ordered_json& json, const std::vector<std::string>& vocabulary);

}  // namespace rnnlab
