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

// Threads that wait for each other sleep in the programs that a test starts: by default they spin for a while, and on
// cores that are busy with other tests a run then takes ten times as long. CMakePresets.json sets it for the test
// program.
[[maybe_unused]] const int kPassive = ::setenv("OMP_WAIT_POLICY", "passive", 0);

// A shell lets background jobs ignore SIGINT, and nohup SIGHUP. The program keeps to that, but tests send them.
[[maybe_unused]] const auto kInterrupt = std::signal(SIGINT, SIG_DFL);
[[maybe_unused]] const auto kHangUp = std::signal(SIGHUP, SIG_DFL);

}  // namespace
