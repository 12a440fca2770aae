// SPDX-License-Identifier: Apache-2.0
// The arguments that several verbs share: FILE... [key=value ...] of experiments, RUN [key=value ...] of trained
// models, and options with their checks.
#pragma once

#include <CLI/App.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/config/document.h"
#include "base/config/schema.h"
#include "runs/sweep.h"
#include "runs/use/trained_model.h"

namespace rnnlab::app {

// Checks of options: each returns what is wrong with a text, or "", as CLI11 requires.
using Check = std::function<std::string(const std::string& text)>;

Check one_of(std::vector<std::string> names);
Check integer_between(int64_t least, int64_t most = std::numeric_limits<int64_t>::max());
Check number_where(bool (*holds)(double), std::string expected);

// Adds FILE... [key=value] for the experiments of a verb.
void add_experiment_arguments(CLI::App& command, std::vector<std::string>& arguments);

struct ExperimentArguments {
  std::vector<std::string> files;
  std::vector<std::string> overrides;  // "training.epochs=3"
};

// An argument is an override if it begins with a dotted key and '=': `a/b=c.yaml` is a file. An existing file such as
// `a=b.csv` is also a file, unless `a` is one of `keys`; then `./a=b.csv` names the file. Throws UserError kUsage for
// an argument that is neither: one of `keys` without its '=', or a map or list that the shell split at its spaces.
ExperimentArguments split_arguments(const std::vector<std::string>& arguments, const config::StructSpec& keys);

// Does what split_arguments does with the keys of an experiment, and requires at least one file. The message of its
// UserError kUsage begins with the verb's name.
ExperimentArguments split_experiment_arguments(const std::string& verb, const std::vector<std::string>& arguments);

// Throws UserError kUsage if there are arguments, because a list of all keys takes none. The message begins with the
// verb's name.
void refuse_arguments_for_list(const std::string& verb, const std::vector<std::string>& arguments);

// Reads the file and applies the overrides. Errors are added to `findings`.
config::Document read_document(const std::string& file, const std::vector<std::string>& overrides,
                               config::Findings& findings);

// Returns the cases of all files among the arguments of a verb. Throws UserError kUsage with the errors of all files.
std::vector<ExperimentCase> read_all_cases(const std::string& verb, const std::vector<std::string>& arguments);

// The arguments RUN [key=value ...] of the verbs for trained models.
struct ModelArguments {
  std::vector<std::string> arguments;
  std::string checkpoint;
  std::string part;
};

enum class TakesData { kNo, kYes };

void add_use_arguments(CLI::App& command, ModelArguments& arguments, TakesData takes_data);

// Adds --part PART, for a part of the data. Returns the option.
CLI::Option* add_part_option(CLI::App& command, std::string& part, const std::string& description);

// Adds --with-machine, for results that users share.
void add_machine_option(CLI::App& command, bool& with_machine);

// Adds --price-per-hour PRICE, for the price of an epoch.
CLI::Option* add_price_option(CLI::App& command, std::optional<double>& price_per_hour);

// Adds --passes N, for the reported time.
CLI::Option* add_passes_option(CLI::App& command, int64_t& num_passes);

// Throws UserError kUsage unless there is exactly one RUN; the message begins with the verb's name.
ModelRequest model_request(const std::string& verb, const ModelArguments& arguments);

// Loads the model and prints its notes on stderr.
TrainedModel load_model(const ModelRequest& request);

void print_notes(const std::vector<std::string>& notes);

}  // namespace rnnlab::app
