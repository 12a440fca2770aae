// SPDX-License-Identifier: Apache-2.0
// On a busy machine rnnlab chooses fewer threads for a run (runs/fastest_layer.h), and results depend on the
// number of threads. A number in OMP_NUM_THREADS is kept, here and in the programs that tests start.
#include <cstdlib>
#include <string>
#include <thread>

namespace {

[[maybe_unused]] const int kFixed =
    ::setenv("OMP_NUM_THREADS", std::to_string(std::thread::hardware_concurrency()).c_str(), 0);

}  // namespace
