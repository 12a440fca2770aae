// SPDX-License-Identifier: Apache-2.0
#include "runs/use/prediction_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/error.h"
#include "base/folder.h"
#include "base/numbers.h"
#include "base/system/files.h"
#include "base/system/json_fields.h"
#include "base/system/terminal.h"
#include "base/text.h"
#include "runs/use/evaluate_model.h"

namespace rnnlab {
namespace {

// Returns the header of an npy file, version 1.0, for a (rows, columns) array of little-endian float32, with the last
// dimension fastest. Source: numpy.lib.format, "NPY format".
std::string npy_header(int64_t num_rows, int64_t num_columns) {
  constexpr size_t kAlignment = 64;
  std::string start("\x93NUMPY\x01\x00", 8);
  std::string entries =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", num_rows, num_columns);
  const size_t size = start.size() + 2 + entries.size() + 1;  // with the two bytes of the length, and a line end
  entries.append((kAlignment - size % kAlignment) % kAlignment, ' ');
  entries += '\n';
  start += static_cast<char>(entries.size() & 0xff);
  start += static_cast<char>(entries.size() >> 8);
  return start + entries;
}

// Accesses the tensors of predictions as plain numbers.
class Rows {
 public:
  explicit Rows(const Predictions& predictions)
      : predictions_(predictions),
        num_columns_(static_cast<size_t>(predictions.values.size(1))),
        values_(predictions.values.const_data_ptr<double>()) {}

  size_t num_rows() const { return static_cast<size_t>(predictions_.values.size(0)); }
  size_t num_columns() const { return num_columns_; }
  bool has_targets() const { return predictions_.targets.defined(); }
  // Returns the scale of a target; scale 1 and offset 0 if targets are not scaled.
  ColumnScale scale(size_t column) const {
    return predictions_.scales.empty() ? ColumnScale() : predictions_.scales.at(column);
  }
  double value(size_t row, size_t column) const { return values_[row * num_columns_ + column]; }

  // Returns NaN if the target is unknown.
  double target(size_t row, size_t column) const {
    return predictions_.targets.const_data_ptr<double>()[row * num_columns_ + column];
  }

  size_t predicted_class(size_t row) const {
    const double* first = values_ + row * num_columns_;
    return static_cast<size_t>(std::max_element(first, first + num_columns_) - first);
  }

  // Returns "" if the target is unknown.
  std::string target_class(size_t row) const {
    const int64_t number = predictions_.targets.const_data_ptr<int64_t>()[row];
    return number < 0 ? "" : predictions_.names.at(static_cast<size_t>(number));
  }

