// SPDX-License-Identifier: Apache-2.0
// rnnlab completion: prints a completion script for bash, zsh or fish, made from the parser and the field lists.
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <algorithm>
#include <map>

#include "arguments.h"
#include "base/config/sweep.h"
#include "base/text.h"
#include "output.h"
#include "results/run_folder.h"
#include "runs/bench/bench_settings.h"
#include "runs/experiment.h"
#include "verbs.h"

namespace rnnlab::app {
namespace {

constexpr const char* kCompletionFooter = R"(
Examples:
  source <(rnnlab completion bash)
  rnnlab completion zsh > ~/.zfunc/_rnnlab
  rnnlab completion fish > ~/.config/fish/completions/rnnlab.fish)";

// A verb is completed with its options, experiment keys (with a trailing '=') and files, and with the names of
// experiments in the folder runs if it takes runs; a key is completed with its values. Bash splits `layer=na` into
// three words if '=' is in COMP_WORDBREAKS, as it usually is; zsh does not.
constexpr const char* kBashScript = R"bash(_rnnlab_values() {{
  case "$1" in
{values}  esac
}}
_rnnlab_names() {{
  (cd {runs} 2> /dev/null && compgen -d -- "$1")
}}
_rnnlab() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" words="" before="" key="" second=""
  [ "$COMP_CWORD" -ge 2 ] && before="${{COMP_WORDS[COMP_CWORD-1]}}"
  if [ "$word" = "=" ]; then
    key="$before" word=""
  elif [ "$before" = "=" ]; then
    key="${{COMP_WORDS[COMP_CWORD-2]}}"
  elif [[ "$word" == *=* ]]; then
    key="${{word%%=*}}"
    COMPREPLY=($(compgen -P "$key=" -W "$(_rnnlab_values "$key")" -- "${{word#*=}}"))
    return 0
  fi
  if [ -n "$key" ]; then
    COMPREPLY=($(compgen -W "$(_rnnlab_values "$key")" -- "$word") $(compgen -f -- "$word"))
    return 0
  fi
  if [ "$before" = "--resume" ]; then
    COMPREPLY=($(compgen -W "auto" -- "$word") $(_rnnlab_names "$word") $(compgen -f -- "$word"))
    return 0
  fi
  [ "$COMP_CWORD" -gt 2 ] && second="${{COMP_WORDS[2]}}"
  case "${{COMP_WORDS[1]}} $second" in
{cases}    "help ") words="{verbs}" ;;
    "help "*) ;;
    *) words="{verbs} help version --help --version" ;;
  esac
  [ "$COMP_CWORD" -eq 1 ] && words="{verbs} help version --help --version"
  compopt +o nospace 2> /dev/null
  COMPREPLY=($(compgen -W "$words" -- "$word") $(compgen -f -- "$word"))
  case "${{COMP_WORDS[1]}}" in
    {verbs_of_runs}) [ "$COMP_CWORD" -eq 1 ] || COMPREPLY+=($(_rnnlab_names "$word")) ;;
  esac
  [[ "${{COMPREPLY[0]:-}}" == *= ]] && compopt -o nospace 2> /dev/null
  return 0
}}
complete -o filenames -F _rnnlab rnnlab
)bash";

void append_keys(const config::StructSpec& spec, std::vector<std::string>& keys) {
  for (const auto& [key, entry] : spec.all_entries())
    if (entry->field() != nullptr) keys.push_back(key + "=");
}

// Returns the values of a key if they are a list of words.
std::vector<std::string> values_of(const config::FieldSpec& field) {
  return field.kind == config::ScalarKind::kBool ? std::vector<std::string>{"true", "false"} : field.choices;
}

// Returns the values that each key lists. A key of a benchmark with the name of an experiment's key has the same ones.
std::map<std::string, std::vector<std::string>> values_of_keys() {
  std::map<std::string, std::vector<std::string>> values;
  for (const config::StructSpec* spec : {&Experiment::schema().spec(), &BenchSettings::schema().spec()})
    for (const auto& [key, entry] : spec->all_entries())
      if (entry->field() != nullptr) values.emplace(key, values_of(*entry->field()));
  return values;
}

std::string cases_of_values() {
  std::string cases;
  for (const auto& [key, words] : values_of_keys())
    if (!words.empty()) cases += fmt::format("    {}) echo \"{}\" ;;\n", key, join(words, " "));
  return cases;
}

// Options without a group are those that rnnlab passes to its own processes.
bool is_hidden(const CLI::Option& option) { return option.get_group().empty(); }

