// What is wrong with a command line, in words of our own: CLI11 speaks of subcommands and of arguments that were not
// expected, and suggests nothing.
#pragma once

#include <CLI/App.hpp>
#include <string>

namespace rnnlab::app {

// One message with the mistake, what was expected and where to read on. `program` has parsed the command line up to
// `error`.
std::string explain_usage_error(const CLI::App& program, const CLI::ParseError& error);

}  // namespace rnnlab::app
