// SPDX-License-Identifier: Apache-2.0
// Writes the description of data as JSON for programs, and as text for people.
#include "data/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/numbers.h"
#include "base/text.h"

namespace rnnlab {

// The functions below write JSON. A key is left out if there is no value for it.

namespace {

using Json = nlohmann::ordered_json;

void add_json(Json& json, const NumberSummary& numbers) {
  if (numbers.finite().count() > 0) {
    json["minimum"] = numbers.finite().minimum();
    json["maximum"] = numbers.finite().maximum();
    json["mean"] = numbers.finite().mean();
    json["standard_deviation"] = numbers.finite().standard_deviation();
  }
  if (numbers.num_not_finite() > 0) json["not_finite"] = numbers.num_not_finite();
}

void add_json(Json& json, const ArraySummary& array) {
  json["shape"] = array.shape;
  json["type"] = array.type;
  add_json(json, array.numbers);
}

void add_json(Json& json, const char* key, const std::optional<ArraySummary>& array) {
  if (array) add_json(json[key], *array);
}

// counted: what has a class each, "samples" or "steps".
void add_json(Json& json, const std::vector<ClassCount>& classes, const char* counted = "samples") {
  for (const ClassCount& entry : classes) json["classes"].push_back({{"class", entry.name}, {counted, entry.count}});
}

void add_json(Json& json, const VocabularySummary& vocabulary) {
  json["vocabulary_size"] = vocabulary.size;
  json["vocabulary"] = vocabulary.first_tokens;
}

Json json_of(const PartInspection& part) {
  Json json;
  json["samples"] = part.num_samples;
  add_json(json, "inputs", part.inputs);
  add_json(json, "targets", part.targets);
  add_json(json, "lengths", part.lengths);
  const bool has_class_per_step = part.targets && part.targets->shape.size() == 2;
  add_json(json, part.classes, has_class_per_step ? "steps" : "samples");
  return json;
}

Json json_of(const SampleInspection& sample) {
  if (!sample.text.empty()) return {{"text", sample.text}};
  return {{"target", sample.target},
          {"num_steps", sample.num_steps},
          {"num_features", sample.num_features},
          {"first_steps", sample.first_steps}};
}

Json json_of(const DatasetInspection& dataset) {
  Json json;
  json["description"] = dataset.description;
  json["notes"] = dataset.notes;
  json["fingerprint"] = dataset.fingerprint;
  json["training"] = json_of(dataset.training);
  json["validation"] = json_of(dataset.validation);
  for (const ColumnScale& scale : dataset.target_scales)
    json["target_scales"].push_back({{"name", scale.name}, {"offset", scale.offset}, {"scale", scale.scale}});
  if (dataset.vocabulary) add_json(json, *dataset.vocabulary);
  json["first_samples"] = Json::array();
  for (const SampleInspection& sample : dataset.first_samples) json["first_samples"].push_back(json_of(sample));
  if (!dataset.picture.empty()) json["picture"] = dataset.picture;
  return json;
}

void add_content(Json& json, const ArrayInspection& content) {
  add_json(json, content.array);
  add_json(json, content.classes);
  if (!content.picture.empty()) json["picture"] = content.picture;
}

void add_content(Json& json, const ArchiveInspection& content) {
  json["arrays"] = Json::array();
  for (const NamedArray& named : content.arrays) {
    json["arrays"].push_back({{"name", on_one_line(named.name)}});
    add_json(json["arrays"].back(), named.array);
  }
}

void add_content(Json& json, const SeriesInspection& content) {
  json.update(json_of(content.part));
  json["missing"] = content.num_missing;
}

// Returns whether the texts of the column are few enough to be listed.
bool lists_texts(const ColumnInspection& column) {
  return !column.texts.empty() && column.texts.size() <= kMostClasses;
}

std::vector<std::string> quoted_texts(const ColumnInspection& column) {
  std::vector<std::string> texts;
  for (const std::string& text : column.texts) texts.push_back(in_quotes(text));
  return texts;
}

Json json_of(const ColumnInspection& column) {
  Json json;
  json["name"] = column.name;
  json["numbers"] = column.num_numbers;
  json["missing"] = column.num_missing;
  json["other"] = column.num_texts;
  for (const auto& [word, count] : column.missing_words)
    json["missing_words"].push_back({{"word", in_quotes(word)}, {"cells", count}});
  if (column.numbers_rows) json["numbers_rows"] = true;
  if (column.has_times) json["times"] = true;
  add_json(json, column.numbers);
  if (lists_texts(column)) json["texts"] = quoted_texts(column);
  return json;
}

std::string_view order_name(const TimeSteps& steps) {
  if (steps.num_backwards == 0) return "oldest first";
  return steps.is_newest_first ? "newest first" : "unsorted";
}

Json json_of(const TimeInspection& time) {
  Json json = {{"column", time.column},
               {"first", in_quotes(time.first)},
               {"last", in_quotes(time.last)},
               {"order", order_name(time.steps)},
               {"usual_step", duration_text(time.steps.usual_step)},
               {"backwards", time.steps.num_backwards},
               {"repeated", time.steps.num_repeated},
               {"gaps", time.steps.num_gaps},
               {"short_steps", time.steps.num_short}};
  if (!time.group.empty()) json["group"] = time.group;
  return json;
}

void add_content(Json& json, const TableInspection& content) {
  json["rows"] = content.num_rows;
  json["delimiter"] = content.delimiter;
  json["decimal"] = content.decimal;
  json["header"] = content.has_header;
  for (const ColumnInspection& column : content.columns) json["columns"].push_back(json_of(column));
  json["first_rows"] = content.first_rows;
  if (content.time) json["time"] = json_of(*content.time);
}

void add_content(Json& json, const TextInspection& content) {
  json["tokens"] = config::name_of(content.unit);
  json["length"] = content.num_tokens;
  add_json(json, content.vocabulary);
  json["begins"] = content.beginning;
}

// A table has its list of hints even if the list is empty.
Json json_of(const FileInspection& file) {
  Json json;
  json["file"] = file.path;
  json["format"] = config::name_of(file.format);
  std::visit([&](const auto& content) { add_content(json, content); }, file.content);
  const bool is_table = std::holds_alternative<TableInspection>(file.content);
  if (is_table || !file.hints.empty()) json["hints"] = file.hints;
  json["yaml"] = file.yaml;
  return json;
}

}  // namespace

Json inspection_json(const Inspection& inspection) {
  return std::visit([](const auto& typed) { return json_of(typed); }, inspection);
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

std::string range_text(const NumberSummary& numbers) {
  std::string text;
  const Moments& finite = numbers.finite();
  if (finite.count() > 0)
    text = fmt::format(", from {:.6g} to {:.6g}, mean {:.4g}, standard deviation {:.4g}", finite.minimum(),
                       finite.maximum(), finite.mean(), finite.standard_deviation());
  if (numbers.num_not_finite() > 0) text += fmt::format(", {} NaN or Inf", numbers.num_not_finite());
  return text;
}

std::string array_text(const ArraySummary& array) {
  return fmt::format("{} {}{}", fmt::join(array.shape, " x "), array.type, range_text(array.numbers));
}

std::string classes_text(const std::vector<ClassCount>& classes) {
  std::string text;
  for (const ClassCount& entry : classes)
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", on_one_line(entry.name), format_count(entry.count));
  return text;
}

// Returns the lines of a part without its name.
std::string part_lines(const PartInspection& part) {
  std::string text = part.num_samples == 0 ? "  none\n" : "";
  const auto add = [&](const char* key, const std::optional<ArraySummary>& array) {
    if (array) text += fmt::format("  {:<8} {}\n", key, array_text(*array));
  };
  add("inputs", part.inputs);
  add("targets", part.targets);
  add("lengths", part.lengths);
  if (!part.classes.empty()) text += fmt::format("  {:<8} {}\n", "classes", classes_text(part.classes));
  return text;
}

std::string part_text(const std::string& name, const PartInspection& part) {
  return fmt::format("\n{}\n{}", name, part_lines(part));
}

std::string step_text(const std::vector<float>& step) {
  std::string text;
  for (const float value : step) text += fmt::format("{}{:.4g}", text.empty() ? "" : " ", value);
  return text;
}

std::string sample_text(const SampleInspection& sample) {
  if (!sample.text.empty()) return fmt::format("  {}\n", on_one_line(sample.text));
  std::string text = fmt::format("  {}\n", on_one_line(sample.target));
  for (const std::vector<float>& step : sample.first_steps)
    text += fmt::format("    {}{}\n", step_text(step), sample.num_features > std::ssize(step) ? " ..." : "");
  return sample.num_steps > std::ssize(sample.first_steps) ? text + "    ...\n" : text;
}

std::string vocabulary_text(const VocabularySummary& vocabulary) {
  std::string text = fmt::format("\nvocabulary of {}\n ", vocabulary.size);
  for (const std::string& token : vocabulary.first_tokens) text += " " + on_one_line(token);
  return text + "\n";
}

std::string dataset_text(const DatasetInspection& dataset) {
  std::string text = on_one_line(dataset.description) + "\n";
  for (const std::string& note : dataset.notes) text += fmt::format("  {}\n", on_one_line(note));
  text += fmt::format("  fingerprint {}\n", dataset.fingerprint);
  text += part_text("training", dataset.training) + part_text("validation", dataset.validation);
  if (!dataset.target_scales.empty()) text += "\ntargets are scaled: value = scaled x scale + offset\n";
  for (const ColumnScale& scale : dataset.target_scales)
    text += fmt::format("  {}: scale {:.6g}, offset {:.6g}\n", on_one_line(scale.name), scale.scale, scale.offset);
  if (dataset.vocabulary) text += vocabulary_text(*dataset.vocabulary);
  text += "\nfirst samples, with their first steps\n";
  for (const SampleInspection& sample : dataset.first_samples) text += sample_text(sample);
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
std::string words_text(const ColumnInspection& column) {
  std::vector<std::string> words;
  for (const auto& [word, count] : column.missing_words)
    words.push_back(fmt::format("{} {}", in_quotes(word), format_count(count)));
  return listed_texts(words);
}

std::string column_text(const ColumnInspection& column) {
  std::string text = fmt::format("  {}: ", on_one_line(column.name));
  text += counted(column.num_numbers, "number") + range_text(column.numbers);
  if (column.num_missing > 0) text += fmt::format("; {} missing", format_count(column.num_missing));
  if (!column.missing_words.empty()) text += " (" + words_text(column) + ")";
  if (column.num_texts > 0) text += "; " + counted(column.num_texts, "text");
  if (lists_texts(column)) text += ": " + listed_texts(quoted_texts(column));
  return text + "\n";
}

// Returns the first cells of a row.
std::string row_text(const std::vector<std::string>& row) {
  constexpr size_t kMostCells = 12;
  const size_t num_shown = std::min(kMostCells, row.size());
  std::string text = " ";
  for (size_t i = 0; i < num_shown; ++i) text += " " + on_one_line(row[i]);
  return num_shown < row.size() ? text + fmt::format(" and {} more\n", row.size() - num_shown) : text + "\n";
}

std::string content_text(const ArrayInspection& content) {
  const std::string classes = content.classes.empty() ? "" : "classes " + classes_text(content.classes) + "\n";
  return array_text(content.array) + "\n" + classes;
}

std::string content_text(const ArchiveInspection& content) {
  std::string text = counted(std::ssize(content.arrays), "array") + "\n";
  for (const NamedArray& named : content.arrays)
    text += fmt::format("  {}: {}\n", on_one_line(named.name), array_text(named.array));
  return text;
}

std::string content_text(const SeriesInspection& content) {
  std::string text = fmt::format("{} series\n{}", format_count(content.part.num_samples), part_lines(content.part));
  if (content.num_missing == 0) return text;
  return text + fmt::format("  {:<8} {}, counted as 0 here\n", "missing", counted(content.num_missing, "value"));
}

// Returns "times in 'date' by 'station': ...".
std::string time_text(const TimeInspection& time) {
  const TimeSteps& steps = time.steps;
  std::string text = fmt::format("\ntimes in {}{}: from {} to {}, {}, usual step {}", in_quotes(time.column),
                                 time.group.empty() ? "" : " by " + in_quotes(time.group), in_quotes(time.first),
                                 in_quotes(time.last), order_name(steps), duration_text(steps.usual_step));
  if (steps.num_repeated > 0) text += fmt::format(", {} repeated", format_count(steps.num_repeated));
  if (steps.num_gaps > 0) text += ", " + counted(steps.num_gaps, "longer step");
  if (steps.num_short > 0) text += ", " + counted(steps.num_short, "shorter step");
  return text + "\n";
}

std::string content_text(const TableInspection& content) {
  const size_t num_columns = content.columns.size();
  std::string text = fmt::format("{}, {}, {} header, delimiter {}\n", counted(content.num_rows, "row"),
                                 counted(std::ssize(content.columns), "column"),
                                 content.has_header ? "with a" : "without a", in_quotes(content.delimiter));
  if (content.decimal != ".") text.insert(text.size() - 1, ", decimal " + in_quotes(content.decimal));
  constexpr size_t kMostColumns = 40;
  const size_t num_shown = num_columns <= kMostColumns ? num_columns : kMostColumns / 2;
  for (const ColumnInspection& column : std::span(content.columns).first(num_shown)) text += column_text(column);
  if (num_shown < num_columns)
    text += fmt::format("  and {} more (--json has all of them)\n",
                        counted(static_cast<int64_t>(num_columns - num_shown), "column"));
  if (content.time) text += time_text(*content.time);
  text += "\nfirst rows\n";
  for (const std::vector<std::string>& row : content.first_rows) text += row_text(row);
  return text;
}

std::string content_text(const TextInspection& content) {
  return fmt::format("{} {}\n  {}\n{}", format_count(static_cast<int64_t>(content.num_tokens)),
                     config::name_of(content.unit), on_one_line(content.beginning),
                     vocabulary_text(content.vocabulary));
}

// Returns what the file holds, with hints.
std::string description_of(const FileInspection& file, size_t width) {
  const std::string content = std::visit([](const auto& typed) { return content_text(typed); }, file.content);
  std::string text =
      wrapped(fmt::format("{}: {}, {}", on_one_line(file.path), config::name_of(file.format), content), width);
  const auto* const array = std::get_if<ArrayInspection>(&file.content);
  if (array != nullptr && !array->picture.empty()) text += "\nthe first image\n" + array->picture;
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
  const std::string text = wrapped(dataset_text(dataset), width);
  return dataset.picture.empty() ? text : text + "\nthe first training sample\n" + dataset.picture;
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
