// The command line: verbs and their options, help, and one clear message (exit code 2) for what cannot be understood.
#pragma once

#include <memory>

#include "verbs.h"

namespace rnnlab::app {

// The parser with every verb. The verb that the arguments name leaves its action in `chosen`.
std::unique_ptr<CLI::App> make_parser(Action& chosen);

// Parses and runs. Help and the version go to stdout.
ExitCode run(int argc, const char* const* argv);

}  // namespace rnnlab::app
