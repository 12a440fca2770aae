// The arguments FILE... [key=value ...] that several verbs share, told apart.
#pragma once

#include <string>
#include <vector>

#include "config/document.h"
#include "config/schema.h"
#include "experiment/cases.h"

namespace rnnlab::app {

struct ExperimentArguments {
  std::vector<std::string> files;
  std::vector<std::string> overrides;  // "training.epochs=3"
};

// An argument is an override when a dotted key and '=' stand at its start: `a/b=c.yaml` is a file. An existing file
// such as `a=b.csv` is a file too unless `a` is one of `keys`; then `./a=b.csv` names the file. UserError kUsage for
// what is neither: one of `keys` without its '=', and a map or list that the shell cut at its spaces.
ExperimentArguments tell_apart(const std::vector<std::string>& arguments, const config::StructSpec& keys);

// The same with the keys of an experiment, at least one file among them. UserError kUsage that begins with the verb's
// name.
ExperimentArguments tell_apart_with_files(const std::string& verb, const std::vector<std::string>& arguments);

// UserError kUsage that begins with the verb's name where a list of all keys was asked for and there are arguments too.
void refuse_arguments_of_a_list(const std::string& verb, const std::vector<std::string>& arguments);

// The file with the overrides laid over it. What is wrong goes to `findings`.
config::Document read_document(const std::string& file, const std::vector<std::string>& overrides,
                               config::Findings& findings);

// The cases of all files among the arguments of a verb. UserError kUsage with everything that is wrong with any of
// them.
std::vector<ExperimentCase> read_all_cases(const std::string& verb, const std::vector<std::string>& arguments);

}  // namespace rnnlab::app
