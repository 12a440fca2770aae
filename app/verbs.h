// Every verb of the program, one file each. A verb adds its options to the parser; once they are parsed it leaves what
// to run in `chosen`.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"

namespace rnnlab::app {

using CommandLine = std::vector<std::string>;  // as typed, the program's name first
using Action = std::function<ExitCode(const CommandLine&)>;

void add_train(CLI::App& program, Action& chosen);
void add_evaluate(CLI::App& program, Action& chosen);
void add_predict(CLI::App& program, Action& chosen);
void add_convert(CLI::App& program, Action& chosen);
void add_export(CLI::App& program, Action& chosen);
void add_compare(CLI::App& program, Action& chosen);
void add_bench(CLI::App& program, Action& chosen);
void add_report(CLI::App& program, Action& chosen);
void add_sweep(CLI::App& program, Action& chosen);
void add_check(CLI::App& program, Action& chosen);
void add_data(CLI::App& program, Action& chosen);
void add_info(CLI::App& program, Action& chosen);
void add_completion(CLI::App& program, Action& chosen);

}  // namespace rnnlab::app
