#include "data/csv_part.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "config/yaml_text.h"

namespace rnnlab {
namespace {

bool is_listed(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

bool begins_with_text(const Table& table, int64_t column) {
  return table.num_rows() > 0 && is_text(trim(table.cell(0, column)));
}

std::vector<std::string> names_of_numbers(const Table& table, const std::vector<std::string>& names) {
  std::vector<std::string> found;
  for (const std::string& name : names)
    if (!begins_with_text(table, table.column_index(name))) found.push_back(config::yaml_text(name));
  return found;
}

// Dates and texts among columns that nobody named show in the first row; those that can be named instead, too.
void refuse_texts(const Table& table, const std::vector<std::string>& names) {
  constexpr size_t kMostNamed = 12;
  for (const std::string& name : names) {
    const int64_t column = table.column_index(name);
    if (!begins_with_text(table, column)) continue;
    const std::vector<std::string> numbers = names_of_numbers(table, names);
    const bool is_short = !numbers.empty() && numbers.size() <= kMostNamed;
    throw_error(ExitCode::kData, "{}:{}: column {}: got {}, expected a number; leave it out: {}", table.path(),
                table.line(0, column), in_quotes(name), in_quotes(trim(table.cell(0, column))),
                is_short ? fmt::format("data.features: [{}]", join(numbers, ", "))
                         : "name the columns of numbers in data.features");
  }
}

// Where none are named: all columns but data.id's and the target, which a series of numbers may look back on too.
std::vector<std::string> feature_names(const Table& table, const DataSettings& settings) {
  if (!settings.features.empty()) return settings.features;
  const bool looks_back = settings.window > 0 && csv_task(settings) != Task::kClassification;
  std::vector<std::string> names;
  for (const std::string& name : table.column_names()) {
    const bool is_target = !looks_back && is_listed(settings.target, name);
    if (!is_target && !is_listed(settings.id, name)) names.push_back(name);
  }
  if (names.empty()) {
    throw_error(ExitCode::kData,
                "{}: no column is left for the features: data.target {}all of them; name fewer columns there, or set "
                "data.features",
                table.path(), settings.id.empty() ? "names " : "and data.id name ");
  }
  refuse_texts(table, names);
  return names;
}

// With the key that names what is not there.
void require_columns(const Table& table, const char* key, const std::vector<std::string>& names) {
  try {
    for (const std::string& name : names) table.column_index(name);
  } catch (const UserError& error) {
    throw_error(error.exit_code(), "{}: {}", key, error.what());
  }
}

void require_within(const Table& table, const NumericColumn& column, double least, double most,
                    std::string_view expected) {
  for (size_t row = 0; row < column.values.size(); ++row) {
    const double value = column.values[row];
    if (std::isnan(value) || (value >= least && value <= most)) continue;
    const int64_t index = table.column_index(column.name);
    throw_error(ExitCode::kData, "{}:{}: column {} holds {}, expected {}", table.path(),
                table.line(static_cast<int64_t>(row), index), in_quotes(column.name), value, expected);
  }
}

// The mean is of the training part, which is known only after the split: until then such values stay missing.
MissingPolicy reading_policy(MissingPolicy policy) {
  return policy == MissingPolicy::kMean ? MissingPolicy::kDrop : policy;
}

std::vector<NumericColumn> numbers(const Table& table, const std::vector<std::string>& names, MissingPolicy policy) {
  constexpr double kMost = std::numeric_limits<float>::max();
  std::vector<NumericColumn> columns;
  for (const std::string& name : names) {
    columns.push_back(numeric_column(table, name, reading_policy(policy)));
    require_within(table, columns.back(), -kMost, kMost, "a number that float32 holds, at most 3.4e38");
  }
  return columns;
}

bool is_decimal(const std::string& label) {
  const auto number = parse_double(label);
  return number && *number != std::floor(*number);
}

// A class for each of 17.38, 17.5 ... is hardly ever meant; who means it says so.
void refuse_decimal_classes(const std::string& path, const std::string& name, const std::vector<std::string>& labels) {
  const auto decimal = std::ranges::find_if(labels, is_decimal);
  const bool are_numbers = std::ranges::all_of(labels, [](const std::string& label) { return !!parse_double(label); });
  if (decimal == labels.end() || !are_numbers) return;
  throw_error(ExitCode::kData,
              "{}: column {} holds numbers such as {}, of which each would be a class: to predict numbers, set "
              "data.task: regression and model.kind: sequence_regressor; else data.task: classification",
              path, in_quotes(name), *decimal);
}

void read_targets(CsvPart& part, const DataSettings& settings, const CsvLayout* like) {
  const Task task = csv_task(settings);
  if (task == Task::kClassification) {
    const std::string& name = settings.target.at(0);
    if (like != nullptr) {
      const bool is_required = part.wanted == Targets::kRequired;
      part.labels = like->labels;
      part.classes = class_column_as(part.table, name, part.labels,
                                     is_required ? MissingLabels::kRefused : MissingLabels::kUnknown);
      return;
    }
    ClassColumn column = class_column(part.table, name);
    part.classes = std::move(column.classes);
    part.labels = std::move(column.labels);
    if (!named_task(settings.task)) refuse_decimal_classes(part.table.path(), name, part.labels);
    return;
  }
  const bool is_required = part.wanted == Targets::kRequired;
  part.targets = numbers(part.table, settings.target, is_required ? settings.missing : MissingPolicy::kDrop);
  if (task != Task::kBinary) return;
  for (const NumericColumn& column : part.targets) {
    require_within(part.table, column, 0, 1, "a binary target from 0 to 1 (else use task: classification)");
  }
}

std::vector<std::string> names_of(const std::vector<NumericColumn>& columns) {
  std::vector<std::string> names;
  for (const NumericColumn& column : columns) names.push_back(column.name);
  return names;
}

std::optional<double> mean_over(const NumericColumn& column, const std::vector<int64_t>& rows) {
  double sum = 0;
  int64_t count = 0;
  for (const int64_t row : rows) {
    const double value = column.values[static_cast<size_t>(row)];
    if (std::isnan(value)) continue;
    sum += value;
    ++count;
  }
  return count == 0 ? std::nullopt : std::optional(sum / static_cast<double>(count));
}

// A policy such as kZero has filled the column, so its missing values are found by reading it once more.
std::optional<double> mean_in_file(const Table& table, const NumericColumn& column, const std::vector<int64_t>& rows) {
  if (column.num_missing == 0) return mean_over(column, rows);
  return mean_over(numeric_column(table, column.name, MissingPolicy::kDrop), rows);
}

void fill_column(NumericColumn& column, const std::map<std::string, double>& means, const std::string& path) {
  if (column.num_missing == 0) return;
  const auto mean = means.find(column.name);
  if (mean == means.end())
    throw_error(ExitCode::kData,
                "{}: column {} has missing values, and the training part has no mean of it for data.missing=mean; use "
                "data.missing=previous, zero or drop",
                path, in_quotes(column.name));
  std::ranges::replace_if(
      column.values, [](double value) { return std::isnan(value); }, mean->second);
}

bool has_any_column(const Table& table, const std::vector<std::string>& names) {
  return std::ranges::any_of(names, [&](const std::string& name) { return is_listed(table.column_names(), name); });
}

}  // namespace

std::vector<int64_t> CsvPart::complete_rows() const {
  if (wanted == Targets::kWhereThere) return rnnlab::complete_rows(features);
  std::vector<NumericColumn> all = features;
  all.insert(all.end(), targets.begin(), targets.end());
  return rnnlab::complete_rows(all);
}

int64_t CsvPart::num_missing() const {
  const std::vector<std::string> seen = names_of(features);
  int64_t count = 0;
  for (const NumericColumn& column : features) count += column.num_missing;
  if (wanted == Targets::kWhereThere) return count;
  for (const NumericColumn& column : targets) count += is_listed(seen, column.name) ? 0 : column.num_missing;
  return count;
}

Task csv_task(const DataSettings& settings) {
  if (const auto named = named_task(settings.task)) return *named;
  return settings.window > 0 ? Task::kRegression : Task::kClassification;
}

CsvLayout CsvPart::layout() const { return {names_of(features), labels}; }

CsvPart read_csv_part(Table table, const DataSettings& settings, const CsvLayout* like, Targets wanted) {
  CsvPart part;
  part.table = std::move(table);
  part.wanted = wanted;
  const bool needs_targets = wanted == Targets::kRequired || has_any_column(part.table, settings.target);
  if (needs_targets) require_columns(part.table, "data.target", settings.target);
  require_columns(part.table, "data.features", settings.features);
  require_columns(part.table, "data.id", settings.id);
  const std::vector<std::string> names = like != nullptr ? like->features : feature_names(part.table, settings);
  part.features = numbers(part.table, names, settings.missing);
  if (needs_targets) read_targets(part, settings, like);
  return part;
}

std::map<std::string, double> column_means(const CsvPart& part, const std::vector<int64_t>& rows) {
  std::map<std::string, double> means;
  for (const auto* columns : {&part.features, &part.targets})
    for (const NumericColumn& column : *columns)
      if (const auto mean = mean_in_file(part.table, column, rows)) means.emplace(column.name, *mean);
  return means;
}

void fill_with_means(CsvPart& part, const std::map<std::string, double>& means) {
  for (NumericColumn& column : part.features) fill_column(column, means, part.table.path());
  if (part.wanted == Targets::kWhereThere) return;
  for (NumericColumn& column : part.targets) fill_column(column, means, part.table.path());
}

}  // namespace rnnlab
