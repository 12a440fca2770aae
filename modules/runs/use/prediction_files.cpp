// SPDX-License-Identifier: Apache-2.0
#include "runs/use/prediction_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>

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

  double quantile(size_t row, size_t column, size_t level) const {
    const size_t place = (row * num_columns_ + column) * predictions_.levels.size() + level;
    return predictions_.quantiles.const_data_ptr<double>()[place];
  }

  // Returns NaN if the target is unknown.
  double target(size_t row, size_t column) const {
    return predictions_.targets.const_data_ptr<double>()[row * num_columns_ + column];
  }

  size_t predicted_class(size_t row) const {
    const double* first = values_ + row * num_columns_;
    return static_cast<size_t>(std::max_element(first, first + num_columns_) - first);
  }

  // Returns nullopt if the target is unknown.
  std::optional<std::string> target_class(size_t row) const {
    const int64_t number = predictions_.targets.const_data_ptr<int64_t>()[row];
    if (number < 0) return std::nullopt;
    return predictions_.names.at(static_cast<size_t>(number));
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
std::optional<std::string> number_text(double value, const ColumnScale& scale = {}) {
  if (std::isnan(value)) return std::nullopt;
  if (std::abs(value) > std::numeric_limits<float>::max()) return fmt::format("{}", value);
  const bool is_scaled = scale.scale != 1 || scale.offset != 0;
  return fmt::format("{}", static_cast<float>(is_scaled ? without_error_of_scaling(value, scale) : value));
}

// What a table has of each sample: one value, or one of each name of the predictions.
struct SampleField {
  std::string name;
  std::string json_name;
  bool is_of_each_name = true;
  bool is_number = true;
  std::function<std::optional<std::string>(size_t sample, size_t column)> value;  // nullopt: unknown

  size_t num_columns(const Predictions& predictions) const { return is_of_each_name ? predictions.names.size() : 1; }

  // Returns "target_height", or "target" if there is only one.
  std::string column_name(const Predictions& predictions, size_t column) const {
    const bool is_alone = predictions.names.size() == 1 && predictions.kind != PredictionKind::kClasses;
    return is_alone || !is_of_each_name ? name : fmt::format("{}_{}", name, predictions.names[column]);
  }

  Json json(size_t sample, size_t column) const {
    const auto text = value(sample, column);
    if (!text) return nullptr;
    if (!is_number) return *text;
    const Json number = Json::parse(*text, nullptr, false);
    return number.is_discarded() ? Json(nullptr) : number;  // infinite
  }
};

// The fields read `rows` when their values are requested.
std::vector<SampleField> fields_of_classes(const Rows& rows, const Predictions& predictions) {
  std::vector<SampleField> fields;
  if (rows.has_targets())
    fields.push_back({"target", "target", false, false, [&](size_t row, size_t) { return rows.target_class(row); }});
  fields.push_back({"prediction", "prediction", false, false,
                    [&](size_t row, size_t) { return predictions.names[rows.predicted_class(row)]; }});
  fields.push_back({"probability", "probabilities", true, true,
                    [&](size_t row, size_t column) { return number_text(rows.value(row, column)); }});
  return fields;
}

std::vector<SampleField> fields_of_values(const Rows& rows, const Predictions& predictions) {
  const auto value = [&](size_t row, size_t column) {
    return number_text(rows.value(row, column), rows.scale(column));
  };
  const auto yes = [&](size_t row, size_t column) { return rows.value(row, column) >= 0.5 ? "1" : "0"; };
  std::vector<SampleField> fields;
  if (rows.has_targets())
    fields.push_back({"target", "target", true, true, [&](size_t row, size_t column) {
                        return number_text(rows.target(row, column), rows.scale(column));
                      }});
  const bool is_probability = predictions.kind == PredictionKind::kProbabilities;
  if (!is_probability) fields.push_back({"prediction", "prediction", true, true, value});
  if (is_probability) fields.push_back({"prediction", "prediction", true, true, yes});
  if (is_probability) fields.push_back({"probability", "probability", true, true, value});
  for (size_t level = 0; level < predictions.levels.size(); ++level) {
    const std::string name = "quantile_" + format_shortest(predictions.levels[level]);
    fields.push_back({name, name, true, true, [&rows, level](size_t row, size_t column) {
                        return number_text(rows.quantile(row, column, level), rows.scale(column));
                      }});
  }
  return fields;
}

std::vector<SampleField> fields_of(const Rows& rows, const Predictions& predictions) {
  return predictions.kind == PredictionKind::kClasses ? fields_of_classes(rows, predictions)
                                                      : fields_of_values(rows, predictions);
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

// A table of predictions: its lines are rows of a file, or samples if it is not known where these are from.
class PredictionTable {
 public:
  PredictionTable(const Predictions& predictions, const FileRows& rows)
      : predictions_(predictions),
        samples_(predictions),
        fields_(fields_of(samples_, predictions)),
        rows_(rows.rows.empty() ? samples_only() : rows) {}

  std::string csv() const {
    std::string text = csv_line(header(), Formulas::kUnchanged);
    for_each_row([&](const FileRow& row) { text += csv_line(cells(row), Formulas::kUnchanged); });
    return text;
  }

  std::string jsonl() const {
    std::string text;
    for_each_row(
        [&](const FileRow& row) { text += json_of(row).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; });
    return text;
  }

  // Of a stream of numbered rows.
  std::string streamed_names() const { return csv_line(without_ends(header()), Formulas::kUnchanged); }
  std::string streamed_csv() const { return csv_line(without_ends(cells(rows_.rows.front())), Formulas::kUnchanged); }

  std::string streamed_json() const {
    Json json = json_of(rows_.rows.front());
    for (const char* key : {"index", "reason"}) json.erase(key);
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }

 private:
  static const FileRows& samples_only() {
    static const FileRows none{.id_names = {}, .rows = {}, .are_numbered = false};
    return none;
  }

  template <class Write>
  void for_each_row(Write write) const {
    for (const FileRow& row : rows_.rows) write(row);
    if (!rows_.rows.empty()) return;
    FileRow row;
    for (size_t sample = 0; sample < samples_.num_rows(); ++sample) {
      row.sample = static_cast<int64_t>(sample);
      write(row);
    }
  }

  // Without `index`, the first column, and `reason`, the last one.
  static std::vector<std::string> without_ends(const std::vector<std::string>& cells) {
    return {cells.begin() + 1, cells.end() - 1};
  }

  std::vector<std::string> header() const {
    std::vector<std::string> of_samples;
    for (const SampleField& field : fields_)
      for (size_t column = 0; column < field.num_columns(predictions_); ++column)
        of_samples.push_back(field.column_name(predictions_, column));
    std::vector<std::string> header = {"index"};
    if (rows_.are_numbered) header.emplace_back("row");
    for (const auto& names : {id_columns(rows_, of_samples), of_samples})
      header.insert(header.end(), names.begin(), names.end());
    if (rows_.are_numbered) header.emplace_back("reason");
    return header;
  }

  std::vector<std::string> cells(const FileRow& row) const {
    std::vector<std::string> cells = {row.sample ? std::to_string(*row.sample) : ""};
    if (rows_.are_numbered) cells.push_back(row.number > 0 ? std::to_string(row.number) : "");
    cells.insert(cells.end(), row.id.begin(), row.id.end());
    for (const SampleField& field : fields_)
      for (size_t column = 0; column < field.num_columns(predictions_); ++column)
        cells.push_back(row.sample ? field.value(static_cast<size_t>(*row.sample), column).value_or("") : "");
    if (rows_.are_numbered) cells.push_back(row.reason);
    return cells;
  }

  Json json_of(const FileRow& row) const {
    Json json = {{"index", row.sample ? Json(*row.sample) : Json(nullptr)}};
    if (rows_.are_numbered) json["row"] = row.number > 0 ? Json(row.number) : Json(nullptr);
    for (size_t i = 0; i < rows_.id_names.size(); ++i) add_id(json, rows_.id_names[i], row.id[i]);
    for (const SampleField& field : fields_)
      json[field.json_name] = row.sample ? json_of(field, static_cast<size_t>(*row.sample)) : Json(nullptr);
    if (rows_.are_numbered) json["reason"] = row.sample ? Json(nullptr) : Json(row.reason);
    return json;
  }

  // Cells of a file are texts; the numbers of samples and steps are numbers.
  void add_id(Json& json, const std::string& name, const std::string& id) const {
    if (rows_.are_numbered)
      json["id"][name] = id;
    else
      json[name] = parse_int64(id).value();
  }

  // Returns a single value directly, and several values as an object by name.
  Json json_of(const SampleField& field, size_t sample) const {
    if (field.num_columns(predictions_) == 1) return field.json(sample, 0);
    Json object = Json::object();
    for (size_t column = 0; column < predictions_.names.size(); ++column)
      object[predictions_.names[column]] = field.json(sample, column);
    return object;
  }

  const Predictions& predictions_;
  Rows samples_;
  std::vector<SampleField> fields_;
  const FileRows& rows_;
};

// Returns the places of the columns of data.id without that of the times, which has a column of its own.
std::vector<size_t> id_places(const FileRows& rows) {
  std::vector<size_t> places;
  for (size_t i = 0; i < rows.id_names.size(); ++i)
    if (rows.id_names[i] != rows.time_name) places.push_back(i);
  return places;
}

FileRows without_time(const FileRows& rows) {
  FileRows names{.id_names = {}, .rows = {}};
  for (const size_t place : id_places(rows)) names.id_names.push_back(rows.id_names[place]);
  return names;
}

// A table with a line for each prediction of each horizon. Rows without a prediction have none.
class LongTable {
 public:
  LongTable(const Predictions& predictions, const FileRows& rows, const LongForm& form)
      : predictions_(predictions),
        samples_(predictions),
        fields_(fields_of(samples_, predictions)),
        rows_(rows),
        form_(form),
        id_places_(id_places(rows)) {}

  std::string csv() const {
    std::vector<std::string> of_samples = {"time", "horizon"};
    for (const SampleField& field : fields_)
      for (const size_t output : outputs_of(field, 0)) of_samples.push_back(name_of(field, output));
    std::vector<std::string> header = {"index", "row"};
    for (const auto& names : {id_columns(without_time(rows_), of_samples), of_samples})
      header.insert(header.end(), names.begin(), names.end());
    std::string text = csv_line(header, Formulas::kUnchanged);
    for_each_line(
        [&](const FileRow& row, size_t horizon) { text += csv_line(cells(row, horizon), Formulas::kUnchanged); });
    return text;
  }

  std::string jsonl() const {
    std::string text;
    for_each_line([&](const FileRow& row, size_t horizon) {
      text += json_of(row, horizon).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    });
    return text;
  }

 private:
  template <class Write>
  void for_each_line(Write write) const {
    for (const FileRow& row : rows_.rows)
      for (size_t horizon = 0; row.sample && horizon < form_.horizons.size(); ++horizon) write(row, horizon);
  }

  bool has_horizons(const SampleField& field) const {
    return field.is_of_each_name && predictions_.kind != PredictionKind::kClasses;
  }

  // Returns the outputs of a field for one horizon: one of each target, or those of all classes.
  std::vector<size_t> outputs_of(const SampleField& field, size_t horizon) const {
    const size_t step = has_horizons(field) ? form_.horizons.size() : 1;
    std::vector<size_t> outputs;
    for (size_t output = has_horizons(field) ? horizon : 0; output < field.num_columns(predictions_); output += step)
      outputs.push_back(output);
    return outputs;
  }

  const std::string& target_of(size_t output) const { return form_.targets[output / form_.horizons.size()]; }

  std::string name_of(const SampleField& field, size_t output) const {
    if (!has_horizons(field)) return field.column_name(predictions_, output);
    return form_.targets.size() == 1 ? field.name : fmt::format("{}_{}", field.name, target_of(output));
  }

  std::vector<std::string> cells(const FileRow& row, size_t horizon) const {
    const ForecastRow& forecast = rows_.forecasts[row.forecasts[horizon]];
    std::vector<std::string> cells = {std::to_string(*row.sample),
                                      forecast.number > 0 ? std::to_string(forecast.number) : ""};
    for (const size_t place : id_places_) cells.push_back(forecast.id[place]);
    cells.insert(cells.end(), {forecast.time, std::to_string(form_.horizons[horizon])});
    for (const SampleField& field : fields_)
      for (const size_t output : outputs_of(field, horizon))
        cells.push_back(field.value(static_cast<size_t>(*row.sample), output).value_or(""));
    return cells;
  }

  Json json_of(const FileRow& row, size_t horizon) const {
    const ForecastRow& forecast = rows_.forecasts[row.forecasts[horizon]];
    Json json = {{"index", *row.sample}, {"row", forecast.number > 0 ? Json(forecast.number) : Json(nullptr)}};
    for (const size_t place : id_places_) json["id"][rows_.id_names[place]] = forecast.id[place];
    json["time"] = forecast.time.empty() ? Json(nullptr) : Json(forecast.time);
    json["horizon"] = form_.horizons[horizon];
    for (const SampleField& field : fields_)
      json[field.json_name] = json_of(field, static_cast<size_t>(*row.sample), horizon);
    return json;
  }

  Json json_of(const SampleField& field, size_t sample, size_t horizon) const {
    const std::vector<size_t> outputs = outputs_of(field, horizon);
    if (outputs.size() == 1) return field.json(sample, outputs.front());
    Json object = Json::object();
    for (const size_t output : outputs)
      object[has_horizons(field) ? target_of(output) : predictions_.names[output]] = field.json(sample, output);
    return object;
  }

  const Predictions& predictions_;
  Rows samples_;
  std::vector<SampleField> fields_;
  const FileRows& rows_;
  const LongForm& form_;
  std::vector<size_t> id_places_;
};

void write_npy(const std::filesystem::path& file, const at::Tensor& raw) {
  const std::string header = npy_header(raw.size(0), raw.size(1));
  const std::array<std::string_view, 2> pieces = {header,
                                                  {static_cast<const char*>(raw.const_data_ptr()), raw.nbytes()}};
  write_output_file(file, pieces);
}

}  // namespace

std::optional<LongForm> long_form(const TrainedModel& trained) {
  const DataSettings& settings = trained.experiment.data;
  if (settings.window == 0 || trained.data.shape.target_per_step) return std::nullopt;
  return LongForm{settings.target, settings.horizon};
}

std::string prediction_csv(const Predictions& predictions, const FileRows& rows, const std::optional<LongForm>& form) {
  return form ? LongTable(predictions, rows, *form).csv() : PredictionTable(predictions, rows).csv();
}

std::string prediction_jsonl(const Predictions& predictions, const FileRows& rows,
                             const std::optional<LongForm>& form) {
  return form ? LongTable(predictions, rows, *form).jsonl() : PredictionTable(predictions, rows).jsonl();
}

std::string streamed_names(const Predictions& predictions, const FileRows& rows) {
  return PredictionTable(predictions, rows).streamed_names();
}

std::string streamed_csv(const Predictions& predictions, const FileRows& rows) {
  return PredictionTable(predictions, rows).streamed_csv();
}

std::string streamed_json(const Predictions& predictions, const FileRows& rows) {
  return PredictionTable(predictions, rows).streamed_json();
}

std::optional<std::string> note_on_rows(const FileRows& rows, const std::optional<LongForm>& form) {
  const auto count = std::ranges::count_if(rows.rows, [](const FileRow& row) { return !row.sample; });
  if (count == 0) return std::nullopt;
  return fmt::format("{} of the file {} no prediction; `reason` in the output{} says why", counted(count, "row"),
                     count == 1 ? "has" : "have", form ? " without --long" : "");
}

void require_prediction_file(const std::filesystem::path& file) {
  const std::string ending = file.extension().string();
  if (ending == ".csv" || ending == ".jsonl" || ending == ".npy") return;
  throw_error(ExitCode::kUsage, "--out: got {}, expected a name that ends in .csv, .jsonl or .npy",
              in_quotes(file.string()));
}

void write_predictions(const std::filesystem::path& file, const Predictions& predictions, const FileRows& rows,
                       const std::optional<LongForm>& form) {
  require_prediction_file(file);
  if (file.extension() == ".npy") return write_npy(file, predictions.raw);
  const bool is_csv = file.extension() == ".csv";
  write_output_file(file, is_csv ? prediction_csv(predictions, rows, form) : prediction_jsonl(predictions, rows, form));
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
