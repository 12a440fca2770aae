// Separates the arguments FILE... [key=value ...] that several verbs share.
#pragma once

#include <string>
#include <vector>

#include "config/document.h"
#include "config/schema.h"
#include "experiment/sweep.h"

namespace rnnlab::app {

struct ExperimentArguments {
  std::vector<std::string> files;
  std::vector<std::string> overrides;  // "training.epochs=3"
};

// An argument is an override if it begins with a dotted key and '=': `a/b=c.yaml` is a file. An existing file such as
// `a=b.csv` is also a file, unless `a` is one of `keys`; then `./a=b.csv` names the file. Throws UserError kUsage for
// an argument that is neither: one of `keys` without its '=', or a map or list that the shell split at its spaces.
ExperimentArguments tell_apart(const std::vector<std::string>& arguments, const config::StructSpec& keys);

// Does what tell_apart does with the keys of an experiment, and requires at least one file. The message of its
// UserError kUsage begins with the verb's name.
ExperimentArguments tell_apart_with_files(const std::string& verb, const std::vector<std::string>& arguments);

// Throws UserError kUsage if there are arguments, because a list of all keys takes none. The message begins with the
// verb's name.
void refuse_arguments_of_a_list(const std::string& verb, const std::vector<std::string>& arguments);

// Reads the file and applies the overrides. Errors are added to `findings`.
config::Document read_document(const std::string& file, const std::vector<std::string>& overrides,
                               config::Findings& findings);

// Returns the cases of all files among the arguments of a verb. Throws UserError kUsage with the errors of all files.
std::vector<ExperimentCase> read_all_cases(const std::string& verb, const std::vector<std::string>& arguments);

}  // namespace rnnlab::app
