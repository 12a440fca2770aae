// Explains an invalid command line in our own words, because CLI11's messages mention subcommands and unexpected
// arguments, and suggest no correction.
#pragma once

#include <CLI/App.hpp>
#include <string>

namespace rnnlab::app {

// Returns one message with the mistake, the expected form and the command that shows help. `program` has parsed the
// command line up to `error`.
std::string explain_usage_error(const CLI::App& program, const CLI::ParseError& error);

}  // namespace rnnlab::app
