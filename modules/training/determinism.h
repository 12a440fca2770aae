// Bit-identical weights from run to run on one machine: deterministic kernels only, no autotuning, a fixed number of
// threads. Off, cuDNN's convolutions are chosen by timing them. It costs speed where a library's fastest kernel adds in
// no fixed order; layers' own timings should state which mode they ran in.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace rnnlab {

enum class Determinism { kOff, kOn };

// cuBLAS reads its workspace setting once, before the first CUDA call: this belongs on main's first line.
// A value that the user has set stays.
void set_environment_for_determinism();

// Applies to the whole process, both ways round. An operation that has no deterministic form then throws.
void set_determinism(Determinism determinism);

// What to do where the system makes no more threads.
inline constexpr const char* kNoMoreThreads =
    "no more threads can be made here: raise the limit (ulimit -u or -v, or the limit on processes of a container), or "
    "lower num_threads";

// One for each CPU that the process may use (system/machine.h), as LibTorch counts them, or what OMP_NUM_THREADS
// says. The first call must come before any of set_num_threads, which makes it.
int64_t default_num_threads();

// Threads of one operation on the CPU; the default where nothing is given. Sums depend on it.
// UserError kDevice if the system does not make as many threads as a run needs, less those of an earlier call. Not for
// several threads at once.
void set_num_threads(std::optional<int64_t> num_threads);

// Seeds LibTorch's generators, on the CPU and on each GPU, by a pure function of the run's seed and the epoch: what an
// epoch draws from them does not depend on how the run came to it.
void seed_dropout(uint64_t seed, int64_t epoch);

// One of the shards that each batch of a step is cut into.
struct StepShard {
  int64_t first_step = 0;  // of those that are queued together
  int64_t place = 0;       // of this one among them, from 0
  int64_t num_shards = 1;
  int64_t shard = 0;
};

// The same where batches are cut into shards: each shard of each step draws numbers of its own, on `device`, whatever
// process computes it. Can be captured in a CUDA graph; a replay draws the numbers of the steps that follow the
// `first_step` of the last call before it.
void seed_shard(c10::Device device, uint64_t seed, const StepShard& shard);

// The states of LibTorch's generators on the CPU and on `device`, by "cpu" and, for a GPU, "cuda": (N) uint8, on the
// CPU. LibTorch alone knows what the bytes mean.
using GeneratorStates = std::map<std::string, at::Tensor>;
GeneratorStates generator_states(c10::Device device);

// From here on they draw what they drew from there on. A state that LibTorch does not accept is UserError kCheckpoint.
void set_generator_states(const GeneratorStates& states, c10::Device device);

}  // namespace rnnlab
