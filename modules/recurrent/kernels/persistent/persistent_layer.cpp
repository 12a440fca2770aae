#include "recurrent/kernels/persistent/persistent_layer.h"

#include <algorithm>
#include <array>

#include "recurrent/kernels/persistent/chosen_pass.h"
#include "recurrent/kernels/persistent/launch_check.h"

namespace rnnlab::kernels {
namespace persistent {
namespace {

int64_t num_groups(const KernelPlan& plan, const PersistentSequence& sequence) {
  return (sequence.batch_size + plan.num_sequences - 1) / plan.num_sequences;
}

bool is_grid(const KernelPlan& plan) { return plan.instructions == Instructions::kWgmma; }

size_t exchange_bytes(const PersistentSequence& sequence, PassKind pass) {
  const ChosenPass& chosen = chosen_pass(sequence, pass);
  const int64_t groups = std::min<int64_t>(num_groups(chosen.plan, sequence), chosen.groups_at_once);
  return static_cast<size_t>(groups) * chosen.plan.exchange_bytes;
}

PersistentGroups groups_of(const PersistentSequence& sequence, PassKind pass) {
  const ChosenPass& chosen = chosen_pass(sequence, pass);
  return {.count = num_groups(chosen.plan, sequence),
          .num_blocks = chosen.plan.num_blocks,
          .at_once = chosen.groups_apart,
          .are_clusters = !is_grid(chosen.plan)};
}

void pack(const PersistentSequence& sequence, PassKind pass, RecurrentWeights weights, void* packed,
          cudaStream_t stream) {
  constexpr unsigned kThreads = 128;
  const ChosenPass& chosen = chosen_pass(sequence, pass);
  const auto vectors = static_cast<unsigned>(chosen.plan.packed_bytes / sizeof(uint4));
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(vectors / kThreads);
  config.blockDim = dim3(kThreads);
  config.stream = stream;
  auto hidden_size = static_cast<int>(sequence.hidden_size);
  std::array<void*, 3> arguments = {&weights, &hidden_size, &packed};
  check(cudaLaunchKernelExC(&config, chosen.loaded.packing, arguments.data()), "packing the weights");
}

// As many groups at once as the GPU has room for, by a cooperative launch, since the blocks of a group wait for each
// other; the others after them.
template <class Work>
void run_grid(const ChosenPass& chosen, Work work, cudaStream_t stream) {
  const KernelPlan& plan = chosen.plan;
  const auto groups = static_cast<int>(num_groups(plan, work.sequence));
  for (int first = 0; first < groups; first += chosen.groups_at_once) {
    const int count = std::min(chosen.groups_at_once, groups - first);
    check(cudaMemsetAsync(work.exchange, plan.empty_byte, static_cast<size_t>(count) * plan.exchange_bytes, stream),
          "cudaMemsetAsync");
    LaunchAttributes attributes;
    const cudaLaunchConfig_t config = launch_config(plan, count, stream, attributes);
    std::array<void*, 2> arguments = {&work, &first};
    check(cudaLaunchKernelExC(&config, chosen.loaded.kernel, arguments.data()), "the launch");
  }
}

// As many clusters as there are groups of sequences. Groups have nothing to do with each other, so that those that do
// not fit at once simply come later.
template <class Work>
void run_clusters(const ChosenPass& chosen, Work work, cudaStream_t stream) {
  LaunchAttributes attributes;
  const cudaLaunchConfig_t config =
      launch_config(chosen.plan, num_groups(chosen.plan, work.sequence), stream, attributes);
  std::array<void*, 1> arguments = {&work};
  check(cudaLaunchKernelExC(&config, chosen.loaded.kernel, arguments.data()), "the launch");
}

template <class Work>
void run_pass(const Work& work, PassKind pass, cudaStream_t stream) {
  const ChosenPass& chosen = chosen_pass(work.sequence, pass);
  is_grid(chosen.plan) ? run_grid(chosen, work, stream) : run_clusters(chosen, work, stream);
}

}  // namespace
}  // namespace persistent

using persistent::PassKind;

size_t forward_weight_bytes(const PersistentSequence& sequence) {
  return persistent::chosen_pass(sequence, PassKind::kForward).plan.packed_bytes;
}
size_t backward_weight_bytes(const PersistentSequence& sequence) {
  return persistent::chosen_pass(sequence, PassKind::kBackward).plan.packed_bytes;
}

size_t forward_exchange_bytes(const PersistentSequence& sequence) {
  return persistent::exchange_bytes(sequence, PassKind::kForward);
}
size_t backward_exchange_bytes(const PersistentSequence& sequence) {
  return persistent::exchange_bytes(sequence, PassKind::kBackward);
}

PersistentGroups forward_groups(const PersistentSequence& sequence) {
  return persistent::groups_of(sequence, PassKind::kForward);
}
PersistentGroups backward_groups(const PersistentSequence& sequence) {
  return persistent::groups_of(sequence, PassKind::kBackward);
}

void pack_forward_weights(const PersistentSequence& sequence, const RecurrentWeights& weights, void* packed,
                          cudaStream_t stream) {
  persistent::pack(sequence, PassKind::kForward, weights, packed, stream);
}
void pack_backward_weights(const PersistentSequence& sequence, const RecurrentWeights& weights, void* packed,
                           cudaStream_t stream) {
  persistent::pack(sequence, PassKind::kBackward, weights, packed, stream);
}

void run(const PersistentForward& work, cudaStream_t stream) { persistent::run_pass(work, PassKind::kForward, stream); }
void run(const PersistentBackward& work, cudaStream_t stream) {
  persistent::run_pass(work, PassKind::kBackward, stream);
}

}  // namespace rnnlab::kernels
