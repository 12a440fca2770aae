// SPDX-License-Identifier: Apache-2.0
// Parses the command line: verbs and their options, help, and one clear message (exit code 2) for an invalid command
// line.
#pragma once

#include <memory>

#include "verbs.h"

namespace rnnlab::app {

// Returns the parser with every verb. Parsing sets `chosen` to the action of the verb in the arguments.
std::unique_ptr<CLI::App> make_parser(Action& chosen);

// Parses the arguments and runs the verb. Help and the version go to stdout.
ExitCode run(int argc, const char* const* argv);

}  // namespace rnnlab::app
