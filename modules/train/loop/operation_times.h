// SPDX-License-Identifier: Apache-2.0
// What a recording of train/loop/profiling.h spent its time on: for each name the number of calls and their time, as
// values and as lines for the log. Left out are the memory of operations and the idle time of a GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"

namespace torch::autograd::profiler {
struct ProfilerResult;
}  // namespace torch::autograd::profiler

namespace rnnlab {

// All kernels of one name on a GPU, or all operations of one name on the host.
struct KernelUse {
  std::string name;
  int64_t count = 0;
  double seconds = 0;  // of the kernel, or of the operation without the operations that it calls

  RNNLAB_FIELDS(name, count, seconds)
};

// A call, which may be within a different call of its thread.
struct CallSpan {
  std::string name;
  uint64_t thread = 0;
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
};

// Returns for each name the number of calls, and their time without the calls within them; the longest first.
std::vector<KernelUse> self_times(std::vector<CallSpan> calls);

// The functions below return the longest first.

// Returns the kernels and copies of a GPU. If kernels of several streams overlap, the full duration of each counts.
std::vector<KernelUse> device_times(const torch::autograd::profiler::ProfilerResult& result);

// Returns LibTorch's operators.
std::vector<KernelUse> operator_times(const torch::autograd::profiler::ProfilerResult& result);

// Returns LibTorch's operators, the ranges of train/loop/profiling.h, and the calls of CUDA.
std::vector<KernelUse> host_times(const torch::autograd::profiler::ProfilerResult& result);

// Returns lines of at most 100 columns: a heading, then for each side the names that take at least 1 % of its time, at
// most ten, and one line for the others. Times are milliseconds of one of `num_steps` steps.
std::vector<std::string> profile_lines(const std::vector<KernelUse>& device, const std::vector<KernelUse>& host,
                                       int64_t num_steps);

}  // namespace rnnlab
