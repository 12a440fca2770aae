// SPDX-License-Identifier: Apache-2.0
// Declares every verb of the program; each verb has one file. A verb adds its options to the parser; after parsing,
// `chosen` is the action to run. The parser of the whole command line (command_line.cpp) has verbs and their options,
// help, and one clear message (exit code 2) for an invalid command line.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error.h"

namespace rnnlab::app {

using CommandLine = std::vector<std::string>;  // as typed; the program's name is first
using Action = std::function<ExitCode(const CommandLine&)>;

void add_train(CLI::App& program, Action& chosen);
void add_evaluate(CLI::App& program, Action& chosen);
void add_predict(CLI::App& program, Action& chosen);
void add_convert(CLI::App& program, Action& chosen);
void add_export(CLI::App& program, Action& chosen);
void add_compare(CLI::App& program, Action& chosen);
void add_rank(CLI::App& program, Action& chosen);
void add_bench(CLI::App& program, Action& chosen);
void add_report(CLI::App& program, Action& chosen);
void add_sweep(CLI::App& program, Action& chosen);
void add_cell(CLI::App& program, Action& chosen);
void add_check(CLI::App& program, Action& chosen);
void add_data(CLI::App& program, Action& chosen);
void add_info(CLI::App& program, Action& chosen);
void add_completion(CLI::App& program, Action& chosen);

// A verb that add_verb has added; its options live as long as its parser.
template <class Options>
struct NewVerb {
  CLI::App* command;
  Options* options;
};

// Adds a verb whose action is `run`, a function of its options and, if it takes it, of the command line.
template <class Options, class Run>
NewVerb<Options> add_verb(CLI::App& parent, Action& chosen, const std::string& name, const std::string& description,
                          const std::string& footer, Run run) {
  CLI::App* const command = parent.add_subcommand(name, description);
  const auto options = std::make_shared<Options>();
  command->footer(footer);
  command->callback([&chosen, options, run] {
    chosen = [options, run](const CommandLine& command_line) -> ExitCode {
      if constexpr (std::is_invocable_v<Run, const Options&, const CommandLine&>)
        return run(*options, command_line);
      else
        return run(*options);
    };
  });
  return {command, options.get()};
}

// The assignments that a verb takes besides files and options: `rnnlab train FILE training.epochs=3`.
enum class Assignments { kNone, kSettings, kSettingsAndSweeps, kBenchSettings };

// Whether a verb takes runs, by their folders or by the names of their experiments.
enum class TakesRuns { kNo, kYes };

struct Verb {
  std::string_view name;
  void (*add)(CLI::App& program, Action& chosen);
  Assignments assignments = Assignments::kNone;
  TakesRuns takes_runs = TakesRuns::kNo;
};

// In the order of `rnnlab --help`.
inline constexpr Verb kVerbs[] = {
    {"train", add_train, Assignments::kSettingsAndSweeps},
    {"evaluate", add_evaluate, Assignments::kSettings, TakesRuns::kYes},
    {"predict", add_predict, Assignments::kSettings, TakesRuns::kYes},
    {"convert", add_convert, Assignments::kNone, TakesRuns::kYes},
    {"export", add_export, Assignments::kSettings},
    {"compare", add_compare, Assignments::kNone, TakesRuns::kYes},
    {"rank", add_rank, Assignments::kNone, TakesRuns::kYes},
    {"bench", add_bench, Assignments::kBenchSettings},
    {"report", add_report, Assignments::kNone, TakesRuns::kYes},
    {"sweep", add_sweep, Assignments::kSettingsAndSweeps},
    {"check", add_check, Assignments::kSettingsAndSweeps},
    {"cell", add_cell, Assignments::kNone, TakesRuns::kYes},
    {"data", add_data, Assignments::kSettings},
    {"info", add_info},
    {"completion", add_completion},
};

// Returns the parser with every verb. Parsing sets `chosen` to the action of the verb in the arguments.
std::unique_ptr<CLI::App> make_parser(Action& chosen);

// Parses the arguments and runs the verb. Help and the version go to stdout.
ExitCode run(int argc, const char* const* argv);

}  // namespace rnnlab::app
