// SPDX-License-Identifier: Apache-2.0
// rnnlab check: validates experiment files without running them and prints the resulting settings.
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <memory>

#include "arguments.h"
#include "base/text.h"
#include "config/sweep.h"
#include "experiment/experiment.h"
#include "experiment/support.h"
#include "output.h"
#include "verbs.h"

namespace rnnlab::app {
namespace {

constexpr const char* kCheckFooter = R"(
Prints the effective configuration, every key with its meaning; what it prints is itself an experiment file.

Examples:
  rnnlab check experiments/mnist_rows.yaml training.epochs=5
  rnnlab check --schema)";

struct CheckOptions {
  std::vector<std::string> arguments;
  bool schema = false;
  bool json_schema = false;
  bool markdown = false;
};

// The first combination of a sweep is printed for all, because the sweep itself shows the differences of the others.
std::string effective_config(const std::string& file, const std::vector<std::string>& overrides,
                             config::Findings& findings, std::vector<std::string>& notes) {
  const config::Document whole = read_document(file, overrides, findings);
  const config::Repeats repeats = config::repeats_of(whole, findings);
  const config::Document document = config::without_repeats(whole);
  std::string printed;
  const config::Sweep sweep(document, findings);
  for (size_t i = 0; i < sweep.num_cases(); ++i) {
    const config::Document one = sweep.document(i);
    const auto experiment = config::read(one, Experiment::schema(), findings);
    if (const auto reason = unsupported_here(experiment, AskGpu::kYes))
      add_once(notes, config::with_place(*reason, config::places_of_keys(one)));
    if (printed.empty()) printed = config::print(experiment, Experiment::schema());
  }
  return printed + config::print_sweep(document) + config::print_repeats(repeats);
}

std::string check_files(const std::vector<std::string>& arguments) {
  const auto [files, overrides] = split_experiment_arguments("check", arguments);
  config::Findings findings;
  std::string printed;
  std::vector<std::string> notes;
  for (const std::string& file : files) {
    if (files.size() > 1) printed += fmt::format("# {}\n", file);
    printed += effective_config(file, overrides, findings, notes);
  }
  findings.throw_if_any();
  for (const std::string& note : notes)
    print_notice(fmt::format("rnnlab: note: cannot run on this machine: {}\n", note));
  return printed;
}

std::string checked(const CheckOptions& options) {
  const bool lists_keys = options.schema || options.json_schema || options.markdown;
  if (lists_keys) refuse_arguments_for_list("check", options.arguments);
  if (options.schema) return config::describe(Experiment::schema());
  if (options.json_schema) return config::json_schema(Experiment::schema());
  if (options.markdown) return config::markdown(Experiment::schema());
  return check_files(options.arguments);
}

}  // namespace

void add_check(CLI::App& program, Action& chosen) {
  CLI::App* command = program.add_subcommand("check", "Validate experiment files and print the effective settings");
  auto options = std::make_shared<CheckOptions>();
  command->add_option("arguments", options->arguments, "experiment files, and overrides such as training.epochs=5")
      ->type_name("FILE... [key=value]");
  auto* schema = command->add_flag("--schema", options->schema, "print every key with its type, default and meaning");
  auto* json_schema =
      command->add_flag("--json-schema", options->json_schema, "print the keys as JSON Schema, for editors");
  auto* markdown = command->add_flag("--markdown", options->markdown, "print the keys as a Markdown page");
  schema->excludes(json_schema)->excludes(markdown);
  json_schema->excludes(markdown);
  command->footer(kCheckFooter);
  command->callback([&chosen, options] {
    chosen = [options](const CommandLine&) {
      print_data(checked(*options));
      return ExitCode::kDone;
    };
  });
}

}  // namespace rnnlab::app
