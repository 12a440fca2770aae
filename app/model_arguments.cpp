#include "model_arguments.h"

#include <fmt/format.h>

#include <CLI/Option.hpp>

#include "base/numbers.h"
#include "base/text.h"
#include "experiment_arguments.h"
#include "output.h"

namespace rnnlab::app {
namespace {

std::string check_part(const std::string& name) {
  if (config::from_name<DataPart>(name)) return "";
  return fmt::format("got {}, expected train, valid or all", in_quotes(name));
}

std::string check_passes(const std::string& text) {
  const auto number = parse_int64(text);
  const bool is_fine = number && *number >= 1 && *number <= 1'000'000;
  return is_fine ? "" : fmt::format("got {}, expected an integer, at least 1 and at most 1000000", in_quotes(text));
}

}  // namespace

void add_use_arguments(CLI::App& command, ModelArguments& arguments, TakesData takes_data) {
  const bool is_on_data = takes_data == TakesData::kYes;
  command
      .add_option("arguments", arguments.arguments,
                  is_on_data ? "a run's folder or a checkpoint, and overrides such as device=cpu or layer=naive"
                             : "a run's folder or a checkpoint, or a file of weights")
      ->type_name(is_on_data ? "RUN [key=value]" : "RUN|FILE");
  command
      .add_option("--checkpoint", arguments.checkpoint,
                  "best, last, or one by its name, such as step-000123; by default the best if one is marked")
      ->type_name("NAME");
  if (!is_on_data) return;
  command
      .add_option("--part", arguments.part, "train, valid or all of the data; by default valid, and all of other data")
      ->check(check_part)
      ->type_name("PART");
}

void add_machine_option(CLI::App& command, bool& with_machine) {
  command.add_flag("--with-machine", with_machine, "also print host name, kernel, command line and absolute paths");
}

CLI::Option* add_passes_option(CLI::App& command, int64_t& num_passes) {
  return command
      .add_option("--passes", num_passes, "passes over the data; the time is their median; an untimed batch runs first")
      ->check(check_passes)
      ->type_name("N")
      ->capture_default_str();
}

ModelRequest model_request(const std::string& verb, const ModelArguments& arguments) {
  const auto [files, overrides] = tell_apart(arguments.arguments, Experiment::schema().spec());
  if (files.size() != 1)
    throw_error(ExitCode::kUsage,
                "{0}: got {1} names, expected one run or checkpoint; other data are given as data.path=FILE or "
                "data.train_inputs=FILE\n  `rnnlab {0} --help` shows how it is used",
                verb, files.size());
  return {.run = files.front(),
          .checkpoint = arguments.checkpoint,
          .overrides = overrides,
          .part = config::from_name<DataPart>(arguments.part)};
}

void print_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) print_notice(fmt::format("rnnlab: note: {}\n", note));
}

TrainedModel load_model(const ModelRequest& request) {
  TrainedModel trained = load_trained_model(request);
  print_notes(trained.notes);
  return trained;
}

}  // namespace rnnlab::app
