// The arguments RUN [key=value ...] and the options that the verbs on trained models share.
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

// --with-machine, for results that are made to be shared.
void add_machine_option(CLI::App& command, bool& with_machine);

// --passes N, for the time that is reported.
CLI::Option* add_passes_option(CLI::App& command, int64_t& num_passes);

// UserError kUsage that begins with the verb's name, where there is not exactly one RUN.
ModelRequest model_request(const std::string& verb, const ModelArguments& arguments);

// The model, its notes told on stderr.
TrainedModel load_model(const ModelRequest& request);

void print_notes(const std::vector<std::string>& notes);

}  // namespace rnnlab::app
