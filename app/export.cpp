// SPDX-License-Identifier: Apache-2.0
// rnnlab export: writes everything with which a run begins to one file, for another program that does the same work.
#include <fmt/format.h>

#include <CLI/Option.hpp>

#include "arguments.h"
#include "base/system/json_fields.h"
#include "output.h"
#include "runs/run.h"
#include "runs/sweep.h"
#include "verbs.h"

namespace rnnlab::app {
namespace {

constexpr const char* kExportFooter = R"(
The file is in the safetensors format: samples as they are fed to the network, initial weights by PyTorch's names, the
order of the samples in each epoch and the learning rate of each step. Its metadata hold the settings and the machine.
experiments/peer_torch.py and peer_jax.py train from it; docs/timing.md describes it.

Examples:
  rnnlab export experiments/mnist_rows.yaml device=cpu -o work.safetensors
  rnnlab export experiments/gru_speed_fair.yaml training.epochs=4 precision=bf16 -o work.safetensors)";

struct ExportOptions {
  std::vector<std::string> arguments;
  std::string out;
  bool json = false;
};

std::string work_json(const std::string& file, const WorkSize& size) {
  return json_text({{"file", file},
                    {"num_train", size.num_train},
                    {"num_epochs", size.num_epochs},
                    {"steps_per_epoch", size.steps_per_epoch}});
}

Experiment read_one(const std::vector<std::string>& arguments) {
  const auto [files, overrides] = split_experiment_arguments("export", arguments);
  if (files.size() > 1)
    throw_error(ExitCode::kUsage, "export: got {} experiments, expected one; export each to a separate file",
                files.size());
  config::Findings findings;
  const std::vector<ExperimentCase> cases = read_cases(read_document(files[0], overrides, findings), findings);
  print_notes(findings.throw_if_any());
  if (cases.size() > 1)
    throw_error(ExitCode::kUsage, "export: {}: its sweep asks for {} runs, expected one; choose one by key=value",
                files[0], cases.size());
  return cases[0].experiment;
}

ExitCode export_work(const ExportOptions& options, const CommandLine& command_line) {
  if (options.out.empty()) throw_error(ExitCode::kUsage, "export: no output file is given; add -o FILE.safetensors");
  const Experiment experiment = read_one(options.arguments);
  require_harmless_output(options.out, "name an ordinary file; the work cannot be printed");
  const WorkSize size = write_work_file(experiment, command_line, options.out);
  options.json ? print_data(work_json(options.out, size))
               : print_text(fmt::format("{}: {}\n", options.out, text_of(size)));
  return ExitCode::kDone;
}

}  // namespace

void add_export(CLI::App& program, Action& chosen) {
  const auto [command, options] = add_verb<ExportOptions>(
      program, chosen, "export", "Write the samples and initial weights of a run, for another program", kExportFooter,
      export_work);
  command->add_option("arguments", options->arguments, "an experiment file, and overrides such as training.epochs=5")
      ->type_name("FILE... [key=value]");
  command->add_option("-o,--out", options->out, "the file to write")->type_name("FILE.safetensors");
  command->add_flag("--json", options->json, "print the size of the work as JSON");
}

}  // namespace rnnlab::app
