#include "data/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "data/inspect_formats.h"
#include "data/load_dataset.h"
#include "data/readers/array.h"
#include "data/readers/byte_stream.h"

namespace rnnlab {
namespace {

using Json = nlohmann::ordered_json;
using Path = std::filesystem::path;

std::string head_of(const Path& path) {
  std::string head(kHeadBytes, '\0');
  head.resize(open_stream(path)->read(std::as_writable_bytes(std::span(head))));
  return head;
}

// A format that rnnlab does not read, identified by the bytes that its files begin with.
struct ForeignFormat {
  std::string_view magic;
  std::string_view what_it_is;
  std::string_view what_to_do;
};

constexpr std::array<ForeignFormat, 7> kForeignFormats = {{
    {"PK\x03\x04", "a zip archive (as .npz and .xlsx are)",
     "unpack it (unzip): rnnlab reads the .npy or CSV files inside"},
    {"\x1f\x8b", "gzip within gzip", "unpack it once (gunzip): rnnlab unpacks one layer itself"},
    {"\xfd"
     "7zXZ",
     "packed by xz", "unpack it (unxz), or pack it by gzip"},
    {"\x28\xb5\x2f\xfd", "packed by zstd", "unpack it (unzstd), or pack it by gzip"},
    {"BZh91AY&SY", "packed by bzip2", "unpack it (bunzip2), or pack it by gzip"},
    {"\x89HDF\r\n", "HDF5", "save its arrays as .npy files"},
    {"PAR1\x15", "Parquet", "save the table as CSV"},
}};

void refuse_foreign(const Path& path, const std::string& head) {
  for (const ForeignFormat& format : kForeignFormats)
    if (head.starts_with(format.magic))
      throw_error(ExitCode::kData, "{}: is {}, which rnnlab does not read; {}", path.string(), format.what_it_is,
                  format.what_to_do);
}

Json describe_content(const Path& path, const std::string& head) {
  refuse_foreign(path, head);
  if (head.starts_with("\x93NUMPY")) return describe_array("npy", path);
  if (head.starts_with(std::string_view("\0\0", 2))) return describe_array("idx", path);
  if (auto table = describe_if_table(path, head)) return std::move(*table);
  return describe_text(path, head);
}

}  // namespace

std::string yaml_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Json inspect_file(const Path& path) {
  Json json;
  json["file"] = path.string();
  json.update(describe_content(path, head_of(path)));
  return json;
}

namespace {

constexpr int64_t kFirstSamples = 3;
constexpr int64_t kFirstSteps = 3;
constexpr int64_t kFirstFeatures = 8;
constexpr int64_t kSmallestPicture = 8;  // rows and columns

template <class T>
std::span<const T> values_of(const at::Tensor& tensor) {
  return {tensor.const_data_ptr<T>(), static_cast<size_t>(tensor.numel())};
}

Json describe_tensor(const at::Tensor& tensor) {
  Json json;
  json["shape"] = tensor.sizes().vec();
  if (tensor.scalar_type() == at::kLong) {
    json["type"] = "int64";
    NumberSummary::of(values_of<int64_t>(tensor)).write(json);
  } else {
    json["type"] = "float32";
    NumberSummary::of(values_of<float>(tensor)).write(json);
  }
  return json;
}

Json class_counts(const Samples& samples, const Dataset& dataset) {
  std::vector<int64_t> counts(static_cast<size_t>(dataset.shape.num_outputs));
  for (const int64_t label : values_of<int64_t>(samples.targets)) ++counts[static_cast<size_t>(label)];
  Json json = Json::array();
  for (size_t label = 0; label < counts.size(); ++label) {
    const std::string name = label < dataset.vocabulary.size() ? dataset.vocabulary[label] : std::to_string(label);
    json.push_back({{"class", name}, {"samples", counts[label]}});
  }
  return json;
}

Json describe_part(const Samples& samples, const Dataset& dataset) {
  Json json;
  json["samples"] = samples.size();
  if (samples.size() == 0) return json;
  json["inputs"] = describe_tensor(samples.inputs);
  json["targets"] = describe_tensor(samples.targets);
  if (samples.lengths.defined()) json["lengths"] = describe_tensor(samples.lengths);
  if (dataset.shape.task == Task::kClassification) json["classes"] = class_counts(samples, dataset);
  return json;
}

std::string class_name(const Dataset& dataset, int64_t label) {
  return dataset.vocabulary.empty() ? std::to_string(label) : dataset.vocabulary[static_cast<size_t>(label)];
}

// Returns "class 5" or "target 0.25 1".
std::string target_text(const Dataset& dataset, int64_t sample) {
  if (dataset.shape.task == Task::kClassification) {
    return "class " + class_name(dataset, values_of<int64_t>(dataset.train.targets)[static_cast<size_t>(sample)]);
  }
  std::string text = "target";
  for (const float value : values_of<float>(dataset.train.targets[sample])) text += fmt::format(" {:.4g}", value);
  return text;
}

std::string tokens_text(const Dataset& dataset, int64_t sample) {
  std::string text;
  for (const int64_t token : values_of<int64_t>(dataset.train.inputs[sample])) {
    text += dataset.vocabulary[static_cast<size_t>(token)];
  }
  return in_quotes(text, 100);
}

int64_t num_steps(const Samples& samples, int64_t sample) {
  if (samples.lengths.defined()) return values_of<int64_t>(samples.lengths)[static_cast<size_t>(sample)];
  return samples.inputs.size(1);
}

// Steps beyond a sample's length do not belong to the sample.
Json first_steps(const Samples& samples, int64_t sample) {
  const int64_t num_shown = std::min(kFirstSteps, num_steps(samples, sample));
  const at::Tensor corner = samples.inputs[sample].slice(0, 0, num_shown).slice(1, 0, kFirstFeatures);
  Json json = Json::array();
  for (int64_t step = 0; step < corner.size(0); ++step) {
    const auto row = values_of<float>(corner[step].contiguous());
    json.push_back(std::vector<float>(row.begin(), row.end()));
  }
  return json;
}

Json first_samples(const Dataset& dataset) {
  Json json = Json::array();
  for (int64_t i = 0; i < std::min(kFirstSamples, dataset.train.size()); ++i) {
    if (dataset.shape.task == Task::kLanguageModel) {
      json.push_back({{"text", tokens_text(dataset, i)}});
    } else {
      json.push_back({{"target", target_text(dataset, i)},
                      {"num_steps", num_steps(dataset.train, i)},
                      {"num_features", dataset.shape.input_size},
                      {"first_steps", first_steps(dataset.train, i)}});
    }
  }
  return json;
}

bool has_pictures(const DataSettings& settings, const DataShape& shape) {
  const bool images =
      settings.source == Source::kDigits || settings.source == Source::kMnist || settings.source == Source::kIdx;
  return images && shape.sequence_length >= kSmallestPicture && shape.input_size >= kSmallestPicture;
}

}  // namespace

Json inspect(const DataSettings& settings) {
  const Dataset dataset = load_dataset(settings);
  Json json;
  json["description"] = dataset.description;
  json["notes"] = dataset.notes;
  json["fingerprint"] = dataset.fingerprint;
  json["training"] = describe_part(dataset.train, dataset);
  json["validation"] = describe_part(dataset.valid, dataset);
  for (const ColumnScale& scale : dataset.target_scales) {
    json["target_scales"].push_back({{"name", scale.name}, {"offset", scale.offset}, {"scale", scale.scale}});
  }
  if (dataset.shape.task == Task::kLanguageModel) add_vocabulary(json, dataset.vocabulary);
  json["first_samples"] = first_samples(dataset);
  if (has_pictures(settings, dataset.shape)) {
    json["picture"] =
        ascii_image(values_of<float>(dataset.train.inputs[0]), dataset.shape.sequence_length, dataset.shape.input_size);
  }
  return json;
}

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

// Texts may contain bytes of the file, so control characters are escaped.
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

// Returns the first texts of a list.
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

// Returns the first cells of a row.
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

// Returns the part of the text that can be broken into lines.
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