 private:
  const Predictions& predictions_;
  size_t num_columns_;
  const double* values_;
};

// Returns the distance from a float32 near `value` to the next larger one.
double float_step(double value) {
  const float size = std::abs(static_cast<float>(value));
  return static_cast<double>(std::nextafter(size, std::numeric_limits<float>::infinity()) - size);
}

// Returns the shortest decimal that stands for the same float32 as `value` on the way through the scaling of targets.
// The value 20.96 of a file is 20.960001 after it, because the scaled value is a float32 too.
double without_error_of_scaling(double value, const ColumnScale& scale) {
  constexpr int kMostDigits = 9;  // of float32
  const double error = float_step(value) / 2 + std::abs(scale.scale) * float_step((value - scale.offset) / scale.scale);
  for (int digits = 1; digits <= kMostDigits; ++digits) {
    const double shorter = parse_double(fmt::format("{:.{}g}", value, digits)).value_or(value);
    if (std::abs(shorter - value) <= error) return shorter;
  }
  return value;
}

// Outputs are float32, so more digits have no meaning. In the targets' units, values may exceed the float32 range.
std::string number_text(double value, const ColumnScale& scale = {}) {
  if (std::isnan(value)) return "";
  if (std::abs(value) > std::numeric_limits<float>::max()) return fmt::format("{}", value);
  const bool is_scaled = scale.scale != 1 || scale.offset != 0;
  return fmt::format("{}", static_cast<float>(is_scaled ? without_error_of_scaling(value, scale) : value));
}

Json number_json(double value, const ColumnScale& scale = {}) {
  return std::isfinite(value) ? Json::parse(number_text(value, scale)) : Json(nullptr);
}

bool is_yes(double probability) { return probability >= 0.5; }

// Returns "target_height", or "target" if there is only one.
std::string column_name(const char* what, const Predictions& predictions, size_t column) {
  if (predictions.names.size() == 1 && predictions.kind != PredictionKind::kClasses) return what;
  return fmt::format("{}_{}", what, predictions.names[column]);
}

void add_columns(std::vector<std::string>& header, const char* what, const Predictions& predictions) {
  for (size_t column = 0; column < predictions.names.size(); ++column)
    header.push_back(column_name(what, predictions, column));
}

// Returns the columns with the results of a sample.
std::vector<std::string> sample_columns(const Predictions& predictions) {
  std::vector<std::string> header;
  const bool classes = predictions.kind == PredictionKind::kClasses;
  if (predictions.targets.defined() && classes) header.emplace_back("target");
  if (predictions.targets.defined() && !classes) add_columns(header, "target", predictions);
  if (classes)
    header.emplace_back("prediction");
  else
    add_columns(header, "prediction", predictions);
  if (predictions.kind != PredictionKind::kValues) add_columns(header, "probability", predictions);
  return header;
}

// Returns the names of the data.id columns in the table: the table's own columns keep their names.
std::vector<std::string> id_columns(const FileRows& rows, std::vector<std::string> used) {
  used.insert(used.end(), {"index", "row", "reason"});
  std::vector<std::string> names;
  for (std::string name : rows.id_names) {
    while (std::ranges::find(used, name) != used.end()) name = "id_" + name;
    used.push_back(name);
    names.push_back(name);
  }
  return names;
}

std::string plain_csv_line(const std::vector<std::string>& cells) { return csv_line(cells, Formulas::kUnchanged); }

std::string csv_header(const Predictions& predictions, const FileRows& rows) {
  std::vector<std::string> header = {"index"};
  const std::vector<std::string> of_sample = sample_columns(predictions);
  if (rows.rows.empty()) {
    header.insert(header.end(), of_sample.begin(), of_sample.end());
    return plain_csv_line(header);
  }
  if (rows.are_numbered) header.emplace_back("row");
  for (const auto& names : {id_columns(rows, of_sample), of_sample})
    header.insert(header.end(), names.begin(), names.end());
  if (rows.are_numbered) header.emplace_back("reason");
  return plain_csv_line(header);
}

std::vector<std::string> class_cells(const Rows& rows, const Predictions& predictions, size_t row) {
  std::vector<std::string> cells;
  if (rows.has_targets()) cells.push_back(rows.target_class(row));
  cells.push_back(predictions.names[rows.predicted_class(row)]);
  for (size_t column = 0; column < rows.num_columns(); ++column) cells.push_back(number_text(rows.value(row, column)));
  return cells;
}

std::string predicted_text(PredictionKind kind, double value, const ColumnScale& scale) {
  if (kind == PredictionKind::kValues) return number_text(value, scale);
  return is_yes(value) ? "1" : "0";
}

std::vector<std::string> value_cells(const Rows& rows, PredictionKind kind, size_t row) {
  std::vector<std::string> cells;
  for (size_t column = 0; rows.has_targets() && column < rows.num_columns(); ++column)
    cells.push_back(number_text(rows.target(row, column), rows.scale(column)));
  for (size_t column = 0; column < rows.num_columns(); ++column)
    cells.push_back(predicted_text(kind, rows.value(row, column), rows.scale(column)));
  for (size_t column = 0; kind == PredictionKind::kProbabilities && column < rows.num_columns(); ++column)
    cells.push_back(number_text(rows.value(row, column)));
  return cells;
}

std::vector<std::string> sample_cells(const Rows& rows, const Predictions& predictions, size_t sample) {
  return predictions.kind == PredictionKind::kClasses ? class_cells(rows, predictions, sample)
                                                      : value_cells(rows, predictions.kind, sample);
}

// A row after the end of its series has no number.
std::string number_of_row(const FileRow& row) { return row.number > 0 ? std::to_string(row.number) : ""; }

std::string csv_row(const Rows& rows, const Predictions& predictions, const FileRow& row, bool is_numbered,
                    size_t num_sample_columns) {
  std::vector<std::string> cells = {row.sample ? std::to_string(*row.sample) : ""};
  if (is_numbered) cells.push_back(number_of_row(row));
  cells.insert(cells.end(), row.id.begin(), row.id.end());
  const auto of_sample = row.sample ? sample_cells(rows, predictions, static_cast<size_t>(*row.sample))
                                    : std::vector<std::string>(num_sample_columns);
  cells.insert(cells.end(), of_sample.begin(), of_sample.end());
  if (is_numbered) cells.push_back(row.reason);
  return plain_csv_line(cells);
}

// Returns a single number directly, and several numbers as an object by name.
template <class NumberOf>
Json by_name(const Predictions& predictions, NumberOf number_of) {
  if (predictions.names.size() == 1) return number_of(0);
  Json object = Json::object();
  for (size_t column = 0; column < predictions.names.size(); ++column)
    object[predictions.names[column]] = number_of(column);
  return object;
}

void add_class(Json& json, const Rows& rows, const Predictions& predictions, size_t row) {
  if (rows.has_targets()) {
    const std::string target = rows.target_class(row);
    json["target"] = target.empty() ? Json(nullptr) : Json(target);
  }
  json["prediction"] = predictions.names[rows.predicted_class(row)];
  json["probabilities"] = by_name(predictions, [&](size_t column) { return number_json(rows.value(row, column)); });
}

void add_values(Json& json, const Rows& rows, const Predictions& predictions, size_t row) {
  const auto value = [&](size_t column) { return number_json(rows.value(row, column), rows.scale(column)); };
  const auto yes = [&](size_t column) { return Json(is_yes(rows.value(row, column)) ? 1 : 0); };
  if (rows.has_targets())
    json["target"] =
        by_name(predictions, [&](size_t column) { return number_json(rows.target(row, column), rows.scale(column)); });
  const bool is_probability = predictions.kind == PredictionKind::kProbabilities;
  json["prediction"] = is_probability ? by_name(predictions, yes) : by_name(predictions, value);
  if (is_probability) json["probability"] = by_name(predictions, value);
}

void add_sample(Json& json, const Rows& rows, const Predictions& predictions, size_t sample) {
  predictions.kind == PredictionKind::kClasses ? add_class(json, rows, predictions, sample)
                                               : add_values(json, rows, predictions, sample);
}

void add_nothing(Json& json, const Predictions& predictions) {
  if (predictions.targets.defined()) json["target"] = nullptr;
  json["prediction"] = nullptr;
  if (predictions.kind == PredictionKind::kClasses) json["probabilities"] = nullptr;
  if (predictions.kind == PredictionKind::kProbabilities) json["probability"] = nullptr;
}

// Cells of a file are texts; the numbers of samples and steps are numbers.
void add_id(Json& json, const FileRows& all, size_t i, const std::string& id) {
  if (all.are_numbered)
    json["id"][all.id_names[i]] = id;
  else
    json[all.id_names[i]] = parse_int64(id).value();
}

Json json_row(const Rows& rows, const Predictions& predictions, const FileRow& row, const FileRows& all) {
  Json json = {{"index", row.sample ? Json(*row.sample) : Json(nullptr)}};
  if (all.are_numbered) json["row"] = row.number > 0 ? Json(row.number) : Json(nullptr);
  for (size_t i = 0; i < all.id_names.size(); ++i) add_id(json, all, i, row.id[i]);
  if (row.sample)
    add_sample(json, rows, predictions, static_cast<size_t>(*row.sample));
  else
    add_nothing(json, predictions);
  if (all.are_numbered) json["reason"] = row.sample ? Json(nullptr) : Json(row.reason);
  return json;
}

std::string json_line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

void write_npy(const std::filesystem::path& file, const at::Tensor& raw) {
  const std::string header = npy_header(raw.size(0), raw.size(1));
  const std::array<std::string_view, 2> pieces = {header,
                                                  {static_cast<const char*>(raw.const_data_ptr()), raw.nbytes()}};
  write_output_file(file, pieces);
}

}  // namespace

std::string prediction_csv(const Predictions& predictions, const FileRows& rows) {
  const Rows samples(predictions);
  std::string text = csv_header(predictions, rows);
  const size_t num_sample_columns = sample_columns(predictions).size();
  for (const FileRow& row : rows.rows)
    text += csv_row(samples, predictions, row, rows.are_numbered, num_sample_columns);
  if (!rows.rows.empty()) return text;
  for (size_t sample = 0; sample < samples.num_rows(); ++sample)
    text += std::to_string(sample) + "," + plain_csv_line(sample_cells(samples, predictions, sample));
  return text;
}

std::string prediction_jsonl(const Predictions& predictions, const FileRows& rows) {
  const Rows samples(predictions);
  std::string text;
  for (const FileRow& row : rows.rows) text += json_line(json_row(samples, predictions, row, rows));
  if (!rows.rows.empty()) return text;
  for (size_t sample = 0; sample < samples.num_rows(); ++sample) {
    Json json = {{"index", sample}};
    add_sample(json, samples, predictions, sample);
    text += json_line(json);
  }
  return text;
}

void require_prediction_file(const std::filesystem::path& file) {
  const std::string ending = file.extension().string();
  if (ending == ".csv" || ending == ".jsonl" || ending == ".npy") return;
  throw_error(ExitCode::kUsage, "--out: got {}, expected a name that ends in .csv, .jsonl or .npy",
              in_quotes(file.string()));
}

void write_predictions(const std::filesystem::path& file, const Predictions& predictions, const FileRows& rows) {
  require_prediction_file(file);
  if (file.extension() == ".npy") return write_npy(file, predictions.raw);
  const bool is_csv = file.extension() == ".csv";
  write_output_file(file, is_csv ? prediction_csv(predictions, rows) : prediction_jsonl(predictions, rows));
}

std::string prediction_text(const Predictions& predictions, const std::string& out) {
  const std::string samples = counted(predictions.times.num_samples, "sample");
  const std::string rows = predictions.row == "sample"
                               ? samples
                               : fmt::format("{} of {}", counted(predictions.values.size(0), predictions.row), samples);
  return fmt::format("{}: {} in {}\n", out, rows, pass_times_text(predictions.times));
}

std::string prediction_json(const TrainedModel& trained, const InferenceData& data, const Predictions& predictions,
                            const std::string& out) {
  Json json = pass_json(trained, data, predictions.times);
  json["out"] = last_name(out);
  return json_text(json);
}

}  // namespace rnnlab