std::vector<const CLI::App*> nested_in(const CLI::App& verb) { return verb.get_subcommands({}); }

std::vector<std::string> names_of_nested(const CLI::App& verb) {
  std::vector<std::string> names;
  for (const CLI::App* nested : nested_in(verb)) names.push_back(nested->get_name());
  return names;
}

// Appends a verb's options and the names of its nested verbs.
void append_words(const CLI::App& verb, std::vector<std::string>& words) {
  for (const CLI::Option* option : verb.get_options())
    for (const std::string& name : option->get_lnames())
      if (!is_hidden(*option)) add_once(words, "--" + name);
  for (const std::string& nested : names_of_nested(verb)) words.push_back(nested);
}

// Returns the assignments that a nested verb takes, which are those of its verb or none.
Assignments assignments_of(const CLI::App& parser, Assignments of_verb) {
  const auto takes = [](const CLI::Option* option) {
    return option->get_type_name().find("key=value") != std::string::npos;
  };
  const auto options = parser.get_options();
  return std::ranges::any_of(options, takes) ? of_verb : Assignments::kNone;
}

void append_assignments(Assignments assignments, std::vector<std::string>& words) {
  switch (assignments) {
    case Assignments::kNone:
      return;
    case Assignments::kBenchSettings:
      return append_keys(BenchSettings::schema().spec(), words);
    case Assignments::kSettingsAndSweeps:
      for (const std::string_view key : {config::kSweepKey, config::kRepeatsKey})
        words.push_back(std::string(key) + "=");
      [[fallthrough]];
    case Assignments::kSettings:
      append_keys(Experiment::schema().spec(), words);
  }
}

std::string words_after(const CLI::App& parser, Assignments assignments) {
  std::vector<std::string> words;
  append_words(parser, words);
  append_assignments(assignments_of(parser, assignments), words);
  return join(words, " ");
}

// Returns the case of a verb, with those of its nested verbs before it. A nested verb counts when a space follows it.
std::string bash_cases(const Verb& verb, const CLI::App& parser) {
  std::string cases;
  for (const CLI::App* nested : nested_in(parser))
    cases += fmt::format("    \"{} {}\") words=\"{}\" ;;\n", verb.name, nested->get_name(),
                         words_after(*nested, verb.assignments));
  if (!nested_in(parser).empty())
    cases += fmt::format("    \"help {}\") words=\"{}\" ;;\n", verb.name, join(names_of_nested(parser), " "));
  return cases + fmt::format("    \"{} \"*) words=\"{}\" ;;\n", verb.name, words_after(parser, verb.assignments));
}

std::string bash_script() {
  Action ignored;
  const auto program = make_parser(ignored);
  std::vector<std::string> verbs, verbs_of_runs;
  std::string cases;
  for (const Verb& verb : kVerbs) {
    const std::string name(verb.name);
    verbs.push_back(name);
    if (verb.takes_runs == TakesRuns::kYes) verbs_of_runs.push_back(name);
    cases += bash_cases(verb, *program->get_subcommand(name));
  }
  return fmt::format(kBashScript, fmt::arg("values", cases_of_values()), fmt::arg("cases", cases),
                     fmt::arg("verbs", join(verbs, " ")), fmt::arg("verbs_of_runs", join(verbs_of_runs, "|")),
                     fmt::arg("runs", kRunsFolder));
}

// zsh runs bash's completions unchanged.
std::string zsh_script() { return "#compdef rnnlab\nautoload -U +X bashcompinit && bashcompinit\n" + bash_script(); }

std::string fish_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

// __rnnlab_verb VERB...: whether the words before the cursor begin with these verbs; __rnnlab_only: whether they are
// only these. A key with listed values is completed with these and not with names of files.
constexpr const char* kFishFunctions = R"fish(function __rnnlab_verb
  set -l words (commandline -opc)
  set -l last (math (count $argv) + 1)
  test "$words[2..$last]" = "$argv"
end
function __rnnlab_only
  set -l words (commandline -opc)
  set -e words[1]
  test "$words" = "$argv"
end
complete -c rnnlab -f -n __rnnlab_only
complete -c rnnlab -f -n "string match -qr '^({keys_with_values})=' -- (commandline -ct)"
)fish";

// Returns what fish offers as the value of an option, beside files.
std::string fish_values(const std::string& option) {
  if (option != "resume") return "";
  return fmt::format(" -a 'auto (command ls {} 2>/dev/null)'", kRunsFolder);
}

