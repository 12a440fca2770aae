#include "inference/prediction_file.h"

#include <array>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/text.h"
#include "inference/npy_file.h"
#include "results/files.h"
#include "results/json_fields.h"

namespace rnnlab {
namespace {

// A table of predictions by plain numbers.
class Rows {
 public:
  explicit Rows(const Predictions& predictions)
      : predictions_(predictions),
        num_columns_(static_cast<size_t>(predictions.values.size(1))),
        values_(predictions.values.const_data_ptr<double>()) {}

  size_t num_rows() const { return static_cast<size_t>(predictions_.values.size(0)); }
  size_t num_columns() const { return num_columns_; }
  bool has_targets() const { return predictions_.targets.defined(); }
  double value(size_t row, size_t column) const { return values_[row * num_columns_ + column]; }

  // NaN where it is unknown.
  double target(size_t row, size_t column) const {
    return predictions_.targets.const_data_ptr<double>()[row * num_columns_ + column];
  }

  size_t predicted_class(size_t row) const {
    const double* first = values_ + row * num_columns_;
    return static_cast<size_t>(std::max_element(first, first + num_columns_) - first);
  }

  // "" where it is unknown.
  std::string target_class(size_t row) const {
    const int64_t number = predictions_.targets.const_data_ptr<int64_t>()[row];
    return number < 0 ? "" : predictions_.names.at(static_cast<size_t>(number));
  }

 private:
  const Predictions& predictions_;
  size_t num_columns_;
  const double* values_;
};

// Outputs are float32: more digits would say nothing. In the targets' own units they may be larger than float32 can be.
std::string number_text(double value) {
  if (std::isnan(value)) return "";
  const bool is_large = std::abs(value) > std::numeric_limits<float>::max();
  return is_large ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
}

Json number_json(double value) { return std::isfinite(value) ? Json::parse(number_text(value)) : Json(nullptr); }

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

bool is_yes(double probability) { return probability >= 0.5; }

// "target_height", or "target" where there is one only.
std::string column_name(const char* what, const Predictions& predictions, size_t column) {
  if (predictions.names.size() == 1 && predictions.kind != PredictionKind::kClasses) return what;
  return fmt::format("{}_{}", what, predictions.names[column]);
}

void add_columns(std::vector<std::string>& header, const char* what, const Predictions& predictions) {
  for (size_t column = 0; column < predictions.names.size(); ++column)
    header.push_back(csv_cell(column_name(what, predictions, column)));
}

std::vector<std::string> csv_header(const Predictions& predictions) {
  std::vector<std::string> header = {"index"};
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

std::string csv_class_row(const Rows& rows, const Predictions& predictions, size_t row) {
  std::string line = std::to_string(row);
  if (rows.has_targets()) line += "," + csv_cell(rows.target_class(row));
  line += "," + csv_cell(predictions.names[rows.predicted_class(row)]);
  for (size_t column = 0; column < rows.num_columns(); ++column) line += "," + number_text(rows.value(row, column));
  return line + "\n";
}

std::string predicted_text(PredictionKind kind, double value) {
  if (kind == PredictionKind::kValues) return number_text(value);
  return is_yes(value) ? "1" : "0";
}

std::string csv_value_row(const Rows& rows, PredictionKind kind, size_t row) {
  std::string line = std::to_string(row);
  for (size_t column = 0; rows.has_targets() && column < rows.num_columns(); ++column)
    line += "," + number_text(rows.target(row, column));
  for (size_t column = 0; column < rows.num_columns(); ++column)
    line += "," + predicted_text(kind, rows.value(row, column));
  for (size_t column = 0; kind == PredictionKind::kProbabilities && column < rows.num_columns(); ++column)
    line += "," + number_text(rows.value(row, column));
  return line + "\n";
}

// One number by itself, several by their names.
template <class NumberOf>
Json by_name(const Predictions& predictions, NumberOf number_of) {
  if (predictions.names.size() == 1) return number_of(0);
  Json object = Json::object();
  for (size_t column = 0; column < predictions.names.size(); ++column)
    object[predictions.names[column]] = number_of(column);
  return object;
}

Json json_class_row(const Rows& rows, const Predictions& predictions, size_t row) {
  Json json = {{"index", row}};
  if (rows.has_targets()) {
    const std::string target = rows.target_class(row);
    json["target"] = target.empty() ? Json(nullptr) : Json(target);
  }
  json["prediction"] = predictions.names[rows.predicted_class(row)];
  json["probabilities"] = by_name(predictions, [&](size_t column) { return number_json(rows.value(row, column)); });
  return json;
}

Json json_value_row(const Rows& rows, const Predictions& predictions, size_t row) {
  Json json = {{"index", row}};
  const auto value = [&](size_t column) { return number_json(rows.value(row, column)); };
  const auto yes = [&](size_t column) { return Json(is_yes(rows.value(row, column)) ? 1 : 0); };
  if (rows.has_targets())
    json["target"] = by_name(predictions, [&](size_t column) { return number_json(rows.target(row, column)); });
  const bool is_probability = predictions.kind == PredictionKind::kProbabilities;
  json["prediction"] = is_probability ? by_name(predictions, yes) : by_name(predictions, value);
  if (is_probability) json["probability"] = by_name(predictions, value);
  return json;
}

void write_npy(const std::filesystem::path& file, const at::Tensor& raw) {
  const std::string header = npy_header(raw.size(0), raw.size(1));
  const std::array<std::string_view, 2> pieces = {header,
                                                  {static_cast<const char*>(raw.const_data_ptr()), raw.nbytes()}};
  write_file_atomically(file, pieces);
}

}  // namespace

std::string prediction_csv(const Predictions& predictions) {
  const Rows rows(predictions);
  std::string text = join(csv_header(predictions), ",") + "\n";
  for (size_t row = 0; row < rows.num_rows(); ++row)
    text += predictions.kind == PredictionKind::kClasses ? csv_class_row(rows, predictions, row)
                                                         : csv_value_row(rows, predictions.kind, row);
  return text;
}

std::string prediction_jsonl(const Predictions& predictions) {
  const Rows rows(predictions);
  std::string text;
  for (size_t row = 0; row < rows.num_rows(); ++row) {
    const Json json = predictions.kind == PredictionKind::kClasses ? json_class_row(rows, predictions, row)
                                                                   : json_value_row(rows, predictions, row);
    text += json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  return text;
}

void require_prediction_file(const std::filesystem::path& file) {
  const std::string ending = file.extension().string();
  if (ending == ".csv" || ending == ".jsonl" || ending == ".npy") return;
  throw_error(ExitCode::kUsage, "--out: got {}, expected a name that ends in .csv, .jsonl or .npy",
              in_quotes(file.string()));
}

void write_predictions(const std::filesystem::path& file, const Predictions& predictions) {
  require_prediction_file(file);
  if (file.extension() == ".npy") return write_npy(file, predictions.raw);
  const bool is_csv = file.extension() == ".csv";
  write_file_atomically(file, is_csv ? prediction_csv(predictions) : prediction_jsonl(predictions));
}

}  // namespace rnnlab
