// The arguments RUN [key=value ...] and the options that the verbs for trained models share.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "inference/trained_model.h"

namespace rnnlab::app {

struct ModelArguments {
  std::vector<std::string> arguments;
  std::string checkpoint;
  std::string part;
};

enum class TakesData { kNo, kYes };

void add_use_arguments(CLI::App& command, ModelArguments& arguments, TakesData takes_data);

// Adds --with-machine, for results that users share.
void add_machine_option(CLI::App& command, bool& with_machine);

// Adds --passes N, for the reported time.
CLI::Option* add_passes_option(CLI::App& command, int64_t& num_passes);

// Throws UserError kUsage unless there is exactly one RUN; the message begins with the verb's name.
ModelRequest model_request(const std::string& verb, const ModelArguments& arguments);

// Loads the model and prints its notes on stderr.
TrainedModel load_model(const ModelRequest& request);

void print_notes(const std::vector<std::string>& notes);

}  // namespace rnnlab::app
