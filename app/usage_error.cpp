#include "usage_error.h"

#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <algorithm>
#include <vector>

#include "base/text.h"
#include "experiment/experiment.h"

namespace rnnlab::app {
namespace {

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
std::string opening(const CLI::App& command) {
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
    return fmt::format("unknown verb {}{}, expected {}", in_quotes(extra), did_you_mean(extra, verbs), one_of(verbs));
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
      return fmt::format("{}no argument given, expected {}", opening(command), option->get_description());
  return fmt::format("{}no verb given, expected {}", opening(command), one_of(verb_names(command)));
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
  const std::string message = error.what();
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) return explain_absence(command);
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) return explain_missing_value(command, message);
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr)
    return explain_pair(message, "{} and {} cannot be used together: remove one of the two");
  if (dynamic_cast<const CLI::RequiresError*>(&error) != nullptr)
    return explain_pair(message, "{0} works only with {1}: add {1} or remove {0}");
  return message;  // from one of our checks, such as that of --tolerance
}

}  // namespace

std::string explain_usage_error(const CLI::App& program, const CLI::ParseError& error) {
  const CLI::App& verb = innermost(program);
  const std::string leftover = explain_leftover(program, verb);
  const std::string message = leftover.empty() ? explain_by_kind(verb, error) : leftover;
  return fmt::format("{}\n  `{} --help` shows how it is used", message, trim("rnnlab " + verb_path(verb)));
}

}  // namespace rnnlab::app
