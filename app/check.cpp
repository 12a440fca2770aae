// SPDX-License-Identifier: Apache-2.0
// rnnlab check: validates experiment files without running them and prints the resulting settings.
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <variant>

#include "arguments.h"
#include "base/config/sweep.h"
#include "base/system/json_fields.h"
#include "base/text.h"
#include "output.h"
#include "runs/experiment.h"
#include "runs/support.h"
#include "verbs.h"

namespace rnnlab::app {
namespace {

constexpr const char* kCheckFooter = R"(
Prints the effective configuration, every key with its meaning; what it prints is itself an experiment file.

Examples:
  rnnlab check experiments/mnist_rows.yaml training.epochs=5
  rnnlab check experiments/quickstart.yaml --json
  rnnlab check --schema)";

struct CheckOptions {
  std::vector<std::string> arguments;
  bool schema = false;
  bool json_schema = false;
  bool markdown = false;
  bool json = false;
};

// A file with its cases, or what is left of them after errors.
struct CheckedFile {
  std::string file;
  config::Repeats repeats;
  std::vector<std::string> labels;  // of the cases; "" for the only one
  std::vector<Experiment> cases;
  std::string sweep;  // as YAML
};

CheckedFile check_file(const std::string& file, const std::vector<std::string>& overrides, config::Findings& findings,
                       std::vector<std::string>& notes) {
  const config::Document whole = read_document(file, overrides, findings);
  const config::Document document = config::without_repeats(whole);
  CheckedFile checked{.file = file,
                      .repeats = config::repeats_of(whole, findings),
                      .labels = {},
                      .cases = {},
                      .sweep = config::print_sweep(document)};
  const config::Sweep sweep(document, findings);
  for (size_t i = 0; i < sweep.num_cases(); ++i) {
    const config::Document one = sweep.document(i);
    checked.labels.push_back(sweep.label(i));
    checked.cases.push_back(read_case(one, findings));
    if (const auto reason = unsupported_here(checked.cases.back(), AskGpu::kYes))
      add_once(notes, config::with_place(*reason, config::places_of_keys(one)));
  }
  refuse_equal_cases(sweep, checked.cases, findings);
  return checked;
}

// The first combination of a sweep is printed for all, because the sweep itself shows the differences of the others.
std::string effective_config(const CheckedFile& checked) {
  const std::string first = checked.cases.empty() ? "" : config::print(checked.cases.front(), Experiment::schema());
  return first + checked.sweep + config::print_repeats(checked.repeats);
}

Json value_json(const config::Scalar& scalar) {
  return std::visit([](const auto& value) { return to_json(value); }, scalar);
}

// Returns the values of a setting: one, null or a list.
Json field_json(const config::FieldSpec& field, const void* object) {
  const std::vector<config::Scalar> values = field.get(object);
  if (field.arity != config::Arity::kList) return values.empty() ? Json(nullptr) : value_json(values.front());
  Json list = Json::array();
  for (const config::Scalar& value : values) list.push_back(value_json(value));
  return list;
}

Json settings_json(const config::StructSpec& spec, const void* object) {
  Json json = Json::object();
  for (const config::Entry& entry : spec.entries) {
    const config::GroupSpec* group = entry.group();
    json[entry.key] = group != nullptr ? settings_json(*group->spec, group->const_member(object))
                                       : field_json(*entry.field(), object);
  }
  return json;
}

Json file_json(const CheckedFile& checked) {
  Json json = {{"file", checked.file},
               {"repeats", checked.repeats.at_most},
               {"repeats_until", to_json(checked.repeats.until)},
               {"cases", Json::array()}};
  for (size_t i = 0; i < checked.cases.size(); ++i)
    for (const ExperimentCase& one :
         with_folds({.label = checked.labels[i], .experiment = checked.cases[i], .places = {}}))
      json["cases"].push_back(
          {{"label", one.label}, {"settings", settings_json(Experiment::schema().spec(), &one.experiment)}});
  return json;
}

std::string files_json(const std::vector<CheckedFile>& files, const std::vector<std::string>& notes) {
  Json json = {{"files", Json::array()}, {"cannot_run_here", to_json(notes)}};
  for (const CheckedFile& one : files) json["files"].push_back(file_json(one));
  return json_text(json);
}

std::string files_text(const std::vector<CheckedFile>& files) {
  std::string text;
  for (const CheckedFile& one : files)
    text += (files.size() > 1 ? fmt::format("# {}\n", one.file) : "") + effective_config(one);
  return text;
}

std::string check_files(const CheckOptions& options) {
  const auto [files, overrides] = split_experiment_arguments("check", options.arguments);
  config::Findings findings;
  std::vector<CheckedFile> checked;
  std::vector<std::string> notes;
  for (const std::string& file : files) checked.push_back(check_file(file, overrides, findings, notes));
  print_notes(findings.throw_if_any());
  for (const std::string& note : notes)
    print_notice(fmt::format("rnnlab: note: cannot run on this machine: {}\n", note));
  return options.json ? files_json(checked, notes) : files_text(checked);
}

std::string checked(const CheckOptions& options) {
  const bool lists_keys = options.schema || options.json_schema || options.markdown;
  if (lists_keys) refuse_arguments_for_list("check", options.arguments);
  if (options.schema) return config::describe(Experiment::schema());
  if (options.json_schema) return config::json_schema(Experiment::schema());
  if (options.markdown) return config::markdown(Experiment::schema());
  return check_files(options);
}

ExitCode check(const CheckOptions& options) {
  print_data(checked(options));
  return ExitCode::kDone;
}

}  // namespace

void add_check(CLI::App& program, Action& chosen) {
  const auto [command, options] = add_verb<CheckOptions>(
      program, chosen, "check", "Validate experiment files and print the effective settings", kCheckFooter, check);
  add_experiment_arguments(*command, options->arguments);
  auto* schema = command->add_flag("--schema", options->schema, "print every key with its type, default and meaning");
  auto* json_schema =
      command->add_flag("--json-schema", options->json_schema, "print the keys as JSON Schema, for editors");
  auto* markdown = command->add_flag("--markdown", options->markdown, "print the keys as a Markdown page");
  schema->excludes(json_schema)->excludes(markdown);
  json_schema->excludes(markdown);
  command->add_flag("--json", options->json, "print the effective settings of every case as JSON")
      ->excludes(schema)
      ->excludes(json_schema)
      ->excludes(markdown);
}

}  // namespace rnnlab::app
