#include "recurrent/kernels/persistent/kernel_plan.h"

#include <array>
#include <set>
#include <stdexcept>

#include "recurrent/kernels/persistent/cluster_plans.h"
#include "recurrent/kernels/persistent/grid_plans.h"

namespace rnnlab::kernels::persistent {
namespace {

template <class Cell, class Numbers>
PassPlans plans_of(const PersistentSequence& sequence, PassKind pass, const GpuClass& gpu) {
  PassPlans plans;
  if constexpr (Numbers::kParts == 1)
    if (gpu.instructions == Instructions::kWgmma && is_for_grids<Cell>(sequence))
      plans.grids = GridPlans<Cell, Numbers>(sequence, pass).take();
  if (gpu.shared_bytes >= kMuchShared)
    plans.clusters = ClusterPlans<Cell, Numbers, kMuchShared>(sequence, pass).take();
  else if (gpu.shared_bytes >= kLittleShared)
    plans.clusters = ClusterPlans<Cell, Numbers, kLittleShared>(sequence, pass).take();
  return plans;
}

template <class Cell>
PassPlans plans_of_cell(const PersistentSequence& sequence, PassKind pass, const GpuClass& gpu) {
  switch (sequence.type) {
    case ElementType::kFloat32:
      if (sequence.factors == Factors::kFloat32) return plans_of<Cell, Float32>(sequence, pass, gpu);
      return plans_of<Cell, Tf32>(sequence, pass, gpu);
    case ElementType::kFloat16:
      return plans_of<Cell, Float16>(sequence, pass, gpu);
    case ElementType::kBfloat16:
      return plans_of<Cell, Bfloat16>(sequence, pass, gpu);
    case ElementType::kFloat64:
      break;
  }
  throw std::invalid_argument("no persistent kernel for float64");
}

// One sequence of each size and batch that plans differ by.
template <class Use>
void for_each_sequence(const Use& use) {
  constexpr std::array kTypes = {ElementType::kFloat32, ElementType::kFloat16, ElementType::kBfloat16};
  constexpr std::array<int64_t, 4> kBatches = {16, 128, 256, 512};
  for (const auto cell : {PersistentCell::kLstm, PersistentCell::kGru, PersistentCell::kRnn})
    for (const ElementType type : kTypes)
      for (const auto factors : {Factors::kTf32, Factors::kFloat32})
        for (int64_t hidden_size = 64; hidden_size <= kLargestOfGrids; hidden_size += 8)
          for (const int64_t batch_size : kBatches)
            use(PersistentSequence{
                .batch_size = batch_size, .hidden_size = hidden_size, .type = type, .cell = cell, .factors = factors});
}

}  // namespace

std::vector<KernelPlan> all_plans(const GpuClass& gpu) {
  std::vector<KernelPlan> all;
  std::set<std::string> seen;
  for_each_sequence([&](const PersistentSequence& sequence) {
    for (const PassKind pass : {PassKind::kForward, PassKind::kBackward}) {
      const PassPlans plans = plans_for(sequence, pass, gpu);
      for (const auto& list : {plans.grids, plans.clusters})
        for (const KernelPlan& plan : list)
          if (seen.insert(plan.kernel).second) all.push_back(plan);
    }
  });
  return all;
}

PassPlans plans_for(const PersistentSequence& sequence, PassKind pass, const GpuClass& gpu) {
  switch (sequence.cell) {
    case PersistentCell::kLstm:
      return plans_of_cell<LstmSizes>(sequence, pass, gpu);
    case PersistentCell::kGru:
      return plans_of_cell<GruSizes>(sequence, pass, gpu);
    case PersistentCell::kRnn:
      return plans_of_cell<RnnSizes>(sequence, pass, gpu);
  }
  throw std::invalid_argument("no persistent kernel for this cell");
}

}  // namespace rnnlab::kernels::persistent
