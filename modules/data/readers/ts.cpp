// SPDX-License-Identifier: Apache-2.0
#include "data/readers/ts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <unordered_map>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "data/readers/byte_stream.h"

namespace rnnlab {
namespace {

constexpr int64_t kLargestTsFile = int64_t{4} << 30;
constexpr float kMissingTarget = std::numeric_limits<float>::quiet_NaN();

// Keys that say nothing about the values, or nothing that the series do not say themselves.
constexpr std::array<std::string_view, 3> kPassedOver = {"@problemname", "@missing", "@relation"};

struct Line {
  int64_t number = 0;
  std::string_view text;  // trimmed
};

bool is_comment(std::string_view line) { return line.empty() || line[0] == '#' || line[0] == '%'; }

// Takes the lines that are neither blank nor comments from a text.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {
    if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
  }

  std::optional<Line> next() {
    while (!rest_.empty()) {
      const size_t end = rest_.find('\n');
      const std::string_view line = trim(rest_.substr(0, end));
      rest_ = end == std::string_view::npos ? std::string_view() : rest_.substr(end + 1);
      ++number_;
      if (!is_comment(line)) return Line{number_, line};
    }
    return std::nullopt;
  }

  int64_t number() const { return number_; }

 private:
  std::string_view rest_;
  int64_t number_ = 0;
};

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (size_t at = text.find_first_not_of(" \t"); at != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_of(" \t", at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = text.find_first_not_of(" \t", end);
  }
  return words;
}

// What the header says. A size that is not set is that of the first series.
struct Header {
  bool is_univariate = false;
  bool has_equal_lengths = false;
  std::optional<int64_t> num_dimensions;
  std::optional<int64_t> num_steps;
  std::vector<std::string> labels;
  TsTarget target = TsTarget::kNone;
};

class TsParser {
 public:
  TsParser(std::string_view text, const std::string& name, MissingPolicy missing) : lines_(text), missing_(missing) {
    RNNLAB_INVARIANT(
        missing == MissingPolicy::kError || missing == MissingPolicy::kPrevious || missing == MissingPolicy::kZero,
        "a policy that a series cannot have");
    file_.path = name;
  }

  TsFile parse() {
    parse_header();
    while (const auto line = lines_.next()) parse_series(*line);
    if (file_.series.empty()) fail(lines_.number(), "no series follows @data", "fetch the file again");
    return std::move(file_);
  }

 private:
  [[noreturn]] void fail(int64_t line, std::string_view message, std::string_view remedy) const {
    throw_error(ExitCode::kData, "{}:{}: {}: {}", file_.path, std::max<int64_t>(line, 1), message, remedy);
  }

  void parse_header() {
    std::set<std::string> keys;
    while (const auto line = lines_.next()) {
      const std::vector<std::string> words = words_of(line->text);
      const std::string key = lower_case(words[0]);
      if (key == "@data" && words.size() == 1) return finish_header(line->number);
      if (!key.starts_with('@'))
        fail(line->number, fmt::format("got {}, expected a line of the header such as @data", in_quotes(line->text)),
             "check that this is a .ts file of the UEA archive");
      if (!keys.insert(key).second)
        fail(line->number, fmt::format("{} occurs twice", on_one_line(words[0])), "remove one of the two lines");
      parse_key(*line, key, words);
    }
    fail(lines_.number(), "the file ends without a line @data", "check that this is a .ts file of the UEA archive");
  }

  void parse_key(const Line& line, const std::string& key, const std::vector<std::string>& words) {
    if (std::ranges::count(kPassedOver, key) > 0) return;
    if (key == "@timestamps") return refuse_time_stamps(line, words);
    if (key == "@univariate") return set(header_.is_univariate, bool_of(line, words));
    if (key == "@equallength") return set(header_.has_equal_lengths, bool_of(line, words));
    if (key == "@dimensions" || key == "@dimension") return set(header_.num_dimensions, size_of(line, words));
    if (key == "@serieslength") return set(header_.num_steps, size_of(line, words));
    if (key == "@classlabel") return parse_labels(line, words);
    if (key == "@targetlabel") return parse_target(line, words);
    fail(line.number,
         fmt::format("got {}, expected @problemName, @timeStamps, @missing, @univariate, @dimensions, @equalLength, "
                     "@seriesLength, @classLabel, @targetLabel or @data",
                     in_quotes(words[0])),
         "remove the line if the values do not depend on it");
  }

  template <class To, class From>
  static void set(To& to, const From& from) {
    to = from;
  }

  void refuse_time_stamps(const Line& line, const std::vector<std::string>& words) const {
    if (bool_of(line, words))
      fail(line.number, "the values have time stamps, which rnnlab does not read",
           "write the values alone, in the order of time, and @timeStamps false");
  }

