// How many threads an operation on the CPU uses if training.num_threads is not set: one for each CPU that the process
// may use, unless other programs keep these CPUs busy. Each operation waits for its slowest thread, so fewer threads
// are faster then, and a short measurement chooses their number. A quota of CPU time is not measured: it is part of
// default_num_threads (training/determinism.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace rnnlab {

struct ThreadChoice {
  int64_t num_threads = 1;
  std::string reason;  // what was measured, for the log
};

// Units of work a second, by number of threads up to the given one; nothing if there is nothing to choose.
using MeasureSpeeds = std::function<std::map<int64_t, double>(int64_t most_threads)>;

// Units of work a second, by number of threads: of `most_threads`, half of them, and so on to 1. Each operation is cut
// into equal parts of a tenth of a millisecond. The slowest of six turns counts, because threads that wait for each
// other are fast in some moments. Takes a tenth of a second for each number, and leaves the number of threads at 1.
// Empty if `most_threads` is 1, or if OMP_NUM_THREADS is set, which is a choice of the user.
std::map<int64_t, double> measure_speeds(int64_t most_threads);

// The fastest number, if it is at least twice as fast as the most threads.
std::optional<ThreadChoice> choose_num_threads(const std::map<int64_t, double>& speeds);

}  // namespace rnnlab
