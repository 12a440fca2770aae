// SPDX-License-Identifier: Apache-2.0
#include "verbs.h"

#include <fmt/format.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Option.hpp>
#include <algorithm>
#include <sstream>
#include <string_view>
#include <vector>

#include "arguments.h"
#include "base/system/terminal.h"
#include "base/text.h"
#include "layers/device/cuda_library.h"
#include "layers/device/gpu_device.h"
#include "output.h"
#include "runs/experiment.h"
#include "version.h"

namespace rnnlab::app {
namespace {

constexpr const char* kDescription =
    "rnnlab trains recurrent networks from YAML files and compares the epoch times of their implementations";

constexpr const char* kProgramFooter = R"(
Examples:
  rnnlab train experiments/quickstart.yaml device=cpu
  rnnlab compare quickstart

Exit codes: 0 done, 1 internal error, 2 usage or configuration, 3 data, 4 device or environment, 5 diverged,
  6 checkpoint unusable, 7 slower than the benchmark that was compared with, 75 another process runs the task or the run,
  128 + N ended by signal N (130 SIGINT, 143 SIGTERM, 129 SIGHUP, 138 SIGUSR1, 152 SIGXCPU; train and bench write their
  results first), 141 the reader of standard output went away.
`rnnlab help VERB` explains a verb; `rnnlab check --schema` lists the keys of an experiment file.)";

// `rnnlab help train` means `rnnlab train --help`, `rnnlab help` means `rnnlab --help`, and `rnnlab version` means
// `rnnlab --version`. If the word after `help` is not a verb, the parser reports it.
std::vector<const char*> with_words_as_options(const CLI::App& program, int argc, const char* const* argv) {
  std::vector<const char*> arguments(argv, argv + argc);
  const auto word = [&](int i) { return i < argc ? std::string_view(argv[i]) : std::string_view(); };
  const bool asks_of_help = word(1) == "help" && (word(2) == "help" || word(2) == "version");
  const bool asks_of_version = word(1) == "version" && (word(2) == "--help" || word(2) == "-h");
  if (asks_of_help || asks_of_version) return {argv[0], "--help"};
  if (argc == 2 && word(1) == "version") arguments[1] = "--version";
  if (word(1) != "help") return arguments;
  arguments.erase(arguments.begin() + 1);
  const auto is_meant = [&](const CLI::App* verb) { return verb->get_name() == word(2); };
  if (argc == 2 || !program.get_subcommands(is_meant).empty()) arguments.push_back("--help");
  return arguments;
}

std::vector<std::string> verb_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* verb : command.get_subcommands({})) names.push_back(verb->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

// Returns the innermost parsed verb, such as `data inspect`.
const CLI::App& innermost(const CLI::App& command) {
  const auto chosen = command.get_subcommands();
  return chosen.empty() ? command : innermost(*chosen.front());
}

// Returns "data inspect"; "" for the program itself.
std::string verb_path(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  if (parent == nullptr) return "";
  const std::string before = verb_path(*parent);
  return before.empty() ? command.get_name() : before + " " + command.get_name();
}

// Returns the beginning of a message, such as "compare: ".
std::string message_prefix(const CLI::App& command) {
  const std::string path = verb_path(command);
  return path.empty() ? "" : path + ": ";
}

// The user may have written a key of an experiment as an option: --training.epochs=5.
std::string option_hint(const CLI::App& command, const std::string& extra) {
  const std::string name = extra.substr(std::min(extra.find_first_not_of('-'), extra.size()));
  const config::Entry* entry = Experiment::schema().spec().find_path(name.substr(0, name.find('=')));
  if (entry == nullptr || entry->field() == nullptr) return did_you_mean(extra, option_names(command));
  return fmt::format("; keys of an experiment have no dashes: {}={}", name.substr(0, name.find('=')),
                     name.find('=') == std::string::npos ? "VALUE" : name.substr(name.find('=') + 1));
}

std::string explain_extra(const CLI::App& command, const std::string& extra) {
  if (extra.starts_with("-")) return fmt::format("unknown option {}{}", in_quotes(extra), option_hint(command, extra));
  const auto verbs = verb_names(command);
  if (!verbs.empty())
    return fmt::format("unknown verb {}{}, expected {}", in_quotes(extra), did_you_mean(extra, verbs),
                       join_with_or(verbs));
  return fmt::format("unexpected argument {}", in_quotes(extra));
}

// Explains an argument that remains after the verb, or before it: in `rnnlab --quiet train` an option of train is
// first.
std::string explain_leftover(const CLI::App& program, const CLI::App& verb) {
  if (const auto extras = verb.remaining(); !extras.empty()) return explain_extra(verb, extras.front());
  const auto extras = program.remaining();
  if (extras.empty()) return "";
  const auto options = option_names(verb);
  if (std::ranges::find(options, extras.front()) != options.end())
    return fmt::format("{} is before the verb, expected after it: `rnnlab {} {}`", extras.front(), verb_path(verb),
                       extras.front());
  return explain_extra(program, extras.front());
}

std::string explain_absence(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options())
    if (option->get_required() && option->count() == 0)
      return fmt::format("{}no argument given, expected {}", message_prefix(command), option->get_description());
  return fmt::format("{}no verb given, expected {}", message_prefix(command), join_with_or(verb_names(command)));
}

// `message` is CLI11's, which begins with the option's name.
std::string explain_missing_value(const CLI::App& command, const std::string& message) {
  const std::string name = message.substr(0, message.find(':'));
  const CLI::Option* option = command.get_option_no_throw(name);
  return option == nullptr ? message : fmt::format("{}: no value given, expected {}", name, option->get_type_name());
}

