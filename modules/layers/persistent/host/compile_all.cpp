// SPDX-License-Identifier: Apache-2.0
// rnnlab_compile_kernels FOLDER CAPABILITY...: compiles every persistent kernel for GPUs of these compute capabilities
// (9.0) into a folder, which the program searches before it compiles a kernel (layers/kernel_cache/kernel_cache.h).
// Existing files are not changed.
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "base/error.h"
#include "layers/kernel_cache/kernel_cache.h"
#include "layers/kernel_cache/nvrtc.h"
#include "layers/persistent/host/persistent_kernels.h"
#include "layers/persistent/persistent_program.h"

namespace rnnlab::kernels::persistent {
namespace {

using Clock = std::chrono::steady_clock;

Gpu gpu_of(std::string_view text) {
  const auto capability = capability_of(text);
  if (!capability) throw_error(ExitCode::kUsage, "{}: expected a compute capability, such as 9.0", text);
  const auto [major, minor] = *capability;
  if (major < 8) throw_error(ExitCode::kUsage, "{}: persistent kernels need compute capability 8.0 or later", text);
  return {.major = major, .minor = minor, .runs = class_of(major, minor)};
}

std::vector<KernelProgram> programs_for(const Gpu& gpu) {
  std::vector<KernelProgram> programs = {occupancy_probe(architecture_for(gpu, Instructions::kTensorCores))};
  for (const PersistentProgram* program : listed_persistent_programs())
    for (const KernelPlan& plan : all_plans(gpu.runs, *program))
      programs.push_back(program_of(plan, architecture_for(gpu, plan.instructions)));
  return programs;
}

// Several threads compile the programs.
class Work {
 public:
  Work(const KernelCache& folder, const std::vector<KernelProgram>& programs) : folder_(folder), programs_(programs) {}

  void run() {
    {
      std::vector<std::jthread> threads;
      for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i)
        threads.emplace_back([this] { take_programs(); });
    }
    report_progress();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void take_programs() try {
    for (size_t i = next_++; i < programs_.size(); i = next_++) {
      compile_one(programs_[i]);
      const std::lock_guard lock(mutex_);
      ++num_done_;
      if (Clock::now() - reported_ > std::chrono::seconds(5)) report_progress();
    }
  } catch (...) {
    next_ = programs_.size();
    const std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
  }

  // Files are written one at a time, because their temporary names are the same for all threads of a process.
  void compile_one(const KernelProgram& program) {
    const std::string key = key_of(program);
    if (folder_.find(key)) return;
    const CompiledKernels kernels = compile(program);
    const std::lock_guard lock(mutex_);
    folder_.add(key, kernels);
  }

  void report_progress() {
    fmt::print("{}: {} of {} programs\n", programs_.front().architecture, num_done_, programs_.size());
    std::fflush(stdout);
    reported_ = Clock::now();
  }

  const KernelCache& folder_;
  const std::vector<KernelProgram>& programs_;
  std::atomic<size_t> next_ = 0;
  std::mutex mutex_;
  size_t num_done_ = 0;
  Clock::time_point reported_ = Clock::now();
  std::exception_ptr failure_;
};

void compile_into(const KernelCache& folder, const std::vector<KernelProgram>& programs) {
  Work(folder, programs).run();
}

void compile_all(const std::vector<std::string_view>& arguments) {
  if (arguments.size() < 2) throw_error(ExitCode::kUsage, "usage: rnnlab_compile_kernels FOLDER CAPABILITY...");
  constexpr int64_t kNoBound = int64_t{1} << 40;
  const KernelCache folder(arguments[0], kNoBound);
  for (size_t i = 1; i < arguments.size(); ++i) compile_into(folder, programs_for(gpu_of(arguments[i])));
}

}  // namespace
}  // namespace rnnlab::kernels::persistent

int main(int argc, char** argv) try {
  rnnlab::kernels::persistent::compile_all({argv + 1, argv + argc});
  return 0;
} catch (const rnnlab::UserError& error) {
  fmt::print(stderr, "{}\n", error.what());
  return static_cast<int>(error.exit_code());
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return static_cast<int>(rnnlab::ExitCode::kInternal);
}
