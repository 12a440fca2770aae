// SPDX-License-Identifier: Apache-2.0
// rnnlab data inspect: shows how rnnlab reads a data file, or the data of an experiment.
#include <fmt/format.h>

#include <CLI/Option.hpp>

#include "arguments.h"
#include "base/text.h"
#include "data/find_data.h"
#include "data/inspect.h"
#include "output.h"
#include "runs/sweep.h"
#include "verbs.h"

namespace rnnlab::app {
namespace {

constexpr const char* kDataFooter = R"(
Examples:
  rnnlab data inspect weather.csv
  rnnlab data inspect experiments/quickstart.yaml)";

constexpr const char* kInspectFooter = R"(
FILE is a data file (IDX, npy, CSV, text; .gz too) or an experiment's .yaml, whose data is then loaded as `train` would.

Examples:
  rnnlab data inspect data/mnist/train-images-idx3-ubyte.gz
  rnnlab data inspect weather.csv --yaml > weather.yaml
  rnnlab data inspect experiments/mnist_rows.yaml data.num_train=1000)";

struct InspectOptions {
  std::vector<std::string> arguments;
  bool json = false;
  bool yaml = false;
};

bool is_experiment(const std::string& file) { return file.ends_with(".yaml") || file.ends_with(".yml"); }

Inspection inspect_experiment(const std::string& file, const std::vector<std::string>& overrides) {
  config::Findings findings;
  const auto cases = read_cases(read_document(file, overrides, findings), findings);
  findings.throw_if_any();
  return inspect(cases.front().experiment.data);
}

void note_lines_to_fill_in(const std::vector<std::string>& yaml) {
  for (const std::string& line : yaml)
    if (line.find(kFillIn) != std::string::npos)
      print_notes({fmt::format("{}: write the file's name in place of {} before you train",
                               trim(line.substr(0, line.find(':'))), kFillIn)});
}

std::string yaml_of(const Inspection& inspection, const std::string& file) {
  const auto* const of_file = std::get_if<FileInspection>(&inspection);
  if (of_file == nullptr)
    throw_error(ExitCode::kUsage, "data inspect: {} is an experiment already; remove --yaml, or pass a data file",
                file);
  if (of_file->yaml.empty())
    throw_error(ExitCode::kData,
                "{}: no experiment trains on this file alone; `rnnlab data inspect {}` says what it holds", file,
                shell_quoted(file));
  note_lines_to_fill_in(of_file->yaml);
  return inspection_yaml(*of_file);
}

ExitCode inspect_one(const InspectOptions& options) {
  const auto [files, overrides] = split_arguments(options.arguments, Experiment::schema().spec());
  if (files.size() != 1)
    throw_error(ExitCode::kUsage,
                "data inspect: got {} files, expected one\n  `rnnlab data inspect --help` shows how it is used",
                files.size());
  const std::string& file = files.front();
  if (!is_experiment(file) && !overrides.empty())
    throw_error(ExitCode::kUsage, "data inspect: {} sets a key of an experiment, but {} is a data file",
                in_quotes(overrides.front()), in_quotes(file));
  const Inspection inspection = is_experiment(file) ? inspect_experiment(file, overrides) : inspect_file(file);
  if (options.json)
    print_data(inspection_json(inspection).dump(2) + "\n");
  else if (options.yaml)
    print_data(yaml_of(inspection, file));
  else
    print_text(inspection_text(inspection, output_width(40, 100)));
  return ExitCode::kDone;
}

}  // namespace

void add_data(CLI::App& program, Action& chosen) {
  CLI::App* data = program.add_subcommand("data", "Inspect data");
  data->require_subcommand(1);
  data->footer(kDataFooter);
  const auto [command, options] =
      add_verb<InspectOptions>(*data, chosen, "inspect", "Show how a data file or an experiment's data is understood",
                               kInspectFooter, inspect_one);
  command->add_option("arguments", options->arguments, "a data file, or an experiment file with overrides")
      ->type_name("FILE [key=value]");
  auto* json = command->add_flag("--json", options->json, "print JSON");
  command
      ->add_flag("--yaml", options->yaml,
                 "print an experiment for the data file, with comments about it; a note names what to fill in")
      ->excludes(json);
}

}  // namespace rnnlab::app
