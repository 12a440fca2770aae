#include <fmt/format.h>

#include <algorithm>

#include "base/numbers.h"
#include "base/text.h"
#include "data/inspect.h"

namespace rnnlab {
namespace {

using Json = nlohmann::ordered_json;

// `text` with the lines that are wider than `width` broken at spaces; what follows a break is indented a step deeper.
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

// Texts may hold what a file holds.
std::string plain(const Json& value) {
  return value.is_string() ? on_one_line(value.get<std::string>()) : value.dump();
}

std::string shape_text(const Json& shape) {
  std::string text;
  for (const Json& size : shape) text += (text.empty() ? "" : " x ") + size.dump();
  return text;
}

std::string range_text(const Json& json) {
  std::string text;
  if (json.contains("minimum")) {
    text = fmt::format(", from {:.6g} to {:.6g}, mean {:.4g}, standard deviation {:.4g}", json["minimum"].get<double>(),
                       json["maximum"].get<double>(), json["mean"].get<double>(),
                       json["standard_deviation"].get<double>());
  }
  if (json.contains("not_finite")) text += fmt::format(", {} NaN or Inf", json["not_finite"].get<int64_t>());
  return text;
}

std::string tensor_text(const Json& json) {
  return fmt::format("{} {}{}", shape_text(json["shape"]), plain(json["type"]), range_text(json));
}

std::string classes_text(const Json& classes) {
  std::string text;
  for (const Json& entry : classes) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", plain(entry["class"]),
                        format_count(entry["samples"].get<int64_t>()));
  }
  return text;
}

std::string part_text(const std::string& name, const Json& part) {
  std::string text = fmt::format("\n{}\n", name);
  if (part["samples"] == 0) text += "  none\n";
  for (const char* key : {"inputs", "targets", "lengths"}) {
    if (part.contains(key)) text += fmt::format("  {:<8} {}\n", key, tensor_text(part[key]));
  }
  if (part.contains("classes")) text += fmt::format("  {:<8} {}\n", "classes", classes_text(part["classes"]));
  return text;
}

std::string step_text(const Json& step) {
  std::string text;
  for (const Json& value : step) text += fmt::format("{}{:.4g}", text.empty() ? "" : " ", value.get<double>());
  return text;
}

std::string sample_text(const Json& sample) {
  if (sample.contains("text")) return fmt::format("  {}\n", plain(sample["text"]));
  std::string text = fmt::format("  {}\n", plain(sample["target"]));
  const Json& steps = sample["first_steps"];
  const auto ellipsis = [&](const Json& step) { return sample["num_features"] > step.size() ? " ..." : ""; };
  for (const Json& step : steps) text += fmt::format("    {}{}\n", step_text(step), ellipsis(step));
  return sample["num_steps"] > steps.size() ? text + "    ...\n" : text;
}

std::string vocabulary_text(const Json& json) {
  std::string text = fmt::format("\nvocabulary of {}\n ", json["vocabulary_size"].get<int64_t>());
  for (const Json& token : json["vocabulary"]) text += " " + plain(token);
  return text + "\n";
}

std::string dataset_text(const Json& json) {
  std::string text = plain(json["description"]) + "\n";
  for (const Json& note : json["notes"]) text += fmt::format("  {}\n", plain(note));
  text += fmt::format("  fingerprint {}\n", plain(json["fingerprint"]));
  text += part_text("training", json["training"]) + part_text("validation", json["validation"]);
  if (json.contains("target_scales")) {
    text += "\ntargets are scaled: value = scaled x scale + offset\n";
    for (const Json& scale : json["target_scales"]) {
      text += fmt::format("  {}: scale {:.6g}, offset {:.6g}\n", plain(scale["name"]), scale["scale"].get<double>(),
                          scale["offset"].get<double>());
    }
  }
  if (json.contains("vocabulary")) text += vocabulary_text(json);
  text += "\nfirst samples, with their first steps\n";
  for (const Json& sample : json["first_samples"]) text += sample_text(sample);
  return text;
}

