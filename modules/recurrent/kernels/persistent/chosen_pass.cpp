#include "recurrent/kernels/persistent/chosen_pass.h"

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <stdexcept>
#include <tuple>

#include "recurrent/kernels/persistent/launch_check.h"

namespace rnnlab::kernels::persistent {
namespace {

// How many groups run at once, of what is asked with the plan's shape; 0 where such a group cannot be launched.
int groups_of_kernel(const KernelPlan& plan, cudaKernel_t kernel, int shared_bytes, const Gpu& gpu) {
  if (shared_bytes > gpu.runs.shared_bytes) return 0;
  const void* const function = kernel;
  check(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
        "cudaFuncSetAttribute");
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
  int at_once;  // at most, until it is loaded
  LoadedKernels loaded = {};
  bool is_loaded = false;
};

double cost_of(const Candidate& candidate, int64_t batch_size) {
  if (candidate.at_once == 0) return std::numeric_limits<double>::infinity();
  const KernelPlan& plan = *candidate.plan;
  const int64_t groups = (batch_size + plan.num_sequences - 1) / plan.num_sequences;
  const int64_t rounds = (groups + candidate.at_once - 1) / candidate.at_once;
  return plan.cost * static_cast<double>(rounds);
}

// A null pointer if none fits. A kernel of no work, which needs fewer registers, finds room for at least as many
// groups: only candidates that are the fastest by that are compiled, until one of them is so by its own.
const Candidate* fastest_of(std::vector<Candidate>& candidates, int64_t batch_size, const Gpu& gpu) {
  while (true) {
    const auto fastest = std::ranges::min_element(
        candidates, {}, [&](const Candidate& candidate) { return cost_of(candidate, batch_size); });
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
      plan.instructions == Instructions::kWgmma
          ? fastest.at_once
          : groups_of_kernel(plan, load_occupancy_probe(gpu), gpu.runs.shared_bytes - kSharedOfKernels, gpu);
  return {plan, fastest.loaded, fastest.at_once, apart};
}

std::optional<ChosenPass> choose_among(const std::vector<KernelPlan>& plans, int64_t batch_size, const Gpu& gpu) {
  std::vector<Candidate> candidates;
  for (const KernelPlan& plan : plans)
    candidates.push_back({&plan, groups_of_kernel(plan, load_occupancy_probe(gpu), plan.counted_shared_bytes, gpu)});
  const Candidate* const fastest = fastest_of(candidates, batch_size, gpu);
  return fastest == nullptr ? std::nullopt : std::optional(choice_of(*fastest, gpu));
}

[[noreturn]] void throw_no_room(const PersistentSequence& sequence, const PassPlans& plans) {
  const std::string layer = "layer: persistent: hidden_size: " + std::to_string(sequence.hidden_size);
  if (!plans.grids.empty() && plans.clusters.empty())
    throw std::runtime_error(layer + " takes " + std::to_string(plans.grids.front().num_blocks) +
                             " multiprocessors at once, and this GPU does not have them; use layer: cudnn");
  if (plans.clusters.empty())
    throw std::runtime_error(layer + " has kernels for GPUs of compute capability 9.0 alone; use layer: cudnn");
  throw std::runtime_error(layer + ": no cluster of blocks fits on this GPU; use layer: cudnn");
}

ChosenPass choose(const PersistentSequence& sequence, PassKind pass, const Gpu& gpu) {
  const PassPlans plans = plans_for(sequence, pass, gpu.runs);
  if (auto grid = choose_among(plans.grids, sequence.batch_size, gpu)) return *std::move(grid);
  if (auto clusters = choose_among(plans.clusters, sequence.batch_size, gpu)) return *std::move(clusters);
  throw_no_room(sequence, plans);
}

// All that a choice depends on.
auto key_of(const PersistentSequence& sequence, PassKind pass, int device) {
  return std::tuple(device, pass, sequence.cell, sequence.type, sequence.factors, sequence.kernels,
                    sequence.hidden_size, sequence.batch_size);
}

}  // namespace

cudaLaunchConfig_t launch_config(const KernelPlan& plan, int64_t groups, cudaStream_t stream,
                                 LaunchAttributes& attributes) {
  const bool is_cooperative = plan.cluster_size < plan.num_blocks;
  attributes.of[0].id = cudaLaunchAttributeClusterDimension;
  attributes.of[0].val.clusterDim = {static_cast<unsigned>(plan.cluster_size), 1, 1};
  attributes.of[1].id = cudaLaunchAttributeCooperative;
  attributes.of[1].val.cooperative = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(groups * plan.num_blocks));
  config.blockDim = dim3(static_cast<unsigned>(plan.num_threads));
  config.dynamicSmemBytes = static_cast<size_t>(plan.shared_bytes);
  config.stream = stream;
  config.attrs = attributes.of;
  config.numAttrs = is_cooperative ? 2 : 1;
  return config;
}

const ChosenPass& chosen_pass(const PersistentSequence& sequence, PassKind pass) {
  using Key = decltype(key_of(sequence, pass, 0));
  static std::mutex one_at_a_time;
  static std::map<Key, ChosenPass> chosen;
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  const Key key = key_of(sequence, pass, device);
  const std::lock_guard lock(one_at_a_time);
  auto found = chosen.find(key);
  if (found == chosen.end()) found = chosen.emplace(key, choose(sequence, pass, current_gpu())).first;
  return found->second;
}

}  // namespace rnnlab::kernels::persistent
