// SPDX-License-Identifier: Apache-2.0
#include "layers/persistent/persistent_layer.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "layers/kernel_cache/kernel_cache.h"
#include "layers/kernel_cache/loaded_programs.h"
#include "layers/persistent/host/kernel_names.h"
#include "layers/persistent/host/kernel_plan.h"
#include "layers/persistent/host/persistent_kernels.h"
#include "layers/persistent/persistent_program.h"
#include "layers/persistent/shared/sizes.h"

namespace rnnlab::kernels {
namespace persistent {
namespace {

// Each head has groups of its own.
int64_t num_groups(const KernelPlan& plan, const PersistentSequence& sequence) {
  return (sequence.batch_size + plan.num_sequences - 1) / plan.num_sequences * sequence.num_heads;
}

struct LaunchAttributes {
  cudaLaunchAttribute of[2];
};

bool has_clusters(const KernelPlan& plan) { return plan.instructions != Instructions::kTensorCores; }

// The result points to `attributes`. A group of blocks that is larger than a cluster is launched cooperatively: its
// blocks wait for each other, so all launched groups must run at once. GPUs without clusters refuse the attribute of
// a cluster's size, so kernels that need no clusters do not have it.
cudaLaunchConfig_t launch_config(const KernelPlan& plan, int64_t groups, cudaStream_t stream,
                                 LaunchAttributes& attributes) {
  unsigned num_attributes = 0;
  if (has_clusters(plan)) {
    cudaLaunchAttribute& cluster = attributes.of[num_attributes++];
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {static_cast<unsigned>(plan.cluster_size), 1, 1};
  }
  if (plan.cluster_size < plan.num_blocks) {
    cudaLaunchAttribute& cooperative = attributes.of[num_attributes++];
    cooperative.id = cudaLaunchAttributeCooperative;
    cooperative.val.cooperative = 1;
  }
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(groups * plan.num_blocks));
  config.blockDim = dim3(static_cast<unsigned>(plan.num_threads));
  config.dynamicSmemBytes = static_cast<size_t>(plan.shared_bytes);
  config.stream = stream;
  config.attrs = attributes.of;
  config.numAttrs = num_attributes;
  return config;
}

// The choice of a kernel: of the plans for a pass, the one that finishes first on a GPU.

struct ChosenPass {
  KernelPlan plan;
  LoadedKernels loaded;
  int groups_at_once = 0;  // as many groups as the GPU has room for if it does nothing else
  int groups_apart = 0;    // as many as it has room for if each block has an SM of its own
};

// Returns how many blocks of `kernel` run at once if they are not in clusters.
int blocks_of_kernel(const KernelPlan& plan, const void* function, int shared_bytes, const Gpu& gpu) {
  int of_multiprocessor = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&of_multiprocessor, function, plan.num_threads,
                                                      static_cast<size_t>(shared_bytes)),
        "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  return of_multiprocessor * gpu.num_multiprocessors;
}

// Returns how many groups of `kernel`, launched as the plan says, run at once; 0 if such a group cannot be launched.
int groups_of_kernel(const KernelPlan& plan, cudaKernel_t kernel, int shared_bytes, const Gpu& gpu) {
  if (shared_bytes > gpu.runs.shared_bytes) return 0;
  const void* const function = kernel;
  check(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
        "cudaFuncSetAttribute");
  if (!has_clusters(plan)) return blocks_of_kernel(plan, function, shared_bytes, gpu) / plan.num_blocks;
  check(cudaFuncSetAttribute(function, cudaFuncAttributeNonPortableClusterSizeAllowed, 1), "cudaFuncSetAttribute");
  LaunchAttributes attributes;
  cudaLaunchConfig_t config = launch_config(plan, 1, nullptr, attributes);
  config.dynamicSmemBytes = static_cast<size_t>(shared_bytes);
  int clusters = 0;
  const cudaError_t error = cudaOccupancyMaxActiveClusters(&clusters, function, &config);
  if (error == cudaErrorInvalidClusterSize) {  // more blocks than this GPU has in a cluster
    (void)cudaGetLastError();
    return 0;
  }
  check(error, "cudaOccupancyMaxActiveClusters");
  return clusters * plan.cluster_size / plan.num_blocks;
}

struct Candidate {
  const KernelPlan* plan;
  int at_once;  // groups that run at once; an upper bound until the kernel is loaded
  LoadedKernels loaded = {};
  bool is_loaded = false;
};

double cost_of(const Candidate& candidate, const PersistentSequence& sequence) {
  if (candidate.at_once == 0) return std::numeric_limits<double>::infinity();
  const KernelPlan& plan = *candidate.plan;
  const int64_t rounds = (num_groups(plan, sequence) + candidate.at_once - 1) / candidate.at_once;
  return plan.cost * static_cast<double>(rounds);
}

// Returns a null pointer if no candidate fits. At first a candidate has the number of groups of the empty kernel that
// run at once; the empty kernel needs fewer registers, so this number is an upper bound. The candidate that is the
// fastest by that bound is compiled and counted by its own kernel, until the fastest candidate has been counted so.
const Candidate* fastest_of(std::vector<Candidate>& candidates, const PersistentSequence& sequence, const Gpu& gpu) {
  while (true) {
    const auto fastest = std::ranges::min_element(
        candidates, {}, [&](const Candidate& candidate) { return cost_of(candidate, sequence); });
    if (fastest == candidates.end() || fastest->at_once == 0) return nullptr;
    if (fastest->is_loaded) return &*fastest;
    fastest->loaded = load(*fastest->plan, gpu);
    fastest->is_loaded = true;
    fastest->at_once =
        groups_of_kernel(*fastest->plan, fastest->loaded.kernel, fastest->plan->counted_shared_bytes, gpu);
  }
}

ChosenPass choice_of(const Candidate& fastest, const Gpu& gpu) {
  const KernelPlan& plan = *fastest.plan;
  const int apart =
      is_grid(plan) ? fastest.at_once
                    : groups_of_kernel(plan, load_occupancy_probe(gpu), gpu.runs.shared_bytes - kOtherSharedBytes, gpu);
  return {plan, fastest.loaded, fastest.at_once, apart};
}

std::optional<ChosenPass> choose_among(const std::vector<KernelPlan>& plans, const PersistentSequence& sequence,
                                       const Gpu& gpu) {
  std::vector<Candidate> candidates;
  for (const KernelPlan& plan : plans)
    candidates.push_back({&plan, groups_of_kernel(plan, load_occupancy_probe(gpu), plan.counted_shared_bytes, gpu)});
  const Candidate* const fastest = fastest_of(candidates, sequence, gpu);
  return fastest == nullptr ? std::nullopt : std::optional(choice_of(*fastest, gpu));
}

int fewest_blocks(const std::vector<KernelPlan>& plans) {
  return std::ranges::min(plans, {}, &KernelPlan::num_blocks).num_blocks;
}

bool is_of_float32(const PersistentSequence& sequence) {
  return sequence.type == ElementType::kFloat32 && sequence.operands == Operands::kFloat32;
}

[[noreturn]] void throw_no_room(const PersistentSequence& sequence, const PassPlans& plans) {
  const std::string layer = "layer: persistent: hidden_size: " + std::to_string(sequence.hidden_size);
  if (!plans.grids.empty() && plans.clusters.empty())
    throw std::runtime_error(layer + " needs " + std::to_string(fewest_blocks(plans.grids)) +
                             " multiprocessors at once, and this GPU does not have them; use layer: cudnn or hoisted");
  if (plans.clusters.empty() && is_of_float32(sequence))
    throw std::runtime_error(
        layer + " has no kernels for this GPU in fp32; use precision: tf32 or bf16, or layer: cudnn or hoisted");
  if (plans.clusters.empty())
    throw std::runtime_error(layer + " has no kernels for this GPU; use layer: cudnn or hoisted");
  throw std::runtime_error(layer + ": no cluster of blocks fits on this GPU; use layer: cudnn or hoisted");
}

// A layer that is alone may take kernels with this number of blocks in a round. On a GPU with fewer multiprocessors
// they would take a second round, so the layer takes the kernels that it has beside others.
constexpr int kBlocksOfALayerAlone = 128;

ChosenPass choose_plain(PersistentSequence sequence, PassKind pass, const Gpu& gpu) {
  sequence.is_alone = sequence.is_alone && gpu.num_multiprocessors >= kBlocksOfALayerAlone;
  const PassPlans plans = plans_for(sequence, pass, gpu.runs);
  if (auto grid = choose_among(plans.grids, sequence, gpu)) return *std::move(grid);
  if (auto clusters = choose_among(plans.clusters, sequence, gpu)) return *std::move(clusters);
  throw_no_room(sequence, plans);
}

// Both forms of a pass have the same plan, because its packed weights belong to either.
ChosenPass choose_writing_half(PersistentSequence sequence, PassKind pass, const Gpu& gpu) {
  ChosenPass chosen = choose_plain(sequence, pass, gpu);
  chosen.plan = writing_half(chosen.plan);
  chosen.loaded = load(chosen.plan, gpu);
  chosen.groups_at_once = groups_of_kernel(chosen.plan, chosen.loaded.kernel, chosen.plan.counted_shared_bytes, gpu);
  if (chosen.groups_at_once == 0)
    throw std::runtime_error("layer: persistent: hidden_size: " + std::to_string(sequence.hidden_size) +
                             ": no group of blocks that write float16 fits on this GPU; use layer: cudnn or hoisted");
  return chosen;
}

// Returns all values on which a choice depends.
auto key_of(const PersistentSequence& sequence, PassKind pass, int device) {
  return std::tuple(kernels_as(), device, pass, sequence.program, sequence.type, sequence.operands, sequence.kernels,
                    sequence.inputs, sequence.hidden_size, sequence.num_heads, sequence.batch_size, sequence.is_alone,
                    sequence.num_layers, sequence.writes_half);
}

// Returns the kernels of a pass on the current GPU, which are chosen, compiled and loaded at the first call for a kind
// of pass, a batch size and a GPU. The result stays valid. Throws std::runtime_error if a group does not fit on the
// GPU.
const ChosenPass& chosen_pass(const PersistentSequence& sequence, PassKind pass) {
  using Key = decltype(key_of(sequence, pass, 0));
  static std::mutex one_at_a_time;
  static std::map<Key, ChosenPass> chosen;
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  const Key key = key_of(sequence, pass, device);
  const std::lock_guard lock(one_at_a_time);
  auto found = chosen.find(key);
  if (found == chosen.end()) {
    const auto choose_form = sequence.writes_half ? choose_writing_half : choose_plain;
    found = chosen.emplace(key, choose_form(sequence, pass, current_gpu())).first;
  }
  return found->second;
}

// Launches of the chosen kernels.

size_t packed_bytes(const PersistentSequence& sequence, PassKind pass) {
  return chosen_pass(sequence, pass).plan.packed_bytes * static_cast<size_t>(sequence.num_heads);
}

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
  config.gridDim = dim3(vectors / kThreads, static_cast<unsigned>(sequence.num_heads));
  config.blockDim = dim3(kThreads);
  config.stream = stream;
  auto hidden_size = static_cast<int>(sequence.hidden_size);
  std::array<void*, 3> arguments = {static_cast<void*>(&weights), &hidden_size, reinterpret_cast<void*>(&packed)};
  check(cudaLaunchKernelExC(&config, chosen.loaded.packing, arguments.data()), "packing the weights");
}

