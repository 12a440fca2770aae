// SPDX-License-Identifier: Apache-2.0
// Tests which persistent kernels exist for a pass, and that they compile for every kind of GPU that runs them. No GPU
// is needed, because NVRTC does not need one. scripts/compile-kernels compiles all of them.
#include "layers/persistent/host/kernel_plan.h"
#include "golden.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <set>

#include "layers/cells/cell.h"
#include "layers/kernel_cache/kernel_cache.h"
#include "layers/kernel_cache/nvrtc.h"
#include "layers/persistent/host/persistent_kernels.h"
#include "layers/persistent/persistent_program.h"
#include "layers/persistent/shared/sizes.h"

namespace rnnlab::kernels::persistent {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const PersistentProgram* program_with(Cell cell) {
  return persistent_program_of(step_code_of(rnnlab::program_of(cell)), /*has_starts=*/false);
}

Gpu gpu_of(int major, int minor = 0) { return {.major = major, .minor = minor, .runs = class_of(major, minor)}; }

// Returns the plans of all cells of the list.
std::vector<KernelPlan> listed_plans(const GpuClass& gpu) {
  std::vector<KernelPlan> all;
  for (const PersistentProgram* program : listed_persistent_programs())
    for (KernelPlan& plan : all_plans(gpu, *program)) all.push_back(std::move(plan));
  return all;
}

PassPlans forward_plans(int64_t hidden_size, int64_t batch_size, int major = 9) {
  return plans_for({.batch_size = batch_size,
                    .hidden_size = hidden_size,
                    .type = ElementType::kBfloat16,
                    .program = program_with(Cell::kLstm)},
                   PassKind::kForward, gpu_of(major).runs);
}

TEST(KernelPlans, NamesInstancesAsTheCompilerFindsThem) {
  const PassPlans plans = forward_plans(128, 128);
  EXPECT_THAT(plans.grids, IsEmpty());
  ASSERT_THAT(plans.clusters, SizeIs(3));
  expect_golden(plans.clusters[0].kernel);
  expect_golden(plans.clusters[0].packing);
  expect_golden(plans.clusters[1].kernel);
  expect_golden(plans.clusters[1].packing);
}

TEST(KernelPlans, RowsOfATableAreReadByAKernelOfTheirOwnForward) {
  PersistentSequence sequence = {
      .batch_size = 128, .hidden_size = 512, .program = program_with(Cell::kLstm), .inputs = StepInputs::kRowsOfTable};
  const auto kernel_of = [&](PassKind pass) { return plans_for(sequence, pass, gpu_of(9).runs).grids.front().kernel; };
  expect_golden(kernel_of(PassKind::kForward));
  expect_golden(kernel_of(PassKind::kBackward));
}

bool multiplies(const PersistentSequence& sequence, int64_t input_size, int major = 9) {
  return multiplies_inputs(sequence, input_size, gpu_of(major).runs);
}

TEST(KernelPlans, FewInputsOfALayerOf128UnitsAreMultipliedByItsKernel) {
  const PersistentSequence lstm = {.batch_size = 128, .hidden_size = 128, .program = program_with(Cell::kLstm)};
  const auto changed = [&](const auto& change) {
    PersistentSequence sequence = lstm;
    change(sequence);
    return sequence;
  };
  for (const int64_t input_size : {1, 3, 28, 32}) EXPECT_TRUE(multiplies(lstm, input_size)) << input_size;
  EXPECT_FALSE(multiplies(lstm, 33));
  EXPECT_TRUE(multiplies(lstm, 28, 10));
  EXPECT_FALSE(multiplies(lstm, 28, 8)) << "no clusters";
  EXPECT_TRUE(multiplies(changed([](auto& s) { s.hidden_size = 104; }), 28));
  for (const int64_t size : {96, 136})
    EXPECT_FALSE(multiplies(changed([&](auto& s) { s.hidden_size = size; }), 28)) << size;
  EXPECT_FALSE(multiplies(changed([](auto& s) { s.batch_size = 129; }), 28)) << "blocks are faster";
  EXPECT_FALSE(multiplies(changed([](auto& s) { s.operands = Operands::kFloat32; }), 28));
  EXPECT_FALSE(multiplies(changed([](auto& s) { s.program = program_with(Cell::kGru); }), 28)) << "blocks are faster";
  EXPECT_FALSE(multiplies(changed([](auto& s) { s.program = program_with(Cell::kRnnTanh); }), 28))
      << "blocks are faster";
  EXPECT_FALSE(multiplies(changed([](auto& s) { s.kernels = PersistentKernels::kClusters; }), 28));
  const auto gru = changed([](auto& s) { s.program = program_with(Cell::kGru), s.type = ElementType::kBfloat16; });
  EXPECT_TRUE(multiplies(gru, 28));
}

TEST(KernelPlans, TwoSmallLayersMayBeAPair) {
  const auto is_pair = [](const auto& change, int major = 9) {
    PersistentSequence sequence = {.batch_size = 128, .hidden_size = 128, .program = program_with(Cell::kLstm)};
    change(sequence);
    return has_pair(sequence, gpu_of(major).runs);
  };
  EXPECT_TRUE(is_pair([](auto&) {}));
  EXPECT_TRUE(is_pair([](auto&) {}, 10));
  EXPECT_FALSE(is_pair([](auto&) {}, 8)) << "no clusters";
  EXPECT_TRUE(is_pair([](auto& s) { s.hidden_size = 72, s.program = program_with(Cell::kGru); }));
  EXPECT_FALSE(is_pair([](auto& s) { s.hidden_size = 64; })) << "blocks are faster";
  EXPECT_FALSE(is_pair([](auto& s) { s.hidden_size = 136; }));
  EXPECT_FALSE(is_pair([](auto& s) { s.batch_size = 129; })) << "blocks are faster";
  EXPECT_FALSE(is_pair([](auto& s) { s.operands = Operands::kFloat32; })) << "no room in registers";
  EXPECT_FALSE(is_pair([](auto& s) { s.program = program_with(Cell::kRnnTanh); })) << "blocks are faster";
  EXPECT_FALSE(is_pair([](auto& s) { s.kernels = PersistentKernels::kClustersAndTeams; }));
}

TEST(KernelPlans, APairHasTheWarpsOfTwoLayers) {
  const PersistentSequence pair = {.batch_size = 128,
                                   .hidden_size = 128,
                                   .program = program_with(Cell::kLstm),
                                   .inputs = StepInputs::kNarrow,
                                   .num_layers = 2};
  const auto forward = plans_for(pair, PassKind::kForward, gpu_of(9).runs).clusters;
  ASSERT_THAT(forward, SizeIs(2));
  expect_golden(forward[0].kernel);
  EXPECT_EQ(forward[0].num_threads, 256);
  const auto backward = plans_for(pair, PassKind::kBackward, gpu_of(9).runs).clusters;
  expect_golden(backward[0].kernel);
  EXPECT_EQ(backward[0].num_threads, 256);
}

// States whether a step by one block takes less time than one by a cluster.
bool is_for_one_block(const PersistentSequence& sequence, PassKind pass) {
  const std::vector<KernelPlan> plans = plans_for(sequence, pass, gpu_of(9).runs).clusters;
  const auto is_faster = [](const KernelPlan& a, const KernelPlan& b) { return a.cost < b.cost; };
  return std::ranges::min_element(plans, is_faster)->num_blocks == 1;
}

TEST(KernelPlans, OneBlockHas128UnitsOfPlainCellsAndGrusOfTf32) {
  PersistentSequence sequence = {.batch_size = 128, .hidden_size = 128};
  const auto is_for_block = [&](Cell cell, Operands operands, int64_t batch_size) {
    sequence.program = program_with(cell);
    sequence.operands = operands;
    sequence.batch_size = batch_size;
    return is_for_one_block(sequence, PassKind::kForward);
  };
  EXPECT_TRUE(is_for_block(Cell::kRnnTanh, Operands::kFloat32, 16));
  EXPECT_TRUE(is_for_block(Cell::kRnnTanh, Operands::kTf32, 128));
  EXPECT_TRUE(is_for_block(Cell::kGru, Operands::kTf32, 128));
  EXPECT_TRUE(is_for_block(Cell::kLstm, Operands::kTf32, 256));
  EXPECT_FALSE(is_for_block(Cell::kLstm, Operands::kTf32, 128));
  EXPECT_FALSE(is_for_block(Cell::kGru, Operands::kFloat32, 128));
  EXPECT_FALSE(is_for_block(Cell::kLstm, Operands::kFloat32, 256));
}

TEST(KernelPlans, SmallBlocksThatNeedAnSmOfTheirOwnAskForAllOfItsSharedMemory) {
  const auto last_plan = [](Cell cell) {
    return plans_for({.batch_size = 16, .hidden_size = 256, .program = program_with(cell)}, PassKind::kForward,
                     gpu_of(9).runs)
        .clusters.back();
  };
  EXPECT_EQ(last_plan(Cell::kRnnTanh).shared_bytes, kMuchShared - kOtherSharedBytes);
  EXPECT_LT(last_plan(Cell::kLstm).shared_bytes, kMuchShared - kOtherSharedBytes);
  EXPECT_EQ(last_plan(Cell::kLstm).counted_shared_bytes, kMuchShared - kOtherSharedBytes);
}

TEST(KernelPlans, FewInputsHaveKernelsOfClusters) {
  const PersistentSequence sequence = {
      .batch_size = 128, .hidden_size = 128, .program = program_with(Cell::kLstm), .inputs = StepInputs::kNarrow};
  const auto plans = plans_for(sequence, PassKind::kForward, gpu_of(9).runs).clusters;
  ASSERT_THAT(plans, SizeIs(2));
  expect_golden(plans[0].kernel);
  expect_golden(plans[0].packing);
  EXPECT_THAT(plans_for(sequence, PassKind::kBackward, gpu_of(9).runs).clusters, SizeIs(3));
}

TEST(KernelPlans, KernelsWithWgmmaAreForOneCapabilityAlone) {
  EXPECT_THAT(forward_plans(1024, 64).grids, SizeIs(3));
  for (const KernelPlan& plan : forward_plans(1024, 64).grids) EXPECT_EQ(plan.instructions, Instructions::kWgmma);
  EXPECT_THAT(forward_plans(1536, 64).grids, SizeIs(3));
  EXPECT_THAT(forward_plans(1536, 64, 10).grids, IsEmpty());
  EXPECT_THAT(forward_plans(1536, 64, 10).clusters, IsEmpty());
}

TEST(KernelPlans, OtherGpusWithClustersHaveTheWholeGpuForWhatClustersHaveNoRoomFor) {
  EXPECT_THAT(forward_plans(1024, 64, 10).grids, SizeIs(2));
  EXPECT_THAT(forward_plans(1024, 64, 10).clusters, SizeIs(2));
  EXPECT_THAT(forward_plans(768, 64, 10).grids, IsEmpty());
  expect_golden(forward_plans(1024, 64, 10).grids.front().kernel);
}

TEST(KernelPlans, AGpuWithLessSharedMemoryHasTilesOfItsOwn) {
  for (const KernelPlan& plan : listed_plans(gpu_of(12).runs))
    EXPECT_LE(plan.shared_bytes, kLittleShared) << plan.kernel;
  EXPECT_THAT(forward_plans(256, 128, 12).clusters.front().kernel, HasSubstr(", 101376>"));
}

TEST(KernelPlans, AGpuWithoutSharedMemoryForThemHasNone) {
  EXPECT_THAT(plans_for({.batch_size = 1, .hidden_size = 128, .program = program_with(Cell::kLstm)}, PassKind::kForward,
                        {.shared_bytes = 64 * 1024})
                  .clusters,
              IsEmpty());
}

TEST(KernelPlans, AGpuWithoutClustersHasGroupsOfOneBlockAndOverTheWholeGpu) {
  for (const KernelPlan& plan : listed_plans(gpu_of(8).runs)) {
    EXPECT_EQ(plan.instructions, Instructions::kTensorCores) << plan.kernel;
    EXPECT_EQ(plan.cluster_size, 1) << plan.kernel;
    EXPECT_EQ(plan.num_blocks > 1, is_grid(plan)) << plan.kernel;
  }
  EXPECT_THAT(forward_plans(128, 64, 8).clusters, SizeIs(1));
  EXPECT_THAT(forward_plans(128, 64, 8).grids, IsEmpty());
  EXPECT_THAT(forward_plans(136, 64, 8).clusters, IsEmpty());
  EXPECT_THAT(forward_plans(136, 64, 8).grids, SizeIs(4));
  EXPECT_THAT(forward_plans(1032, 64, 8).grids, IsEmpty());
}

// How many multiprocessors a GPU has, and the largest LSTM whose group of blocks they hold.
struct SmallerGpu {
  int minor, num_multiprocessors;
  int64_t largest;
};

// A100, A30, RTX 3090, A10, RTX 3060, RTX 4090, L4 and RTX 4060.
constexpr std::array<SmallerGpu, 8> kSmallerGpus = {{{0, 108, 1024},
                                                     {0, 56, 768},
                                                     {6, 82, 1024},
                                                     {6, 72, 1024},
                                                     {6, 28, 512},
                                                     {9, 128, 1024},
                                                     {9, 58, 768},
                                                     {9, 24, 512}}};

// States whether a pass has a plan whose group fits, with the shared memory and the multiprocessors of a GPU.
bool has_room(const PersistentSequence& sequence, PassKind pass, const SmallerGpu& gpu) {
  const GpuClass runs = class_of(8, gpu.minor);
  return std::ranges::any_of(plans_for(sequence, pass, runs).grids, [&](const KernelPlan& plan) {
    return plan.num_blocks <= gpu.num_multiprocessors && plan.shared_bytes <= runs.shared_bytes;
  });
}

TEST(KernelPlans, EverySizeHasAPlanThatFitsOnAGpuWithoutClusters) {
  for (const SmallerGpu& gpu : kSmallerGpus)
    for (const auto cell : {Cell::kLstm, Cell::kGru, Cell::kRnnTanh})
      for (const ElementType type : {ElementType::kFloat32, ElementType::kFloat16, ElementType::kBfloat16})
        for (int64_t size = 136; size <= kLargestOfGridsByMma; size += 8)
          for (const PassKind pass : {PassKind::kForward, PassKind::kBackward}) {
            const PersistentSequence sequence = {
                .batch_size = 16, .hidden_size = size, .type = type, .program = program_with(cell)};
            const bool is_small = cell == Cell::kRnnTanh || size <= gpu.largest;
            EXPECT_EQ(has_room(sequence, pass, gpu), is_small) << gpu.num_multiprocessors << " " << size;
          }
}

TEST(KernelPlans, Float32HasNoneOverTheWholeGpu) {
  const PersistentSequence sequence = {
      .batch_size = 16, .hidden_size = 256, .program = program_with(Cell::kLstm), .operands = Operands::kFloat32};
  EXPECT_THAT(plans_for(sequence, PassKind::kForward, class_of(8, 0)).grids, IsEmpty());
}

TEST(KernelPlans, LayersThatAreTooSmallForClustersHaveGroupsOfOneBlock) {
  for (const KernelPlan& plan : forward_plans(56, 64).clusters) EXPECT_EQ(plan.num_blocks, 1) << plan.kernel;
}

TEST(KernelPlans, KernelsOfALaterVariantAreLeftOut) {
  PersistentSequence sequence = {
      .batch_size = 64, .hidden_size = 512, .type = ElementType::kBfloat16, .program = program_with(Cell::kLstm)};
  const auto num_plans = [&](PersistentKernels kernels) {
    sequence.kernels = kernels;
    return plans_for(sequence, PassKind::kBackward, gpu_of(9).runs).clusters.size();
  };
  EXPECT_EQ(num_plans(PersistentKernels::kClusters), 2U);
  EXPECT_EQ(num_plans(PersistentKernels::kClustersAndTeams), 3U);
}

// The blocks of the first plan of a forward pass over the whole GPU, 0 if it has none.
int blocks_over_the_whole_gpu(const PersistentSequence& sequence) {
  const PassPlans plans = plans_for(sequence, PassKind::kForward, gpu_of(9).runs);
  return plans.grids.empty() ? 0 : plans.grids.front().num_blocks;
}

TEST(KernelPlans, ALayerAloneTakesTheWholeGpuWhereOthersWouldNeedAPartOfIt) {
  PersistentSequence gru = {.type = ElementType::kBfloat16, .program = program_with(Cell::kGru)};
  const auto blocks = [&](int64_t hidden_size, int64_t batch_size, bool is_alone) {
    gru.hidden_size = hidden_size;
    gru.batch_size = batch_size;
    gru.is_alone = is_alone;
    return blocks_over_the_whole_gpu(gru);
  };
  EXPECT_EQ(blocks(512, 128, true), 16);
  EXPECT_EQ(blocks(512, 192, true), 8);
  EXPECT_EQ(blocks(768, 32, true), 48);
  EXPECT_EQ(blocks(1024, 32, true), 64);
  EXPECT_EQ(blocks(512, 128, false), 0);
  EXPECT_EQ(blocks(768, 32, false), 0);
  EXPECT_EQ(blocks(1024, 32, false), 32);
  EXPECT_EQ(blocks(512, 250, false), 8) << "clusters leave no room either";
  EXPECT_EQ(blocks(512, 120, true), 0) << "clusters have all sequences in one round";
}

TEST(KernelPlans, EveryProgramHasAKeyOfItsOwn) {
  std::set<std::string> keys;
  size_t num_programs = 0;
  for (const int major : {8, 9, 10, 12})
    for (const KernelPlan& plan : listed_plans(gpu_of(major).runs)) {
      keys.insert(key_of(program_of(plan, architecture_for(gpu_of(major), plan.instructions))));
      ++num_programs;
    }
  EXPECT_EQ(keys.size(), num_programs);
}

// A plan of each of the sources, inputs and types of gates' gradients, for each kind of GPU that has it.
TEST(KernelPlans, ASampleCompilesForEveryGpu) {
  if (const auto reason = nvrtc_unavailable_reason()) GTEST_SKIP() << *reason;
  for (const int major : {8, 9, 10, 12}) {
    std::set<std::pair<std::string, std::string>> seen;
    for (const KernelPlan& plan : listed_plans(gpu_of(major).runs)) {
      const size_t inputs = std::min(plan.kernel.find("StepInputs"), plan.kernel.size());
      const std::string form = plan.kernel.ends_with(", true>") ? "writes float16" : plan.kernel.substr(inputs);
      if (!seen.emplace(plan.source, form).second) continue;
      const CompiledKernels kernels = compile(program_of(plan, architecture_for(gpu_of(major), plan.instructions)));
      EXPECT_THAT(kernels.symbols, SizeIs(2)) << plan.kernel;
    }
  }
}

}  // namespace
}  // namespace rnnlab::kernels::persistent
