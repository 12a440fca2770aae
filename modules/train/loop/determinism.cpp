// SPDX-License-Identifier: Apache-2.0
#include "train/loop/determinism.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstdlib>
#include <latch>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "base/system/machine.h"
#include "train/loop/cuda_functions.h"

namespace rnnlab {

void set_environment_for_determinism() { setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0); }

void set_determinism(Determinism determinism) {
  const bool on = determinism == Determinism::kOn;
  auto& context = at::globalContext();
  context.setDeterministicAlgorithms(on, /*warn_only=*/false);
  context.setDeterministicCuDNN(on);
  context.setDeterministicMkldnn(on);
  context.setBenchmarkCuDNN(!on);  // cuDNN times the algorithms of convolutions once a shape
  // Filling unused memory only costs time, because no operation here reads memory that it has not written.
  context.setDeterministicFillUninitializedMemory(false);
}

namespace {

// LibTorch has two thread pools, its own and OpenMP's, and the caller works in both. Two more threads write checkpoints
// and prepare batches.
int threads_of_run(int num_threads) { return 2 * (num_threads - 1) + 2; }

// Makes `count` threads at once and then ends them.
void try_threads(int count) {
  std::latch may_end(1);
  std::vector<std::jthread> threads;
  try {
    for (int i = 0; i < count; ++i) threads.emplace_back([&] { may_end.wait(); });
  } catch (...) {
    may_end.count_down();  // the destructors of the started threads wait for them
    throw;
  }
  may_end.count_down();
}

// If the system refuses threads, LibTorch's pool waits for the missing threads for ever and OpenMP's pool ends the
// process. The threads of an earlier call are already in the pools, or have ended.
void require_threads(int count) {
  static int num_found = 0;
  try {
    try_threads(count - num_found);
  } catch (const std::system_error&) {
    throw UserError(ExitCode::kDevice, kNoMoreThreads);
  }
  num_found = std::max(num_found, count);
}

}  // namespace

int64_t default_num_threads() {
  static const int64_t libtorchs = at::get_num_threads();
  return std::getenv("OMP_NUM_THREADS") != nullptr ? libtorchs : std::min(libtorchs, allowed_cpus());
}

void set_num_threads(std::optional<int64_t> num_threads) {
  const auto wanted = static_cast<int>(num_threads.value_or(default_num_threads()));
  require_threads(threads_of_run(wanted));
  at::set_num_threads(wanted);
}

namespace {

// The multiplications spread neighbouring epochs and shards over all bits.
void seed_by(uint64_t seed, int64_t epoch, int64_t shard) {
  constexpr uint64_t kStepOfShards = 0xd1342543de82ef95;  // an odd number that differs from SplitMix64::kStep
  at::manual_seed(seed ^ (static_cast<uint64_t>(epoch) * SplitMix64::kStep) ^
                  (static_cast<uint64_t>(shard) * kStepOfShards));
}

}  // namespace

void seed_dropout(uint64_t seed, int64_t epoch) { seed_by(seed, epoch, 0); }

void seed_shard(c10::Device device, uint64_t seed, const StepShard& shard) {
  if (device.is_cpu()) return seed_by(seed, shard.first_step + shard.slot, shard.shard);
  move_generator(device, seed, static_cast<uint64_t>(shard.first_step * shard.num_shards),
                 static_cast<uint64_t>(shard.slot * shard.num_shards + shard.shard));
}

namespace {

std::vector<std::pair<std::string, at::Generator>> generators(c10::Device device) {
  std::vector<std::pair<std::string, at::Generator>> all{{"cpu", at::globalContext().defaultGenerator(at::kCPU)}};
  if (device.is_cuda()) all.emplace_back("cuda", at::globalContext().defaultGenerator(device));
  return all;
}

}  // namespace

GeneratorStates generator_states(c10::Device device) {
  GeneratorStates states;
  for (auto& [name, generator] : generators(device)) {
    const std::scoped_lock lock(generator.mutex());
    states[name] = generator.get_state();
  }
  return states;
}

void set_generator_states(const GeneratorStates& states, c10::Device device) {
  for (auto& [name, generator] : generators(device)) {
    const auto state = states.find(name);
    if (state == states.end()) throw_error(ExitCode::kCheckpoint, "the state of the {} generator is missing", name);
    try {
      const std::scoped_lock lock(generator.mutex());
      generator.set_state(state->second);
    } catch (const c10::Error& error) {
      throw_error(ExitCode::kCheckpoint, "the state of the {} generator is not valid: {}", name,
                  error.what_without_backtrace());
    }
  }
}

}  // namespace rnnlab