  bool bool_of(const Line& line, const std::vector<std::string>& words) const {
    const std::string word = words.size() >= 2 ? lower_case(words[1]) : "";
    if (word != "true" && word != "false")
      fail(line.number, fmt::format("got {}, expected true or false after it", in_quotes(line.text)),
           "correct the line");
    return word == "true";
  }

  int64_t size_of(const Line& line, const std::vector<std::string>& words) const {
    const auto size = words.size() == 2 ? parse_int64(words[1]) : std::nullopt;
    if (!size || *size < 1)
      fail(line.number, fmt::format("got {}, expected an integer from 1 after it", in_quotes(line.text)),
           "correct the line");
    return *size;
  }

  void take_target(const Line& line, TsTarget target) {
    if (header_.target != TsTarget::kNone)
      fail(line.number, "both @classLabel and @targetLabel are true, but a series has one of them",
           "set one of the two to false");
    header_.target = target;
  }

  void parse_labels(const Line& line, const std::vector<std::string>& words) {
    if (!bool_of(line, words)) return;
    take_target(line, TsTarget::kClass);
    header_.labels.assign(words.begin() + 2, words.end());
    if (header_.labels.size() < 2)
      fail(line.number, fmt::format("got {}, expected at least 2", counted(std::ssize(header_.labels), "class")),
           "name all classes after @classLabel true");
    for (const std::string& label : header_.labels)
      require_label(line, label, label_numbers_.emplace(label, std::ssize(label_numbers_)).second);
  }

  void require_label(const Line& line, const std::string& label, bool is_new) const {
    if (!is_new) fail(line.number, fmt::format("the class {} occurs twice", in_quotes(label)), "name every class once");
    if (!is_valid_utf8(label) || label.find('\0') != std::string::npos || label.find(':') != std::string::npos)
      fail(line.number, fmt::format("got the class {}, expected UTF-8 without ':'", in_quotes(label)),
           "give the class another name");
  }

  void parse_target(const Line& line, const std::vector<std::string>& words) {
    if (bool_of(line, words)) take_target(line, TsTarget::kNumber);
  }

  void finish_header(int64_t line) {
    if (header_.is_univariate && header_.num_dimensions.value_or(1) != 1)
      fail(line,
           fmt::format("the header has @univariate true and @dimensions {}, which contradict each other",
                       *header_.num_dimensions),
           "correct one of the two lines");
    if (header_.is_univariate) header_.num_dimensions = 1;
    if (!header_.has_equal_lengths) header_.num_steps.reset();
    file_.target = header_.target;
    file_.labels = header_.labels;
  }

  void parse_series(const Line& line) {
    std::vector<std::string_view> parts = split_views(line.text, ':');
    TsSeries series{.line = line.number, .first_value = file_.values.size()};
    if (header_.target != TsTarget::kNone) {
      parse_series_target(line, trim(parts.back()), series);
      parts.pop_back();
    }
    require_dimensions(line, std::ssize(parts));
    series.num_steps = steps_of(line, parts);
    require_steps(line, series.num_steps);
    const auto num_values = static_cast<size_t>(series.num_steps) * parts.size();
    file_.values.resize(file_.values.size() + num_values);
    for (size_t i = 0; i < parts.size(); ++i) parse_dimension(line, parts[i], i, series);
    file_.series.push_back(series);
  }

  // Returns the number of steps, which all dimensions of a series share. Memory for the values is allocated after this
  // check, because steps times dimensions could be far more than the values of the line.
  int64_t steps_of(const Line& line, const std::vector<std::string_view>& parts) const {
    const int64_t num_steps = std::ranges::count(parts[0], ',') + 1;
    for (size_t i = 1; i < parts.size(); ++i) {
      const int64_t count = std::ranges::count(parts[i], ',') + 1;
      if (count != num_steps)
        fail(line.number,
             fmt::format("dimension {} has {}, but dimension 1 has {}", i + 1, counted(count, "step"), num_steps),
             "give all dimensions of a series the same length");
    }
    return num_steps;
  }

  static std::vector<std::string_view> split_views(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (size_t end = text.find(separator); end != std::string_view::npos; end = text.find(separator)) {
      parts.push_back(text.substr(0, end));
      text.remove_prefix(end + 1);
    }
    parts.push_back(text);
    return parts;
  }

  void parse_series_target(const Line& line, std::string_view text, TsSeries& series) const {
    if (header_.target == TsTarget::kNumber) return set(series.target, number_target(line, text));
    const auto found = label_numbers_.find(std::string(text));
    if (found != label_numbers_.end()) return set(series.label, found->second);
    if (is_missing(text)) return;
    fail(line.number,
         fmt::format("got the class {}, expected one that @classLabel names{}", in_quotes(text),
                     did_you_mean(text, header_.labels)),
         "correct the line, or name the class in the header");
  }

