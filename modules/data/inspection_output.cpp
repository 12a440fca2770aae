// SPDX-License-Identifier: Apache-2.0
// Writes the description of data as JSON for programs, and as text for people.
#include <fmt/format.h>

#include <algorithm>

#include "base/numbers.h"
#include "base/text.h"
#include "data/inspect.h"

namespace rnnlab {
namespace {

const Json& json_of(const DatasetInspection& dataset) { return dataset.json; }

// A table has its list of hints even if the list is empty.
Json json_of(const FileInspection& file) {
  Json json = {{"file", file.path}, {"format", config::name_of(file.format)}};
  json.update(file.content);
  if (file.format == Source::kCsv || !file.hints.empty()) json["hints"] = file.hints;
  json["yaml"] = file.yaml;
  return json;
}

}  // namespace

Json inspection_json(const Inspection& inspection) {
  return std::visit([](const auto& typed) -> Json { return json_of(typed); }, inspection);
}

// The functions below write text. Texts may contain bytes of the file, so on_one_line escapes their control characters.

namespace {

// Breaks the lines of `text` that are wider than `width` at spaces. Text after a break is indented one step deeper.
std::string wrapped(const std::string& text, size_t width) {
  std::string result;
  for (std::string line : split(text, '\n')) {
    const std::string indent(line.find_first_not_of(' ') == std::string::npos ? 0 : line.find_first_not_of(' ') + 4,
                             ' ');
    while (display_width(line) > width) {
      const size_t space = line.find_last_of(' ', width);
      if (space == std::string::npos || space <= indent.size()) break;
      result += line.substr(0, space) + "\n";
      line = indent + line.substr(space + 1);
    }
    result += line + "\n";
  }
  result.pop_back();
  return result;
}

std::string text_at(const Json& json, const char* key) {
  return on_one_line(json.at(key).get_ref<const std::string&>());
}

int64_t count_at(const Json& json, const char* key) { return json.value(key, int64_t{0}); }

// Returns the list under this key, or an empty list if the key is missing.
const Json& list_at(const Json& json, const char* key) {
  static const Json none = Json::array();
  return json.contains(key) ? json[key] : none;
}

// Returns the range of the numbers that NumberSummary has described.
std::string range_text(const Json& numbers) {
  std::string text;
  if (numbers.contains("minimum"))
    text = fmt::format(", from {:.6g} to {:.6g}, mean {:.4g}, standard deviation {:.4g}",
                       numbers["minimum"].get<double>(), numbers["maximum"].get<double>(),
                       numbers["mean"].get<double>(), numbers["standard_deviation"].get<double>());
  if (const int64_t count = count_at(numbers, "not_finite"); count > 0) text += fmt::format(", {} NaN or Inf", count);
  return text;
}

std::string array_text(const Json& array) {
  return fmt::format("{} {}{}", fmt::join(array["shape"].get<std::vector<int64_t>>(), " x "), text_at(array, "type"),
                     range_text(array));
}

// A class has its name, and the count of its samples or steps.
std::string classes_text(const Json& classes) {
  std::string text;
  for (const Json& entry : classes)
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", text_at(entry, "class"),
                        format_count(entry.back().get<int64_t>()));
  return text;
}

// Returns the lines of a part without its name.
std::string part_lines(const Json& part) {
  std::string text = count_at(part, "samples") == 0 ? "  none\n" : "";
  for (const char* key : {"inputs", "targets", "lengths"})
    if (part.contains(key)) text += fmt::format("  {:<8} {}\n", key, array_text(part[key]));
  if (part.contains("classes")) text += fmt::format("  {:<8} {}\n", "classes", classes_text(part["classes"]));
  return text;
}

std::string step_text(const Json& step) {
  std::string text;
  for (const Json& value : step) text += fmt::format("{}{:.4g}", text.empty() ? "" : " ", value.get<double>());
  return text;
}

std::string sample_text(const Json& sample) {
  if (sample.contains("text")) return fmt::format("  {}\n", text_at(sample, "text"));
  std::string text = fmt::format("  {}\n", text_at(sample, "target"));
  const Json& steps = sample["first_steps"];
  for (const Json& step : steps)
    text +=
        fmt::format("    {}{}\n", step_text(step), count_at(sample, "num_features") > std::ssize(step) ? " ..." : "");
  return count_at(sample, "num_steps") > std::ssize(steps) ? text + "    ...\n" : text;
}

std::string vocabulary_text(const Json& json) {
  std::string text = fmt::format("\nvocabulary of {}\n ", count_at(json, "vocabulary_size"));
  for (const Json& token : json["vocabulary"]) text += " " + on_one_line(token.get<std::string>());
  return text + "\n";
}

std::string dataset_text(const Json& dataset) {
  std::string text = text_at(dataset, "description") + "\n";
  for (const Json& note : dataset["notes"]) text += fmt::format("  {}\n", on_one_line(note.get<std::string>()));
  text += fmt::format("  fingerprint {}\n", text_at(dataset, "fingerprint"));
  for (const char* part : {"training", "validation"}) text += fmt::format("\n{}\n{}", part, part_lines(dataset[part]));
  const Json& scales = list_at(dataset, "target_scales");
  if (!scales.empty()) text += "\ntargets are scaled: value = scaled x scale + offset\n";
  for (const Json& scale : scales)
    text += fmt::format("  {}: scale {:.6g}, offset {:.6g}\n", text_at(scale, "name"), scale["scale"].get<double>(),
                        scale["offset"].get<double>());
  if (dataset.contains("vocabulary")) text += vocabulary_text(dataset);
  text += "\nfirst samples, with their first steps\n";
  for (const Json& sample : dataset["first_samples"]) text += sample_text(sample);
  return text;
}

// Returns the first texts of a list.
std::string listed_texts(const std::vector<std::string>& texts) {
  constexpr size_t kMostShown = 10;
  std::string listed;
  for (size_t i = 0; i < std::min(kMostShown, texts.size()); ++i) listed += (i > 0 ? ", " : "") + on_one_line(texts[i]);
  return texts.size() > kMostShown ? listed + fmt::format(" and {} more", texts.size() - kMostShown) : listed;
}

// Returns "'NA' 3, '?' 1": the words of the missing values with their numbers.
std::string words_text(const Json& missing_words) {
  std::vector<std::string> words;
  for (const Json& entry : missing_words)
    words.push_back(fmt::format("{} {}", text_at(entry, "word"), format_count(count_at(entry, "cells"))));
  return listed_texts(words);
}

std::string column_text(const Json& column) {
  std::string text = fmt::format("  {}: ", text_at(column, "name"));
  text += counted(count_at(column, "numbers"), "number") + range_text(column);
  if (const int64_t count = count_at(column, "missing"); count > 0)
    text += fmt::format("; {} missing", format_count(count));
  if (column.contains("missing_words")) text += " (" + words_text(column["missing_words"]) + ")";
  if (const int64_t count = count_at(column, "other"); count > 0) text += "; " + counted(count, "text");
  if (column.contains("texts")) text += ": " + listed_texts(column["texts"].get<std::vector<std::string>>());
  return text + "\n";
}

// Returns the first cells of a row.
std::string row_text(const Json& row) {
  constexpr size_t kMostCells = 12;
  const size_t num_shown = std::min(kMostCells, row.size());
  std::string text = " ";
  for (size_t i = 0; i < num_shown; ++i) text += " " + on_one_line(row[i].get<std::string>());
  return num_shown < row.size() ? text + fmt::format(" and {} more\n", row.size() - num_shown) : text + "\n";
}

std::string text_of_array(const Json& content) {
  const std::string classes = content.contains("classes") ? classes_text(content["classes"]) : "";
  return array_text(content) + "\n" + (classes.empty() ? "" : "classes " + classes + "\n");
}

std::string text_of_archive(const Json& content) {
  const Json& arrays = content["arrays"];
  std::string text = counted(std::ssize(arrays), "array") + "\n";
  for (const Json& array : arrays) text += fmt::format("  {}: {}\n", text_at(array, "name"), array_text(array));
  return text;
}

std::string text_of_series(const Json& content) {
  std::string text = fmt::format("{} series\n{}", format_count(count_at(content, "samples")), part_lines(content));
  const int64_t num_missing = count_at(content, "missing");
  if (num_missing == 0) return text;
  return text + fmt::format("  {:<8} {}, counted as 0 here\n", "missing", counted(num_missing, "value"));
}

// Returns "times in 'date' by 'station': ...".
std::string time_text(const Json& time) {
  std::string text =
      fmt::format("\ntimes in {}{}: from {} to {}, {}, usual step {}", in_quotes(time["column"].get<std::string>()),
                  time.contains("group") ? " by " + in_quotes(time["group"].get<std::string>()) : "",
                  text_at(time, "first"), text_at(time, "last"), text_at(time, "order"), text_at(time, "usual_step"));
  const int64_t num_repeated = count_at(time, "repeated"), num_gaps = count_at(time, "gaps"),
                num_short = count_at(time, "short_steps");
  if (num_repeated > 0) text += fmt::format(", {} repeated", format_count(num_repeated));
  if (num_gaps > 0) text += ", " + counted(num_gaps, "longer step");
  if (num_short > 0) text += ", " + counted(num_short, "shorter step");
  return text + "\n";
}

std::string text_of_table(const Json& content) {
  const Json& columns = content["columns"];
  const std::string decimal = content["decimal"];
  std::string text = fmt::format(
      "{}, {}, {} header, delimiter {}{}\n", counted(count_at(content, "rows"), "row"),
      counted(std::ssize(columns), "column"), content["header"].get<bool>() ? "with a" : "without a",
      in_quotes(content["delimiter"].get<std::string>()), decimal == "." ? "" : ", decimal " + in_quotes(decimal));
  constexpr size_t kMostColumns = 40;
  const size_t num_shown = columns.size() <= kMostColumns ? columns.size() : kMostColumns / 2;
  for (size_t i = 0; i < num_shown; ++i) text += column_text(columns[i]);
  if (num_shown < columns.size())
    text += fmt::format("  and {} more (--json has all of them)\n",
                        counted(static_cast<int64_t>(columns.size() - num_shown), "column"));
  if (content.contains("time")) text += time_text(content["time"]);
  text += "\nfirst rows\n";
  for (const Json& row : content["first_rows"]) text += row_text(row);
  return text;
}

std::string text_of_text(const Json& content) {
  return fmt::format("{} {}\n  {}\n{}", format_count(count_at(content, "length")), text_at(content, "tokens"),
                     text_at(content, "begins"), vocabulary_text(content));
}

std::string content_text(const FileInspection& file) {
  if (file.format == Source::kTs) return text_of_series(file.content);
  if (file.format == Source::kCsv) return text_of_table(file.content);
  if (file.format == Source::kText) return text_of_text(file.content);
  return file.content.contains("arrays") ? text_of_archive(file.content) : text_of_array(file.content);
}

// Returns what the file holds, with hints.
std::string description_of(const FileInspection& file, size_t width) {
  std::string text = wrapped(
      fmt::format("{}: {}, {}", on_one_line(file.path), config::name_of(file.format), content_text(file)), width);
  if (file.content.contains("picture")) text += "\nthe first image\n" + file.content["picture"].get<std::string>();
  std::string hints;
  for (const std::string& hint : file.hints) hints += fmt::format("\nhint: {}\n", on_one_line(hint));
  return text + wrapped(hints, width);
}

std::string text_of(const FileInspection& file, size_t width) {
  std::string text = description_of(file, width);
  if (file.yaml.empty()) return text;
  text += "\nto train on it, put this into a .yaml file (--yaml prints such a file):\n";
  for (const std::string& line : file.yaml) text += "  " + on_one_line(line) + "\n";
  return text;
}

std::string text_of(const DatasetInspection& dataset, size_t width) {
  std::string text = wrapped(dataset_text(dataset.json), width);
  if (!dataset.json.contains("picture")) return text;
  return text + "\nthe first training sample\n" + dataset.json["picture"].get<std::string>();
}

}  // namespace

std::string inspection_text(const Inspection& inspection, size_t width) {
  return std::visit([&](const auto& typed) { return text_of(typed, width); }, inspection);
}

std::string inspection_yaml(const FileInspection& file, size_t width) {
  constexpr std::string_view kMark = "# ";
  std::string text;
  for (const std::string& line : split(trim(description_of(file, width - kMark.size())), '\n'))
    text += fmt::format("{}\n", trim(fmt::format("{}{}", kMark, line)));
  for (const std::string& line : file.yaml) text += on_one_line(line) + "\n";
  return text;
}

}  // namespace rnnlab
