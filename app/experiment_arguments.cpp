#include "experiment_arguments.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/text.h"

namespace rnnlab::app {
namespace {

bool is_key_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

bool is_override(const std::string& argument) {
  const size_t equals = argument.find('=');
  if (equals == std::string::npos) return false;
  return std::all_of(argument.begin(), argument.begin() + static_cast<std::ptrdiff_t>(equals), is_key_character);
}

}  // namespace

ExperimentArguments tell_apart(const std::vector<std::string>& arguments) {
  ExperimentArguments parts;
  for (const std::string& argument : arguments)
    (is_override(argument) ? parts.overrides : parts.files).push_back(argument);
  return parts;
}

ExperimentArguments tell_apart_with_files(const std::string& verb, const std::vector<std::string>& arguments) {
  ExperimentArguments parts = tell_apart(arguments);
  if (parts.files.empty())
    throw_error(ExitCode::kUsage, "{0}: no experiment file given\n  `rnnlab {0} --help` shows how it is used", verb);
  return parts;
}

void refuse_arguments_of_a_list(const std::string& verb, const std::vector<std::string>& arguments) {
  if (arguments.empty()) return;
  throw_error(ExitCode::kUsage, "{}: got {}, but a list of all keys takes no arguments: leave out one of the two", verb,
              in_quotes(arguments.front()));
}

config::Document read_document(const std::string& file, const std::vector<std::string>& overrides,
                               config::Findings& findings) {
  config::Document document = config::Document::from_file(file, findings);
  for (const std::string& assignment : overrides) document.apply_override(assignment, findings);
  return document;
}

}  // namespace rnnlab::app
