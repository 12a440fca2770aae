#include "command_line.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>

#include "base/text.h"
#include "version.h"

namespace rnnlab::app {
namespace {

constexpr const char* kDescription =
    "rnnlab trains recurrent networks from YAML files and compares the epoch times of their implementations";

constexpr const char* kFooter = R"(
Examples:
  rnnlab train experiments/mnist_rows.yaml device=cpu
  rnnlab compare runs/mnist_rows/*

Exit codes: 0 done, 1 internal error, 2 usage or configuration, 3 data, 4 device or environment, 5 diverged,
  6 checkpoint unusable, 7 slower than the benchmark that was compared with, 130 / 143 stopped by a signal after the
  results were written.
`rnnlab VERB --help` explains a verb; `rnnlab check --schema` lists the keys of an experiment file.)";

std::vector<std::string> verb_names(const CLI::App& program) {
  std::vector<std::string> names;
  for (const CLI::App* verb : program.get_subcommands({})) names.push_back(verb->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

// The verb that was parsed, down to `data inspect`.
const CLI::App& innermost(const CLI::App& command) {
  const auto chosen = command.get_subcommands();
  return chosen.empty() ? command : innermost(*chosen.front());
}

std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? "rnnlab" : full_name(*parent) + " " + command.get_name();
}

// CLI11 2.1 calls what it does not know "not expected" and has no suggestions.
std::string explain_extra(const CLI::App& command, const std::string& extra) {
  if (extra.starts_with("-"))
    return fmt::format("unknown option {}{}", in_quotes(extra), did_you_mean(extra, option_names(command)));
  const auto verbs = verb_names(command);
  if (!verbs.empty())
    return fmt::format("unknown verb {}{}; known are {}", in_quotes(extra), did_you_mean(extra, verbs), one_of(verbs));
  return fmt::format("unexpected argument {}", in_quotes(extra));
}

std::string explain(const CLI::App& program, const CLI::ParseError& error) {
  const CLI::App& command = innermost(program);
  const auto extras = command.remaining();
  const std::string message = extras.empty() ? error.what() : explain_extra(command, extras.front());
  return fmt::format("{}\n  `{} --help` shows how it is used", message, full_name(command));
}

}  // namespace

std::unique_ptr<CLI::App> make_parser(Action& chosen) {
  auto program = std::make_unique<CLI::App>(kDescription, "rnnlab");
  program->footer(kFooter);
  program->set_version_flag("--version", "rnnlab " RNNLAB_VERSION);
  program->require_subcommand(1);
  program->get_formatter()->column_width(34);
  add_train(*program, chosen);
  add_compare(*program, chosen);
  add_bench(*program, chosen);
  add_check(*program, chosen);
  add_data(*program, chosen);
  add_info(*program, chosen);
  add_completion(*program, chosen);
  return program;
}

ExitCode run(int argc, const char* const* argv) {
  Action chosen;
  const auto program = make_parser(chosen);
  try {
    program->parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    program->exit(success);
    return ExitCode::kDone;
  } catch (const CLI::ParseError& error) {
    throw UserError(ExitCode::kUsage, explain(*program, error));
  }
  return chosen(CommandLine(argv, argv + argc));
}

}  // namespace rnnlab::app
