// SPDX-License-Identifier: Apache-2.0
// The program as a fork server (tests/app/fork_server.cpp), which starts when it is first asked and ends with the test
// program. It runs the file of the real program, main included; only its loading is done once. Tests of how the program
// is loaded, of other streams and of another environment start the program themselves.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace rnnlab::testing {

// Starts a program in `folder`, with its streams in stdout.txt and stderr.txt there. Returns its process; none if the
// server cannot do it as exec(3) would: while another program of it runs, since the environment, the limits or the
// namespaces have changed, for a command line of more than 64 KiB, and in builds with sanitizers, whose runtime does
// not allow the preloaded library.
std::optional<int> start_served(const std::filesystem::path& folder, const std::vector<std::string>& argv);

// Waits for the end of the process and returns its status; none if the server did not start it.
std::optional<int> wait_for_served(int process);

}  // namespace rnnlab::testing