// Fish shows the descriptions beside the words.
std::string fish_option(const CLI::Option& option, const std::string& name) {
  std::string line = fmt::format(" -l {}", name);
  for (const std::string& letter : option.get_snames()) line += fmt::format(" -s {}", letter);
  if (option.get_items_expected_max() > 0) line += " -r" + fish_values(name);
  return fmt::format("{} -d {}\n", line, fish_quoted(option.get_description()));
}

std::string fish_options(const CLI::App& parser, const std::string& begin) {
  std::string lines;
  for (const CLI::Option* option : parser.get_options())
    for (const std::string& name : option->get_lnames())
      if (!is_hidden(*option)) lines += begin + fish_option(*option, name);
  return lines;
}

// Returns "layer=naive", "layer=fused" ... for a key with listed values, and "seed=" for another one.
std::vector<std::string> fish_assignments(Assignments assignments) {
  const auto values = values_of_keys();
  std::vector<std::string> keys, words;
  append_assignments(assignments, keys);
  for (const std::string& key : keys) {
    const auto found = values.find(key.substr(0, key.size() - 1));
    if (found == values.end() || found->second.empty())
      words.push_back(key);
    else
      for (const std::string& value : found->second) words.push_back(key + value);
  }
  return words;
}

// Returns the lines of a verb and of its nested verbs; `path` is "data" or "data inspect".
std::string fish_lines(const CLI::App& parser, const std::string& path, Assignments of_verb) {
  const auto nested = nested_in(parser);
  const std::string begin =
      fmt::format("complete -c rnnlab -n '{} {}'", nested.empty() ? "__rnnlab_verb" : "__rnnlab_only", path);
  std::string lines = fish_options(parser, begin);
  for (const CLI::App* one : nested) {
    lines += fmt::format("{} -f -a {} -d {}\n", begin, one->get_name(), fish_quoted(one->get_description()));
    lines += fish_lines(*one, path + " " + one->get_name(), of_verb);
  }
  if (const auto words = fish_assignments(assignments_of(parser, of_verb)); !words.empty())
    lines += fmt::format("{} -a {}\n", begin, fish_quoted(join(words, " ")));
  return lines;
}

std::string keys_with_values() {
  std::vector<std::string> keys;
  for (const auto& [key, words] : values_of_keys())
    if (!words.empty()) keys.push_back(key);
  return join(keys, "|");
}

std::string fish_script() {
  Action ignored;
  const auto program = make_parser(ignored);
  const std::string first = "complete -c rnnlab -n __rnnlab_only";
  std::string script = fmt::format(kFishFunctions, fmt::arg("keys_with_values", keys_with_values()));
  script += fish_options(*program, first);
  script += first + " -a help -d 'Explain a verb'\n" + first + " -a version -d 'Print the version'\n";
  for (const Verb& verb : kVerbs) {
    const std::string name(verb.name);
    const CLI::App& parser = *program->get_subcommand(name);
    script += fmt::format("{} -a {} -d {}\n", first, name, fish_quoted(parser.get_description()));
    script += fmt::format("complete -c rnnlab -n '__rnnlab_only help' -f -a {}\n", name);
    if (const auto nested = names_of_nested(parser); !nested.empty())
      script += fmt::format("complete -c rnnlab -n '__rnnlab_only help {}' -f -a '{}'\n", name, join(nested, " "));
    script += fish_lines(parser, name, verb.assignments);
    if (verb.takes_runs == TakesRuns::kYes)
      script +=
          fmt::format("complete -c rnnlab -n '__rnnlab_verb {}' -a '(command ls {} 2>/dev/null)'\n", name, kRunsFolder);
  }
  return script;
}

struct CompletionOptions {
  std::string shell;
};

std::string script_for(const std::string& shell) {
  return shell == "bash" ? bash_script() : shell == "zsh" ? zsh_script() : fish_script();
}

ExitCode print_script(const CompletionOptions& options) {
  print_data(script_for(options.shell));
  return ExitCode::kDone;
}

}  // namespace

void add_completion(CLI::App& program, Action& chosen) {
  const auto [command, options] = add_verb<CompletionOptions>(
      program, chosen, "completion", "Print a completion script for a shell", kCompletionFooter, print_script);
  command->add_option("shell", options->shell, "bash, zsh or fish")
      ->required()
      ->check(one_of({"bash", "zsh", "fish"}))
      ->type_name("");
}

}  // namespace rnnlab::app