// CLI11's messages about two options are "--json excludes --csv" and "--tolerance requires --against".
std::string explain_pair(const std::string& message, const char* format) {
  const auto words = split(message, ' ');
  return fmt::format(fmt::runtime(format), words.front(), words.back());
}

std::string explain_by_kind(const CLI::App& command, const CLI::ParseError& error) {
  std::string message = error.what();
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) return explain_absence(command);
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) return explain_missing_value(command, message);
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr)
    return explain_pair(message, "{} and {} cannot be used together: remove one of the two");
  if (dynamic_cast<const CLI::RequiresError*>(&error) != nullptr)
    return explain_pair(message, "{0} works only with {1}: add {1} or remove {0}");
  return message;  // from one of our checks, such as that of --tolerance
}

// Explains an invalid command line in our own words, because CLI11's messages mention subcommands and unexpected
// arguments, and suggest no correction. The message has the mistake, the expected form and the command that shows help.
// `program` has parsed the command line up to `error`.
std::string explain_usage_error(const CLI::App& program, const CLI::ParseError& error) {
  const CLI::App& verb = innermost(program);
  const std::string leftover = explain_leftover(program, verb);
  const std::string message = leftover.empty() ? explain_by_kind(verb, error) : leftover;
  return fmt::format("{}\n  `{} --help` shows how it is used", message, trim("rnnlab " + verb_path(verb)));
}

constexpr size_t kHelpColumn = 34;  // where the descriptions of options begin

// Returns the line of an option, or the text below its name, with a description of at most `width` columns. On a narrow
// terminal the description begins below the name.
std::string wrapped_option(const std::string& line, size_t width) {
  constexpr size_t kLeastDescription = 30, kNarrowIndent = 6;
  const bool is_narrow = width < kHelpColumn + kLeastDescription;
  const std::string indent(is_narrow ? kNarrowIndent : kHelpColumn, ' ');
  const std::string text = join(wrap(line.substr(kHelpColumn), width - indent.size()), "\n" + indent);
  const std::string name = line.substr(0, kHelpColumn);
  if (!is_narrow) return name + text;
  const size_t end = name.find_last_not_of(' ');
  return (end == std::string::npos ? "" : name.substr(0, end + 1) + "\n") + indent + text;
}

bool is_example(const std::string& line) { return line.starts_with("  rnnlab ") || line.starts_with("  source "); }

// Returns a line of a footer that is not part of a paragraph.
std::string wrapped_line(const std::string& line, size_t width) {
  if (display_width(line) <= width || is_example(line)) return line;
  const std::string indent(line.find_first_not_of(' '), ' ');
  return indent + join(wrap(trim(line), width - indent.size()), "\n" + indent);
}

// Returns a line of a list of options.
std::string wrapped_entry(const std::string& line, size_t width) {
  const bool has_description = line.size() > kHelpColumn && line[kHelpColumn - 1] == ' ' && line[kHelpColumn] != ' ';
  return has_description && display_width(line) > width ? wrapped_option(line, width) : wrapped_line(line, width);
}

// Returns whether a list of options begins, which ends with an empty line.
bool begins_list(const std::string& line) {
  return line == "Positionals:" || line == "Options:" || line == "Subcommands:";
}

// Returns whether the line belongs to a paragraph, whose lines are broken for a wide terminal. Further lines of a
// paragraph may be indented.
bool is_prose(const std::string& line, const std::string& paragraph) {
  if (line.empty() || line.starts_with("Usage: ") || is_example(line)) return false;
  return !paragraph.empty() || (line[0] != ' ' && !line.ends_with(':'));
}

// Returns CLI11's help with lines of at most `width` columns, except those of examples.
std::string wrapped_help(const std::string& help, size_t width) {
  std::string text, paragraph;
  bool is_in_list = false;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) text += wrapped_line(paragraph, width) + "\n";
    paragraph.clear();
  };
  for (const std::string& line : split(trim(help), '\n')) {
    is_in_list = begins_list(line) || (is_in_list && !line.empty());
    if (!is_in_list && is_prose(line, paragraph)) {
      paragraph += (paragraph.empty() ? "" : " ") + std::string(trim(line));
      if (line.ends_with(':')) end_paragraph();
      continue;
    }
    end_paragraph();
    text += (is_in_list ? wrapped_entry(line, width) : wrapped_line(line, width)) + "\n";
  }
  end_paragraph();
  return text;
}

// Returns the help as it fits the terminal; programs that read it from a pipe get it with its own lines.
std::string help_for_output(const std::string& help) {
  return inspect_terminal(1).is_terminal ? wrapped_help(help, output_width(40, 120)) : help;
}

}  // namespace

std::unique_ptr<CLI::App> make_parser(Action& chosen) {
  auto program = std::make_unique<CLI::App>(kDescription, "rnnlab");
  program->footer(kProgramFooter);
  program->set_version_flag("--version", "rnnlab " RNNLAB_VERSION);
  program->require_subcommand(1);
  program->get_formatter()->column_width(kHelpColumn);
  for (const Verb& verb : kVerbs) verb.add(*program, chosen);
  return program;
}

ExitCode run(int argc, const char* const* argv) {
  Action chosen;
  const auto program = make_parser(chosen);
  try {
    const auto arguments = with_words_as_options(*program, argc, argv);
    program->parse(static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::Success& success) {  // --help, --version
    std::ostringstream text;
    program->exit(success, text, text);
    print_text(help_for_output(text.str()));
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
