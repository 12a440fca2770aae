// SPDX-License-Identifier: Apache-2.0
// What every test program sets for itself and for the programs that it starts.
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

namespace {

// On a busy machine rnnlab chooses fewer threads for a run (runs/fastest_layer.h), and results depend on the
// number of threads. A number in OMP_NUM_THREADS is kept.
[[maybe_unused]] const int kFixed =
    ::setenv("OMP_NUM_THREADS", std::to_string(std::thread::hardware_concurrency()).c_str(), 0);

// A shell lets background jobs ignore SIGINT, and the program keeps to that, but tests send it.
[[maybe_unused]] const auto kDefault = std::signal(SIGINT, SIG_DFL);

}  // namespace
