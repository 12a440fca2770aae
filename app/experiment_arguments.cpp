#include "experiment_arguments.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "base/error.h"
#include "base/text.h"
#include "experiment/experiment.h"

namespace rnnlab::app {
namespace {

bool is_key_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

bool is_there(const std::string& file) {
  std::error_code ignored;
  return std::filesystem::exists(file, ignored);
}

// If the key is known, the argument is an override even if the current folder has a file of that name.
bool is_override(const std::string& argument, const config::StructSpec& keys) {
  const size_t equals = argument.find('=');
  if (equals == std::string::npos) return false;
  const std::string key = argument.substr(0, equals);
  if (!std::ranges::all_of(key, is_key_character)) return false;
  return keys.find_path(key) != nullptr || !is_there(argument);
}

// Reports `training.epochs = 5` as one argument, with the spaces of a file.
void refuse_spaces_around_equals(const std::string& argument, const config::StructSpec& keys) {
  const size_t equals = argument.find('=');
  if (equals == std::string::npos || is_there(argument)) return;
  const std::string key(trim(std::string_view(argument).substr(0, equals)));
  const config::Entry* entry = keys.find_path(key);
  if (entry == nullptr) return;
  throw_error(ExitCode::kUsage, "argument {}: there are spaces before its '=': write {}={}", in_quotes(argument), key,
              trim(std::string_view(argument).substr(equals + 1)));
}

// Reports `training.epochs 5`, or `training.epochs: 5` as in a file, at arguments[at].
void refuse_key_without_value(const std::vector<std::string>& arguments, size_t at, const config::StructSpec& keys) {
  const std::string& argument = arguments[at];
  const std::string key = argument.substr(0, argument.find_last_not_of(':') + 1);
  const config::Entry* entry = keys.find_path(key);
  if (entry == nullptr || entry->field() == nullptr || is_there(argument)) return;
  const std::string next = at + 1 < arguments.size() ? arguments[at + 1] : "";
  const std::string value = next.substr(std::min(next.find_first_not_of('='), next.size()));
  const bool is_value = !value.empty() && (next[0] == '=' || (!is_override(next, keys) && !is_there(next)));
  throw_error(ExitCode::kUsage, "{} is a key and not a file, and its '=' is missing: write {}={}", in_quotes(argument),
              key, is_value ? in_quotes(value).substr(1, in_quotes(value).size() - 2) : "VALUE");
}

int depth_of(std::string_view text) {
  return static_cast<int>(std::ranges::count_if(text, [](char c) { return c == '{' || c == '['; }) -
                          std::ranges::count_if(text, [](char c) { return c == '}' || c == ']'; }));
}

// Without quotes the shell splits `sweep={layer: [naive, fused]}` into several arguments; arguments[at] is the first.
void refuse_cut_value(const std::vector<std::string>& arguments, size_t at) {
  std::string whole = arguments[at];
  const char opening = whole[std::min(whole.find('=') + 1, whole.size() - 1)];
  if (opening != '{' && opening != '[') return;
  for (size_t next = at + 1; depth_of(whole) > 0 && next < arguments.size(); ++next) whole += " " + arguments[next];
  if (whole == arguments[at] || depth_of(whole) != 0) return;
  throw_error(ExitCode::kUsage, "argument {}: the shell split it at its spaces; put quotes around the whole: {}",
              in_quotes(arguments[at]), in_quotes(whole, 200));
}

}  // namespace

ExperimentArguments tell_apart(const std::vector<std::string>& arguments, const config::StructSpec& keys) {
  ExperimentArguments parts;
  for (size_t at = 0; at < arguments.size(); ++at) {
    if (is_override(arguments[at], keys)) {
      refuse_cut_value(arguments, at);
      parts.overrides.push_back(arguments[at]);
    } else {
      refuse_spaces_around_equals(arguments[at], keys);
      refuse_key_without_value(arguments, at, keys);
      parts.files.push_back(arguments[at]);
    }
  }
  return parts;
}

ExperimentArguments tell_apart_with_files(const std::string& verb, const std::vector<std::string>& arguments) {
  ExperimentArguments parts = tell_apart(arguments, Experiment::schema().spec());
  if (parts.files.empty())
    throw_error(ExitCode::kUsage, "{0}: no experiment file given\n  `rnnlab {0} --help` shows how it is used", verb);
  return parts;
}

void refuse_arguments_of_a_list(const std::string& verb, const std::vector<std::string>& arguments) {
  if (arguments.empty()) return;
  throw_error(ExitCode::kUsage, "{}: got {}, but a list of all keys takes no arguments: remove one of the two", verb,
              in_quotes(arguments.front()));
}

config::Document read_document(const std::string& file, const std::vector<std::string>& overrides,
                               config::Findings& findings) {
  config::Document document = config::Document::from_file(file, findings);
  for (const std::string& assignment : overrides) document.apply_override(assignment, findings);
  return document;
}

std::vector<ExperimentCase> read_all_cases(const std::string& verb, const std::vector<std::string>& arguments) {
  const auto [files, overrides] = tell_apart_with_files(verb, arguments);
  config::Findings findings;
  std::vector<ExperimentCase> cases;
  for (const std::string& file : files)
    for (ExperimentCase& one : read_cases(read_document(file, overrides, findings), findings))
      cases.push_back(std::move(one));
  findings.throw_if_any();
  return cases;
}

}  // namespace rnnlab::app
