// SPDX-License-Identifier: Apache-2.0
#include "runs/report/model_card.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "data/csv_features.h"
#include "data/load_dataset.h"
#include "data/readers/times.h"
#include "results/work_settings.h"
#include "runs/report/text.h"
#include "runs/use/evaluate_model.h"
#include "train/loop/losses.h"
#include "train/weights/tensor_reader.h"

namespace rnnlab::report {
namespace {

constexpr size_t kMostRows = 60;  // of a table, and kMostNames of a list: more are counted
constexpr size_t kMostNames = 100;
constexpr int kDigits = 6;

// ---- Markdown ----

using Facts = std::vector<std::pair<std::string, std::string>>;  // a fact without a text is left out

std::string row(const std::vector<std::string>& cells) {
  std::string text = "|";
  for (const std::string& cell : cells) text += " " + markdown_escaped(cell) + " |";
  return text + "\n";
}

std::string table(const std::vector<std::string>& headings, const std::vector<std::vector<std::string>>& rows) {
  if (rows.empty()) return "";
  std::string text = row(headings) + "|";
  for (size_t i = 0; i < headings.size(); ++i) text += "---|";
  text += "\n";
  for (size_t i = 0; i < std::min(rows.size(), kMostRows); ++i) text += row(rows[i]);
  if (rows.size() > kMostRows) text += fmt::format("\nand {} more\n", rows.size() - kMostRows);
  return text + "\n";
}

std::string facts_text(const Facts& facts) {
  std::string text;
  for (const auto& [name, fact] : facts)
    if (!fact.empty()) text += fmt::format("- **{}:** {}\n", name, markdown_escaped(fact));
  return text.empty() ? "" : text + "\n";
}

// An indented block, which a text cannot end by itself.
std::string code(const std::string& lines) {
  std::string text;
  for (const std::string& line : split(trim(lines), '\n')) text += "    " + readable(line) + "\n";
  return text + "\n";
}

std::string section(const std::string& heading, const std::string& content) {
  return content.empty() ? "" : fmt::format("## {}\n\n{}", heading, content);
}

std::string listed(const std::vector<std::string>& names) {
  if (names.size() <= kMostNames) return join(names, ", ");
  return fmt::format("{} and {} more", join({names.begin(), names.begin() + kMostNames}, ", "),
                     names.size() - kMostNames);
}

std::string rounded(double value) { return fmt::format("{:.{}g}", value, kDigits); }

// ---- the model ----

std::string layers_text(const ModelSettings& model) {
  if (!info_of(model.kind).has_recurrent_layers()) return "";
  return fmt::format("{} of {}{}", counted(model.num_layers, "layer"), counted(model.hidden_size, "unit"),
                     model.bidirectional ? ", in both directions" : "");
}

std::string cell_text(const ModelSettings& model) {
  if (!info_of(model.kind).has_recurrent_layers()) return "";
  return model.own_cell.is_given() ? model.own_cell.name : cell_name(model.cell);
}

std::string inputs_text(const DataShape& shape) {
  if (shape.task == Task::kLanguageModel) return fmt::format("one of {} tokens", format_count(shape.input_size));
  std::string text = counted(shape.num_numbers(), "number");
  if (!shape.category_sizes.empty()) text += " and " + counted(std::ssize(shape.category_sizes), "category");
  return text;
}

std::string model_section(const SavedModel& model) {
  const ModelSettings& settings = model.experiment.model;
  const ModelInfo& info = info_of(settings.kind);
  std::string text = facts_text({{"Kind", fmt::format("{}: {}", config::name_of(settings.kind), info.description)},
                                 {"Cell", cell_text(settings)},
                                 {"Recurrent part", layers_text(settings)},
                                 {"A step of the input", inputs_text(model.data.shape)},
                                 {"Steps", format_count(model.data.shape.sequence_length)},
                                 {"Outputs", format_count(model.data.shape.model_outputs())},
                                 {"Parameters", format_count(num_values(model.weights))}});
  if (settings.own_cell.is_given()) text += "The equations of the cell:\n\n" + code(settings.own_cell.equations);
  return section("Model", text);
}

// ---- the data ----

std::vector<std::string> names_of(const std::vector<ColumnScale>& scales) {
  std::vector<std::string> names;
  for (const ColumnScale& one : scales)
    if (!one.name.empty()) names.push_back(one.name);
  return names;
}

bool is_table(const SavedModel& model) { return info_of(model.experiment.data.source).form == DataForm::kTable; }

// The inputs of a table, in the order in which the model reads them; categories come last.
std::vector<std::string> inputs_of_table(const SavedModel& model) {
  return is_table(model) ? names_of(model.data.feature_scales) : std::vector<std::string>();
}

// The columns that new data must have: inputs that are made of others are left out.
std::vector<std::string> needed_columns(const SavedModel& model) {
  const DataSettings& data = model.experiment.data;
  std::vector<std::string> columns = inputs_of_table(model);
  for (const std::string& derived : derived_names(data)) std::erase(columns, derived);
  if (are_relative(data))
    for (const std::string& column : data.target) add_once(columns, column);
  for (const std::string& column : {data.group, data.time.empty() ? model.data.time.value_or("") : data.time})
    if (!column.empty()) add_once(columns, column);
  for (const std::string& column : data.id) add_once(columns, column);
  return columns;
}

std::string quantiles_text(const TrainingSettings& training) {
  std::vector<std::string> levels;
  for (const double level : levels_of(training)) levels.push_back(fmt::format("{:g}", level));
  return join(levels, ", ");
}

std::string horizons_text(const DataSettings& data) {
  if (data.window == 0) return "";
  std::vector<std::string> steps;
  for (const int64_t step : data.horizon) steps.push_back(std::to_string(step));
  return fmt::format("from {} the rows {} ahead", counted(data.window, "row"), join_with_and(steps));
}

std::string file_of(const DataSettings& data) {
  return last_name(!data.path.empty() ? data.path : !data.train_file.empty() ? data.train_file : data.train_inputs);
}

std::string parts_table(const std::vector<CardPart>& parts) {
  const bool has_times = std::ranges::any_of(parts, [](const CardPart& part) { return !part.first_time.empty(); });
  std::vector<std::vector<std::string>> rows;
  for (const CardPart& part : parts) {
    rows.push_back({name_of_part(part.part), format_count(part.num_samples)});
    if (has_times) rows.back().insert(rows.back().end(), {part.first_time, part.last_time});
  }
  return table(has_times ? std::vector<std::string>{"part", "samples", "first", "last"}
                         : std::vector<std::string>{"part", "samples"},
               rows);
}

void add_scales(const std::string& what, const std::vector<ColumnScale>& scales,
                std::vector<std::vector<std::string>>& rows) {
  for (size_t i = 0; i < scales.size(); ++i) {
    const ColumnScale& one = scales[i];
    const std::string name = one.name.empty() ? fmt::format("{} {}", what, i) : one.name;
    rows.push_back({what, name, rounded(one.offset), rounded(one.scale)});
  }
}

// Inputs that are read as they are, such as categories, are left out.
std::string scales_table(const FittedData& data) {
  std::vector<ColumnScale> inputs = data.feature_scales;
  std::erase_if(inputs, [](const ColumnScale& one) { return one.offset == 0 && one.scale == 1; });
  std::vector<std::vector<std::string>> rows;
  add_scales("input", inputs, rows);
  add_scales("target", data.target_scales, rows);
  if (rows.empty()) return "";
  return "The model reads (value - offset) / scale, fitted to the training part:\n\n" +
         table({"", "name", "offset", "scale"}, rows);
}

std::string data_section(const SavedModel& model, const std::vector<CardPart>& parts) {
  const DataSettings& data = model.experiment.data;
  const bool has_tokens = model.data.shape.task == Task::kLanguageModel;
  Facts facts = {{"Source", std::string(config::name_of(data.source))},
                 {"File", file_of(data)},
                 {"Task", std::string(config::name_of(model.data.shape.task))},
                 {"Targets", listed(data.target)},
                 {"Forecasts", horizons_text(data)},
                 {"Quantiles of each target", quantiles_text(model.experiment.training)},
                 {has_tokens ? "Tokens" : "Classes",
                  has_tokens ? format_count(std::ssize(model.data.vocabulary)) : listed(model.data.vocabulary)},
                 {"Inputs", listed(inputs_of_table(model))}};
  for (const CategoryColumn& column : model.data.categories)
    facts.emplace_back("Values of " + markdown_escaped(column.name), listed(column.values));
  return section("Data", facts_text(facts) + parts_table(parts) + scales_table(model.data));
}

// ---- the training ----

std::string loss_text(const SavedModel& model) {
  const LossKind loss = model.experiment.training.loss;
  return std::string(config::name_of(loss == LossKind::kAuto ? natural_loss(model.data.shape.task) : loss));
}

std::string epochs_text(const ModelOrigin& origin) {
  if (!origin.epoch) return fmt::format("the weights are those of step {}", origin.step);
  const std::string trained = origin.num_epochs ? fmt::format(" of {} trained", *origin.num_epochs) : "";
  return fmt::format("the weights are those of epoch {}{}, step {}", *origin.epoch, trained, format_count(origin.step));
}

// Returns the settings that differ from the defaults, without those that the card has elsewhere.
Facts chosen_settings(const SavedModel& model) {
  constexpr std::array<std::string_view, 5> kElsewhere = {"name", "data.source", "model.kind", "data.target", "device"};
  const auto defaults = effective_settings({});
  Facts chosen;
  for (const auto& [key, value] : effective_settings(without_folders(model.experiment))) {
    const bool is_shown = std::ranges::count(kElsewhere, key) > 0 || key.starts_with("model.cell.");
    if (!is_shown && value != value_or_absent(defaults, key)) chosen.emplace_back(key, value);
  }
  return chosen;
}

std::string training_section(const SavedModel& model) {
  const Experiment& e = model.experiment;
  const ModelOrigin& origin = model.origin;
  std::string text = facts_text(
      {{"Loss", loss_text(model)},
       {"Optimiser", fmt::format("{}, learning rate {:g}, batches of {}", config::name_of(e.training.optimizer),
                                 e.training.learning_rate, format_count(e.training.batch_size))},
       {"Epochs", epochs_text(origin)},
       {"Training time", origin.fit_seconds ? format_seconds(*origin.fit_seconds) : ""},
       {"Started", origin.started},
       {"Seed", std::to_string(e.seed)},
       {"Precision", std::string(config::name_of(e.precision))},
       {"Device", fmt::format("{} ({})", e.device, e.device == "cpu" ? origin.cpu_model : origin.gpu_model)}});
  std::vector<std::vector<std::string>> rows;
  for (const auto& [key, value] : chosen_settings(model)) rows.push_back({key, value});
  if (!rows.empty()) text += "Settings other than the defaults:\n\n" + table({"key", "value"}, rows);
  return section("Training", text);
}

// ---- the results ----

std::string results_on(DataPart part, const MetricValues& metrics, const std::vector<Baseline>& baselines) {
  std::vector<std::string> headings = {name_of_part(part)}, names;
  for (const MetricInfo& metric : metric_list())
    if (const std::string name = fmt::format("valid_{}", metric.name); metrics.contains(name)) {
      names.push_back(name);
      headings.push_back(heading_on(name, ""));
    }
  if (names.empty()) return "";
  std::vector<std::vector<std::string>> rows;
  const auto add = [&](const std::string& who, const MetricValues& values) {
    rows.push_back({who});
    for (const std::string& name : names) rows.back().push_back(values.contains(name) ? rounded(values.at(name)) : "");
  };
  add("the model", metrics);
  for (const Baseline& baseline : baselines) add(baseline.name, baseline.metrics);
  const std::string winner = baselines.empty() ? "" : winner_text(metrics, baselines, name_of_part(part));
  return table(headings, rows) + (winner.empty() ? "" : markdown_escaped(winner) + "\n\n");
}

std::string results_section(const SavedModel& model, const std::vector<CardPart>& parts) {
  std::string text = results_on(DataPart::kValid, model.origin.metrics, model.origin.baselines);
  for (const CardPart& part : parts)
    if (part.quality) text += results_on(part.part, part.quality->model, part.quality->baselines);
  return section("Results", text);
}

// ---- its use ----

std::string missing_text(MissingPolicy policy) {
  switch (policy) {
    case MissingPolicy::kError:
      return "A file with missing values is refused.";
    case MissingPolicy::kDrop:
      return "A row with missing values gets no prediction.";
    case MissingPolicy::kPrevious:
      return "A missing value is that of the row before.";
    case MissingPolicy::kMean:
      return "A missing value is the mean of the training part.";
    case MissingPolicy::kZero:
      return "A missing value is 0.";
  }
  fail_invariant("a listed policy", __FILE__, __LINE__, "missing_text does not know the policy");
}

std::vector<std::string> limits_of_table(const SavedModel& model) {
  const DataSettings& data = model.experiment.data;
  std::vector<std::string> limits = {fmt::format(
      "It reads a CSV file with the columns {}, in the units of the training data.", listed(needed_columns(model)))};
  if (data.window > 0) limits.push_back(fmt::format("A forecast needs {} before it.", counted(data.window, "row")));
  if (!data.known.empty())
    limits.push_back(fmt::format("The rows that are forecast need values in the columns {}.", listed(data.known)));
  if (!model.data.categories.empty())
    limits.emplace_back("Values of categories that are not listed above count as unknown.");
  limits.push_back(missing_text(data.missing));
  return limits;
}

std::vector<std::string> limits_of(const SavedModel& model, const std::vector<CardPart>& parts) {
  const DataShape& shape = model.data.shape;
  std::vector<std::string> limits;
  if (is_table(model)) limits = limits_of_table(model);
  if (shape.task == Task::kLanguageModel)
    limits.push_back(fmt::format("It knows the {} of the training part; a text with others is refused.",
                                 counted(std::ssize(model.data.vocabulary), "token")));
  if (shape.task == Task::kClassification)
    limits.push_back(fmt::format("It answers with one of the {} of the training part, whatever it is given.",
                                 counted(shape.num_outputs, "class")));
  for (const CardPart& part : parts)
    if (part.part == DataPart::kTrain && !part.first_time.empty())
      limits.push_back(fmt::format("It was fitted to rows from {} to {}.", part.first_time, part.last_time));
  return limits;
}

// What follows the name of the model in a command to predict new data; nothing for data of which there are no others.
std::optional<std::string> new_data(const SavedModel& model) {
  const DataSettings& data = model.experiment.data;
  if (model.data.shape.task == Task::kLanguageModel) return "--prompt TEXT --length 200";
  if (info_of(data.source).load_part == nullptr) return std::nullopt;
  return data.train_inputs.empty() ? "data.path=NEW" : "data.train_inputs=NEW";
}

std::string use_section(const SavedModel& model, const std::vector<CardPart>& parts, const std::string& name) {
  const std::string file = shell_quoted(name);
  const auto arguments = new_data(model);
  std::string text = code(arguments ? fmt::format("rnnlab predict {} {}\nrnnlab evaluate {}", file, *arguments, file)
                                    : fmt::format("rnnlab evaluate {}", file));
  const std::vector<std::string> limits = limits_of(model, parts);
  for (const std::string& limit : limits) text += "- " + markdown_escaped(limit) + "\n";
  return section("Use and its limits", limits.empty() ? text : text + "\n");
}

std::string identity_section(const SavedModel& model) {
  const SoftwareVersions& software = model.origin.software;
  return section("Reproducibility",
                 facts_text({{"Trained by", software.program.empty() ? "rnnlab " + software.rnnlab : software.program},
                             {"Libraries", versions_text(software)},
                             {"SHA-256 of the weights", weights_sha256(model)},
                             {"SHA-256 of the settings", settings_sha256(effective_settings(model.experiment))},
                             {"SHA-256 of the data", model.origin.data_fingerprint}}));
}

// ---- the parts of the data ----

void add_times(CardPart& part, const FileRows& rows, const std::optional<bool>& is_day_first) {
  const DateOrder order = is_day_first.value_or(false) ? DateOrder::kDayFirst : DateOrder::kMonthFirst;
  std::map<int64_t, std::string> times;
  for (const ForecastRow& forecast : rows.forecasts)
    if (const auto time = parse_time(forecast.time, order); time && forecast.number > 0)
      times.emplace(*time, forecast.time);
  if (times.empty()) return;
  part.first_time = times.begin()->second;
  part.last_time = times.rbegin()->second;
}

CardPart read_part(TrainedModel trained, DataPart name) {
  trained.part = name;
  const auto load = [&](Targets targets) {
    return load_for_inference(trained.data_settings, trained.data, name, targets);
  };
  const InferenceData data = load(Targets::kIfPresent);
  CardPart part{.part = name, .num_samples = data.samples.size()};
  add_times(part, data.rows, trained.data.is_day_first);
  if (name != DataPart::kTest) return part;
  const InferenceData with_targets = load(Targets::kRequired);
  part.quality = quality_on_part(trained, with_targets, evaluate_model(trained, with_targets.samples).metrics);
  return part;
}

}  // namespace

CardParts read_parts(const TrainedModel& trained) {
  CardParts found;
  for (const DataPart part : {DataPart::kTrain, DataPart::kValid, DataPart::kTest}) {
    if (part == DataPart::kTest && !has_test_part(trained.data_settings)) continue;
    try {
      found.parts.push_back(read_part(trained, part));
    } catch (const UserError& error) {
      add_once(found.notes, fmt::format("the card leaves out what the data would tell: {}", error.what()));
    }
  }
  return found;
}

std::string model_card(const SavedModel& model, const std::vector<CardPart>& parts, const std::string& name) {
  std::string text = fmt::format("# {}\n\n", markdown_escaped(model.experiment.name)) + model_section(model) +
                     data_section(model, parts) + training_section(model) + results_section(model, parts) +
                     use_section(model, parts, name) + identity_section(model);
  text.pop_back();  // a blank line at the end
  return text;
}

}  // namespace rnnlab::report