// The first of them.
std::string listed_texts(const Json& texts) {
  constexpr size_t kMostShown = 10;
  std::string listed;
  for (size_t i = 0; i < std::min(kMostShown, texts.size()); ++i) listed += (i > 0 ? ", " : "") + plain(texts[i]);
  return texts.size() > kMostShown ? listed + fmt::format(" and {} more", texts.size() - kMostShown) : listed;
}

std::string column_text(const Json& column) {
  std::string text = fmt::format("  {}: ", plain(column["name"]));
  const auto count = [&](const char* key) { return column[key].get<int64_t>(); };
  text += counted(count("numbers"), "number") + range_text(column);
  if (count("missing") > 0) text += fmt::format("; {} missing", format_count(count("missing")));
  if (count("other") > 0) text += "; " + counted(count("other"), "text");
  if (column.contains("texts")) text += ": " + listed_texts(column["texts"]);
  return text + "\n";
}

// The first cells.
std::string row_text(const Json& row) {
  constexpr size_t kMostCells = 12;
  const size_t num_shown = std::min(kMostCells, row.size());
  std::string text = " ";
  for (size_t i = 0; i < num_shown; ++i) text += " " + plain(row[i]);
  return num_shown < row.size() ? text + fmt::format(" and {} more\n", row.size() - num_shown) : text + "\n";
}

std::string table_text(const Json& json) {
  std::string text =
      fmt::format("{}, {}, {} header, delimiter {}\n", counted(json["rows"].get<int64_t>(), "row"),
                  counted(std::ssize(json["columns"]), "column"), json["header"].get<bool>() ? "with a" : "without a",
                  in_quotes(json["delimiter"].get<std::string>()));
  constexpr size_t kMostColumns = 40;
  const size_t num_columns = json["columns"].size();
  const size_t num_shown = num_columns <= kMostColumns ? num_columns : kMostColumns / 2;
  for (size_t i = 0; i < num_shown; ++i) text += column_text(json["columns"][i]);
  if (num_shown < num_columns)
    text += fmt::format("  and {} more (--json has all of them)\n",
                        counted(static_cast<int64_t>(num_columns - num_shown), "column"));
  text += "\nfirst rows\n";
  for (const Json& row : json["first_rows"]) text += row_text(row);
  return text;
}

// What can be broken into lines.
std::string file_words(const Json& json) {
  std::string text = fmt::format("{}: {}, ", plain(json["file"]), plain(json["format"]));
  if (json.contains("rows")) text += table_text(json);
  if (json.contains("shape")) text += tensor_text(json) + "\n";
  if (json.contains("classes")) text += "classes " + classes_text(json["classes"]) + "\n";
  if (json.contains("begins")) {
    text += fmt::format("{} {}\n  {}\n{}", format_count(json["length"].get<int64_t>()), plain(json["tokens"]),
                        plain(json["begins"]), vocabulary_text(json));
  }
  return text;
}

std::string file_text(const Json& json, size_t width) {
  std::string text = wrapped(file_words(json), width);
  if (json.contains("picture")) text += "\nthe first image\n" + json["picture"].get<std::string>();
  std::string hints;
  for (const Json& hint : json.value("hints", Json::array())) hints += fmt::format("\nhint: {}\n", plain(hint));
  text += wrapped(hints, width);
  if (json["yaml"].empty()) return text;
  text += "\nto train on it, put this into a .yaml file:\n";
  for (const Json& line : json["yaml"]) text += "  " + plain(line) + "\n";
  return text;
}

}  // namespace

std::string inspection_text(const Json& inspection, size_t width) {
  if (inspection.contains("format")) return file_text(inspection, width);
  std::string text = wrapped(dataset_text(inspection), width);
  if (inspection.contains("picture"))
    text += "\nthe first training sample\n" + inspection["picture"].get<std::string>();
  return text;
}

}  // namespace rnnlab
