#include "command_line.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <sstream>
#include <string_view>
#include <vector>

#include "gpu/cuda_library.h"
#include "model_arguments.h"
#include "output.h"
#include "recurrent/device/gpu_device.h"
#include "usage_error.h"
#include "version.h"

namespace rnnlab::app {
namespace {

constexpr const char* kDescription =
    "rnnlab trains recurrent networks from YAML files and compares the epoch times of their implementations";

constexpr const char* kProgramFooter = R"(
Examples:
  rnnlab train experiments/quickstart.yaml device=cpu
  rnnlab compare runs/quickstart

Exit codes: 0 done, 1 internal error, 2 usage or configuration, 3 data, 4 device or environment, 5 diverged,
  6 checkpoint unusable, 7 slower than the benchmark that was compared with, 75 the task is at work elsewhere,
  128 + N ended by signal N (130 SIGINT, 143 SIGTERM, 129 SIGHUP, 138 SIGUSR1, 152 SIGXCPU; train and bench write their
  results first), 141 the reader of standard output went away.
`rnnlab help VERB` explains a verb; `rnnlab check --schema` lists the keys of an experiment file.)";

// `rnnlab help train` means `rnnlab train --help`, and `rnnlab help` means `rnnlab --help`. If the word is not a verb,
// the parser reports it.
std::vector<const char*> with_help_as_option(const CLI::App& program, int argc, const char* const* argv) {
  std::vector<const char*> arguments(argv, argv + argc);
  if (argc < 2 || std::string_view(arguments[1]) != "help") return arguments;
  arguments.erase(arguments.begin() + 1);
  const auto is_meant = [&](const CLI::App* verb) { return argc > 2 && verb->get_name() == arguments[1]; };
  if (argc == 2 || !program.get_subcommands(is_meant).empty()) arguments.push_back("--help");
  return arguments;
}

}  // namespace

std::unique_ptr<CLI::App> make_parser(Action& chosen) {
  auto program = std::make_unique<CLI::App>(kDescription, "rnnlab");
  program->footer(kProgramFooter);
  program->set_version_flag("--version", "rnnlab " RNNLAB_VERSION);
  program->require_subcommand(1);
  program->get_formatter()->column_width(34);
  for (const Verb& verb : kVerbs) verb.add(*program, chosen);
  return program;
}

ExitCode run(int argc, const char* const* argv) {
  Action chosen;
  const auto program = make_parser(chosen);
  try {
    const auto arguments = with_help_as_option(*program, argc, argv);
    program->parse(static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::Success& success) {  // --help, --version
    std::ostringstream text;
    program->exit(success, text, text);
    print_text(text.str());
    return ExitCode::kDone;
  } catch (const CLI::ParseError& error) {
    throw UserError(ExitCode::kUsage, explain_usage_error(*program, error));
  }
  load_cuda_library();
  const ExitCode exit_code = chosen(CommandLine(argv, argv + argc));
  print_notes(take_kernel_notes());  // a run's log has them already
  return exit_code;
}

}  // namespace rnnlab::app