// A cooperative launch has as many groups as the GPU has room for, because the blocks of a group wait for each other.
// The remaining groups are launched after it.
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

// One launch has a cluster for each group of sequences. Groups do not depend on each other, so those that do not fit at
// once start later.
template <class Work>
void run_clusters(const ChosenPass& chosen, const PersistentSequence& sequence, Work work, cudaStream_t stream) {
  LaunchAttributes attributes;
  const cudaLaunchConfig_t config = launch_config(chosen.plan, num_groups(chosen.plan, sequence), stream, attributes);
  std::array<void*, 1> arguments = {&work};
  check(cudaLaunchKernelExC(&config, chosen.loaded.kernel, arguments.data()), "the launch");
}

template <class Work>
void run_pass(const Work& work, PassKind pass, cudaStream_t stream) {
  const ChosenPass& chosen = chosen_pass(work.sequence, pass);
  is_grid(chosen.plan) ? run_grid(chosen, work, stream) : run_clusters(chosen, work.sequence, work, stream);
}

template <class Pair>
void run_pair(const Pair& work, PassKind pass, cudaStream_t stream) {
  run_clusters(chosen_pass(work.lower.sequence, pass), work.lower.sequence, work, stream);
}

}  // namespace
}  // namespace persistent

using persistent::PassKind;

