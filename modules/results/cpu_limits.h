// How many CPUs this process may keep busy at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace rnnlab {

// The CPUs that it may run on (its affinity), but no more than the quotas of its control groups last for, rounded down:
// a thread beyond a quota makes all threads pause. At least 1. `root` is the root of the file system, another folder in
// tests.
int64_t allowed_cpus(const std::filesystem::path& root = "/");

// The least of those quotas, in CPUs: 1.5 is three halves of a CPU's time. Nothing where there is none.
std::optional<double> cpu_quota(const std::filesystem::path& root = "/");

}  // namespace rnnlab
