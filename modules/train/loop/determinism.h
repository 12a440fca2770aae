// SPDX-License-Identifier: Apache-2.0
// Makes the weights of repeated runs bit-identical on one machine: only deterministic kernels, no autotuning, a fixed
// number of threads. If determinism is off, cuDNN's convolutions are chosen by timing them. Determinism costs speed if
// a library's fastest kernel has no fixed order of addition; a report of a layer's times should name the mode.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace rnnlab {

enum class Determinism { kOff, kOn };

// cuBLAS reads its workspace setting once, before the first CUDA call, so main must call this function first. A value
// that the user has set is kept.
void set_environment_for_determinism();

// Switches determinism of the whole process on or off. If determinism is on, an operation without a deterministic form
// throws.
void set_determinism(Determinism determinism);

// This is the advice for a system that cannot make more threads.
inline constexpr const char* kNoMoreThreads =
    "no more threads can be made here: raise the limit (ulimit -u or -v, or the limit on processes of a container), or "
    "lower num_threads";

// Returns one thread for each CPU that the process may use (base/system/machine.h), as LibTorch counts CPUs, or the
// value of OMP_NUM_THREADS. The first call must be made before set_num_threads, which calls this function.
int64_t default_num_threads();

// Sets the number of threads of one operation on the CPU; the default number if `num_threads` is empty. Sums depend on
// this number. Throws UserError kDevice if the system cannot make the threads of a run that no earlier call has made.
// Several threads must not call this function at once.
void set_num_threads(std::optional<int64_t> num_threads);

// Seeds LibTorch's generators, on the CPU and on each GPU, with a pure function of the run's seed and the epoch: the
// random numbers of an epoch do not depend on the epochs before it or on a resume.
void seed_dropout(uint64_t seed, int64_t epoch);

// Identifies one of the shards into which each batch of a step is cut.
struct StepShard {
  int64_t first_step = 0;  // the first of the steps that are queued together
  int64_t slot = 0;        // index of this step among these steps, from 0
  int64_t num_shards = 1;
  int64_t shard = 0;
};

// Seeds the generators for batches that are cut into shards: each shard of each step draws its own numbers on `device`,
// whichever process computes the shard. The call can be captured in a CUDA graph; a replay draws the numbers of the
// steps from `first_step` on, where `first_step` is that of the last call before the replay.
void seed_shard(c10::Device device, uint64_t seed, const StepShard& shard);

// Holds the states of LibTorch's generators on the CPU ("cpu") and, if `device` is a GPU, on that GPU ("cuda"): (N)
// uint8 on the CPU. The format of the bytes is private to LibTorch.
using GeneratorStates = std::map<std::string, at::Tensor>;
GeneratorStates generator_states(c10::Device device);

// The generators then draw the same numbers as after generator_states() returned `states`. Throws UserError kCheckpoint
// if LibTorch does not accept a state.
void set_generator_states(const GeneratorStates& states, c10::Device device);

}  // namespace rnnlab