  float number_target(const Line& line, std::string_view text) const {
    if (is_missing(text)) return kMissingTarget;
    const auto number = parse_double(text);
    if (!number || !fits(*number))
      fail(line.number, fmt::format("got the target {}, expected a number that fits into float32", in_quotes(text)),
           "correct the line");
    return static_cast<float>(*number);
  }

  static bool fits(double number) { return std::isfinite(static_cast<float>(number)); }

  // The first series decides what the header does not say.
  void require_dimensions(const Line& line, int64_t count) {
    if (!header_.num_dimensions) header_.num_dimensions = std::max<int64_t>(count, 1);
    file_.num_dimensions = *header_.num_dimensions;
    if (count == *header_.num_dimensions) return;
    fail(line.number,
         fmt::format("got {}{}, expected {}", counted(count, "dimension"), target_text(), file_.num_dimensions),
         "correct the line, or @dimensions in the header");
  }

  std::string_view target_text() const {
    if (header_.target == TsTarget::kNone) return "";
    return header_.target == TsTarget::kClass ? " before the class" : " before the target";
  }

  void require_steps(const Line& line, int64_t count) {
    if (!header_.has_equal_lengths) return;
    if (!header_.num_steps) header_.num_steps = count;
    if (count == *header_.num_steps) return;
    fail(line.number,
         fmt::format("got {}, expected {}, because the header has @equalLength true", counted(count, "step"),
                     *header_.num_steps),
         "correct the line, or set @equalLength false");
  }

  void parse_dimension(const Line& line, std::string_view text, size_t dimension, const TsSeries& series) {
    const auto num_steps = static_cast<size_t>(series.num_steps);
    const auto stride = static_cast<size_t>(file_.num_dimensions);
    for (size_t step = 0, at = series.first_value + dimension; step < num_steps; ++step, at += stride) {
      const size_t end = std::min(text.find(','), text.size());
      const float* const previous = step > 0 ? &file_.values[at - stride] : nullptr;
      file_.values[at] = value_of(line, trim(text.substr(0, end)), {dimension + 1, step + 1}, previous);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  struct Place {
    size_t dimension;
    size_t step;
  };

  [[noreturn]] void fail_at_value(const Line& line, Place place, std::string_view message,
                                  std::string_view remedy) const {
    fail(line.number, fmt::format("dimension {}, step {}: {}", place.dimension, place.step, message), remedy);
  }

  float value_of(const Line& line, std::string_view text, Place place, const float* previous) {
    const auto number = parse_double(text);
    if (number && fits(*number)) return static_cast<float>(*number);
    if (!is_missing(text))
      fail_at_value(line, place, fmt::format("got {}, expected a finite number within float32", in_quotes(text)),
                    "correct the file");
    ++file_.num_missing;
    if (missing_ == MissingPolicy::kZero) return 0;
    if (missing_ == MissingPolicy::kPrevious && previous != nullptr) return *previous;
    const bool lacks_previous = missing_ == MissingPolicy::kPrevious;
    fail_at_value(line, place, fmt::format("the value is missing ({}), expected a number", in_quotes(text)),
                  lacks_previous ? "fill it, or set data.missing to zero, because no step is before the first"
                                 : "fill it, or set data.missing to previous or zero");
  }

  Lines lines_;
  MissingPolicy missing_;
  Header header_;
  std::unordered_map<std::string, int64_t> label_numbers_;
  TsFile file_;
};

}  // namespace

int64_t TsFile::most_steps() const { return std::ranges::max(series, {}, &TsSeries::num_steps).num_steps; }

int64_t TsFile::fewest_steps() const { return std::ranges::min(series, {}, &TsSeries::num_steps).num_steps; }

std::span<const float> TsFile::values_of(const TsSeries& one) const {
  return std::span(values).subspan(one.first_value, static_cast<size_t>(one.num_steps * num_dimensions));
}

TsFile read_ts(const std::filesystem::path& path, MissingPolicy missing) {
  return parse_ts(read_whole(path, kLargestTsFile), path.string(), missing);
}

TsFile parse_ts(std::string_view text, const std::string& name, MissingPolicy missing) {
  return TsParser(text, name, missing).parse();
}

bool begins_like_ts(std::string_view head) {
  const auto line = Lines(head).next();
  if (!line) return false;
  const std::string key = lower_case(words_of(line->text)[0]);
  constexpr std::array<std::string_view, 4> kFirst = {"@problemname", "@timestamps", "@univariate", "@classlabel"};
  return std::ranges::count(kFirst, key) > 0;
}

}  // namespace rnnlab