std::string persistent_kernels_as() { return persistent::kernels_as(); }

bool has_persistent_clusters() {
  return persistent::current_gpu().runs.instructions != persistent::Instructions::kTensorCores;
}

std::string fingerprint_of_persistent_kernels() {
  std::string cells;
  for (const PersistentProgram* program : listed_persistent_programs()) cells += persistent::source_of_cell(*program);
  return key_of({cells, persistent::kernel_sources(), {}, {}});
}

std::optional<std::string> persistent_kernels_refusal() { return kernels_unavailable_reason(); }

std::vector<std::string> take_persistent_notes() { return notes_on_loaded_kernels(); }

bool has_pair(const PersistentSequence& sequence) {
  return persistent::has_pair(sequence, persistent::current_gpu().runs);
}

bool multiplies_inputs(const PersistentSequence& sequence, int64_t input_size) {
  return input_size <= kMostNarrowInputs &&
         persistent::multiplies_inputs(sequence, input_size, persistent::current_gpu().runs);
}

bool writes_half_gradients(const PersistentSequence& sequence) {
  constexpr PassKind kPass = PassKind::kBackward;
  return persistent::may_write_half(sequence, kPass, persistent::chosen_pass(sequence, kPass).plan);
}

size_t forward_weight_bytes(const PersistentSequence& sequence) {
  return persistent::packed_bytes(sequence, PassKind::kForward);
}
size_t backward_weight_bytes(const PersistentSequence& sequence) {
  return persistent::packed_bytes(sequence, PassKind::kBackward);
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
void run(const PersistentPairForward& work, CUstream_st* stream) {
  persistent::run_pair(work, PassKind::kForward, stream);
}
void run(const PersistentPairBackward& work, CUstream_st* stream) {
  persistent::run_pair(work, PassKind::kBackward, stream);
}

}  // namespace rnnlab::kernels
