// SPDX-License-Identifier: Apache-2.0
#include "layers/persistent/host/kernel_plan.h"

#include <fmt/format.h>

#include <array>
#include <set>
#include <stdexcept>
#include <type_traits>

#include "layers/persistent/block/tiles.h"
#include "layers/persistent/cluster/tiles.h"
#include "layers/persistent/grid/tiles.h"
#include "layers/persistent/host/kernel_names.h"

namespace rnnlab::kernels::persistent {
namespace {

// States whether two blocks may run on one SM.
enum class SharingOfSms { kAllowed, kNone };

// Plans of kernels in block/, for the smallest hidden size that has room for a layer. Their costs are relative to those
// of ClusterPlans.
template <class Cell, class Numbers, int kShared>
class BlockPlans {
 public:
  BlockPlans(const PersistentSequence& sequence, PassKind pass)
      : batch_size_(sequence.batch_size), inputs_(sequence.inputs), pass_(pass) {
    add_size(sequence.hidden_size);
  }

  std::vector<KernelPlan> take() { return std::move(plans_); }

 private:
  void add_size(int64_t hidden_size) {
    if (hidden_size == 64) return add<64, Fit::kWhole>();
    if (hidden_size == 128) return add<128, Fit::kWhole>();
    if (hidden_size <= 32) return add<32, Fit::kPadded>();
    if (hidden_size <= 64) return add<64, Fit::kPadded>();
    if (hidden_size <= 96) return add<96, Fit::kPadded>();
    if (hidden_size <= kLargestOfBlocks) return add<kLargestOfBlocks, Fit::kPadded>();
  }

  template <int kHiddenSize, Fit kFit>
  void add() {
    using T = BlockTiles<Cell, Numbers, kHiddenSize, kFit, kShared>;
    const bool is_forward = pass_ == PassKind::kForward;
    const int shared_bytes = is_forward ? T::ForwardSlice::kSharedBytesOfAll : T::BackwardSlice::kSharedBytesOfAll;
    const char* const direction = is_forward ? "forward" : "backward";
    const std::string tiles = fmt::format("BlockTiles<{}, {}, {}, Fit::{}, {}>", name_of_cell<Cell>(),
                                          name_of_numbers<Numbers>(), kHiddenSize, name_of(kFit), kShared);
    plans_.push_back({
        .source = source_including(is_forward ? "block/forward.h" : "block/backward.h"),
        .kernel = instance_of(fmt::format("block_{}_kernel", direction), tiles, inputs_),
        .packing = fmt::format("pack_kernel<{}, Block{}Order>", tiles, is_forward ? "Forward" : "Backward"),
        .instructions = Instructions::kTensorCores,
        .num_sequences = T::kSequences,
        .num_blocks = 1,
        .cluster_size = 1,
        .num_threads = T::kThreads,
        .shared_bytes = shared_bytes,
        .counted_shared_bytes = kShared - kOtherSharedBytes,  // one block on each SM, because two disturb each other
        .packed_bytes = size_t{kFragmentBytesPerWarp} * T::kWarps * T::kFragments,
        .cost = cost_of_step<kHiddenSize>(),
    });
  }

  // Measured on an H200 (docs/results/2026-11-27-alone.md). Clusters divide the products of 128 units among
  // four SMs. A block catches up if a cell has one gate; and, unless each factor is two numbers, if a cell has three
  // gates of 32 bits, if tensors have 16 bits backward, or if the batch is so large that clusters share SMs.
  template <int kHiddenSize>
  double cost_of_step() const {
    if (kHiddenSize <= 64) return 70;
    if (kHiddenSize <= 96) return 90;
    return is_faster_than_clusters() ? 95 : 115;
  }

  bool is_faster_than_clusters() const {
    if (Cell::kGates == 1) return true;
    if (Numbers::kParts > 1) return false;
    if (batch_size_ > kMostOfUnsharedClusters) return true;
    const bool has_16_bits = sizeof(typename Numbers::Value) == 2;
    return has_16_bits ? pass_ == PassKind::kBackward : Cell::kGates == 3;
  }

  static constexpr int64_t kMostOfUnsharedClusters = 128;  // sequences

  int64_t batch_size_;
  StepInputs inputs_;
  PassKind pass_;
  std::vector<KernelPlan> plans_;
};

// Plans of kernels in cluster/.

// Compares a plan with the other plans of its size. percent: the time of a step, relative to a step of 8 sequences by
// one team. since: the first of PersistentKernels that has the plan.
struct Way {
  int percent = 100;
  PersistentKernels since = PersistentKernels::kClusters;
  SharingOfSms sharing = SharingOfSms::kAllowed;
};

// The plans of the smallest hidden size that has room for a layer. Which of them is the fastest depends on the batch
// and the GPU.
template <class Cell, class Numbers, int kShared>
class ClusterPlans {
 public:
  ClusterPlans(const PersistentSequence& sequence, PassKind pass) : sequence_(sequence), pass_(pass) {
    add_size(sequence.hidden_size);
  }

  std::vector<KernelPlan> take() { return std::move(plans_); }

 private:
  template <int kHiddenSize, int kWarps, int kTiles, Fit kFit, int kTeams = 1>
  using TilesOf = Tiles<Cell, Numbers, kHiddenSize, kWarps, kTiles, kFit, kTeams, kShared>;

  // A block has 8 warps, which own 64 units. Three sizes differ: up to 128 units a block has 4 warps, so that more SMs
  // share the load; 192 has 6 warps; 768 has 6 warps too, because 16 blocks of 48 units have room for all weights of
  // an LSTM, and 12 of 64 do not. The usual sizes 128, 256 and 512 have kernels of exactly that size, whose steps of
  // 1 us are 6 % shorter. A pair has 4 warps of each layer.
  void add_size(int64_t hidden_size) {
    if (hidden_size == 128) return add_usual<128, 4, Fit::kWhole>();
    if (hidden_size == 256) return add_or_spread<256, 8, Fit::kWhole>();
    if (hidden_size == 512) return add_or_teams<512, Fit::kWhole>();
    if (hidden_size <= 64) return add_usual<64, 4>();
    if (hidden_size <= 128) return add_usual<128, 4>();
    if (hidden_size <= 192) return add_or_spread<192, 6>();
    if (hidden_size <= 256) return add_or_spread<256, 8>();
    if (hidden_size <= 384) return add_or_spread<384, 8>();
    if (hidden_size <= 512) return add_or_teams<512>();
    if (hidden_size <= 640) return add_usual<640, 8>();
    if (hidden_size <= 768) return add_usual<768, 6>();
    if (hidden_size <= 896) return add_usual<896, 8>();
    if (hidden_size <= kLargestOfClusters) return add_usual<kLargestOfClusters, 8>();
  }

  // Groups of 8 and of 16 sequences.
  template <int kHiddenSize, int kWarps, Fit kFit = Fit::kPadded>
  void add_usual() {
    constexpr int kWidePercent = kHiddenSize > 768 ? 180 : 165;
    add<TilesOf<kHiddenSize, kWarps, 1, kFit>>({});
    add<TilesOf<kHiddenSize, kWarps, 2, kFit>>({.percent = kWidePercent});
  }

  // The usual groups, and blocks of 4 warps for the case that each group finds SMs of its own.
  template <int kHiddenSize, int kWarps, Fit kFit = Fit::kPadded>
  void add_or_spread() {
    add_usual<kHiddenSize, kWarps, kFit>();
    add<TilesOf<kHiddenSize, 4, 1, kFit>>(
        {.percent = 80, .since = PersistentKernels::kClustersAndTeams, .sharing = SharingOfSms::kNone});
  }

  // The usual groups, and two teams of warps, by which all weights of an LSTM fit into registers. A GRU does not gain
  // by teams, and has blocks of 4 warps instead.
  template <int kHiddenSize, Fit kFit = Fit::kPadded>
  void add_or_teams() {
    if constexpr (Cell::kGates == 4 && Numbers::kParts == 1) {
      add_usual<kHiddenSize, 8, kFit>();
      add<TilesOf<kHiddenSize, 8, 1, kFit, 2>>({.percent = 82, .since = PersistentKernels::kClustersAndTeams});
    } else {
      add_or_spread<kHiddenSize, 8, kFit>();
    }
  }

  template <class T>
  void add(const Way& way) {
    if (way.since > sequence_.kernels) return;
    const bool is_forward = pass_ == PassKind::kForward;
    const int needed_bytes = shared_bytes_of<T>();
    if (needed_bytes > kShared - kOtherSharedBytes) return;
    const int counted_bytes =
        way.sharing == SharingOfSms::kAllowed ? needed_bytes : T::kSharedBytes - kOtherSharedBytes;
    static_assert(T::ForwardSlice::kFragments == T::BackwardSlice::kFragments);
    const std::string kernel = fmt::format("{}{}_kernel", prefix_of_kernel(T::kTeams), direction());
    plans_.push_back({
        .source = source_including(kernel_header(T::kTeams)),
        .kernel = instance_of(kernel, name_of_tiles<T>(), sequence_.inputs),
        .packing = fmt::format("pack_kernel<{}, {}Order>", name_of_tiles<T>(), is_forward ? "Forward" : "Backward"),
        .num_sequences = T::kSequences,
        .num_blocks = T::kBlocks,
        .cluster_size = T::kBlocks,
        .num_threads = sequence_.num_layers * T::kThreads,
        .shared_bytes = kIsSmall ? counted_bytes : needed_bytes,
        .counted_shared_bytes = counted_bytes,
        .packed_bytes = size_t{kFragmentBytesPerWarp} * T::kBlocks * T::kWarps * T::ForwardSlice::kFragments,
        .cost = static_cast<double>(way.percent),
    });
  }

  // Blocks of one or two gates take so few registers and so little shared memory that a GPU would put several of them
  // on one SM, where a step takes up to twice as long. Where each needs an SM of its own, they ask for as much shared
  // memory as keeps others away.
  static constexpr bool kIsSmall = Cell::kGates <= 2;

  template <class T>
  int shared_bytes_of() const {
    const bool is_forward = pass_ == PassKind::kForward;
    if (sequence_.num_layers == 2) return is_forward ? T::kPairForwardBytes : T::kPairBackwardBytes;
    return is_forward ? T::ForwardSlice::kSharedBytesOfAll : T::BackwardSlice::kSharedBytesOfAll;
  }

  const char* prefix_of_kernel(int teams) const {
    if (sequence_.num_layers == 2) return "pair_";
    return teams > 1 ? "team_" : "";
  }

  std::string direction() const { return pass_ == PassKind::kForward ? "forward" : "backward"; }

  const char* kernel_header(int teams) const {
    if (sequence_.num_layers == 2) return "cluster/pair.h";
    if (teams > 1) return "cluster/teams.h";
    return pass_ == PassKind::kForward ? "cluster/forward.h" : "cluster/backward.h";
  }

  template <class T>
  static std::string name_of_tiles() {
    return fmt::format("Tiles<{}, {}, {}, {}, {}, Fit::{}, {}, {}>", name_of_cell<Cell>(), name_of_numbers<Numbers>(),
                       T::kHiddenSize, T::kWarps, T::kTiles, name_of(T::kFit), T::kTeams, T::kSharedBytes);
  }

  const PersistentSequence& sequence_;
  PassKind pass_;
  std::vector<KernelPlan> plans_;
};

// Plans of kernels in grid/, and which passes take one of them instead of clusters.

// Returns whether a layer is faster with blocks of 16 units. Up to 32 sequences are two groups, which fit at once. If
// the layer is not alone, it must leave room for the others. Then an LSTM of 648 to 768 units still has such blocks,
// and 776 to 1024 units have them for one group, which leaves half of the GPU free.
template <class Cell>
bool gains_by_small_blocks(const PersistentSequence& sequence) {
  if (Cell::kGates < 3 || sequence.hidden_size <= 640 || sequence.hidden_size > 1024) return false;
  if (sequence.is_alone) return sequence.batch_size <= 32;
  if (sequence.hidden_size <= 768) return Cell::kGates == 4 && sequence.batch_size <= 32;
  return sequence.batch_size <= 16;
}

// Returns whether a layer of 392 to 512 units is faster over the whole GPU. A round has 8 groups of blocks of 32 units,
// for 128 sequences, or 16 groups of blocks of 64, for 256. Of clusters, 15 run at once, each for 8 or 16 sequences.
// Above 240 sequences clusters need a second round. From 121 to 240 they have groups of 16. Such groups are slower than
// the whole GPU for an LSTM up to 128 sequences, and for a GRU that is alone.
template <class Cell>
bool fills_a_round(const PersistentSequence& sequence) {
  if (Cell::kGates < 3 || sequence.hidden_size <= 384 || sequence.hidden_size > 512) return false;
  if (sequence.batch_size > 240) return sequence.batch_size <= 256;
  if (Cell::kGates == 3) return sequence.is_alone && sequence.batch_size > 120;
  return sequence.batch_size > 120 && sequence.batch_size <= 128;
}

// The largest hidden size whose weights clusters have room for.
template <class Cell>
constexpr int64_t kRoomOfClusters = Cell::kGates <= 2 ? 1024 : 768;

// Returns whether kernels over the whole GPU by wgmma are faster than clusters. Clusters are faster if one round of
// them has all sequences in groups of 8, and has room for the weights.
template <class Cell>
bool is_for_grids(const PersistentSequence& sequence) {
  if (sequence.kernels != PersistentKernels::kAll) return false;
  constexpr int64_t kSequencesOfARound = 56;
  if (sequence.hidden_size > kRoomOfClusters<Cell> || gains_by_small_blocks<Cell>(sequence)) return true;
  if (fills_a_round<Cell>(sequence)) return true;
  return sequence.hidden_size > 512 && sequence.batch_size > kSequencesOfARound;
}

// Returns whether kernels over the whole GPU by mma.sync are for a layer: without clusters they are for all layers that
// one block does not hold, and with clusters for those that clusters have no room for.
template <class Cell>
bool is_for_grids_by_mma(const PersistentSequence& sequence, Instructions instructions) {
  if (sequence.kernels != PersistentKernels::kAll || sequence.hidden_size > kLargestOfGridsByMma) return false;
  const int64_t room = instructions == Instructions::kTensorCores ? kLargestOfBlocks : kRoomOfClusters<Cell>;
  return sequence.hidden_size > room;
}

template <class T, class Slice>
constexpr size_t packed_bytes_of_grid() {
  return size_t{kFragmentBytesPerWarp} * T::kBlocks * T::kWarps * Slice::kFragments;
}

template <class T>
KernelPlan forward_grid(const std::string& tiles, StepInputs inputs) {
  return {.source = source_including("grid/forward.h"),
          .kernel = instance_of("grid_forward_kernel", tiles, inputs),
          .packing = fmt::format("grid_pack_kernel<{}, GridForwardOrder>", tiles),
          .cluster_size = 1,
          .shared_bytes = T::ForwardSlice::kSharedBytesOfAll,
          .packed_bytes = packed_bytes_of_grid<T, typename T::ForwardSlice>(),
          .exchange_bytes = T::kForwardExchangeBytes,
          .empty_byte = 0xFF};  // the bytes of kNothing (grid/exchange.h)
}

template <class T>
KernelPlan backward_grid(const std::string& tiles) {
  return {.source = source_including("grid/backward.h"),
          .kernel = fmt::format("grid_backward_kernel<{}>", tiles),
          .packing = fmt::format("grid_pack_kernel<{}, GridBackwardOrder>", tiles),
          .cluster_size = T::kPartners,
          .shared_bytes = T::BackwardSlice::kSharedBytesOfAll,
          .packed_bytes = packed_bytes_of_grid<T, typename T::BackwardSlice>(),
          .exchange_bytes = T::kBackwardExchangeBytes,
          .empty_byte = 0};  // a phase that differs from that of the first sums
}

template <class T>
KernelPlan grid_plan(PassKind pass, StepInputs inputs, double cost) {
  const std::string tiles =
      fmt::format("GridTiles<{}, {}, {}, {}, {}, {}, {}, Multiplier::{}, {}>", name_of_cell<typename T::Cell>(),
                  name_of_numbers<typename T::Numbers>(), T::kHiddenSize, T::kUnits, T::kPartners, T::kTiles, T::kTurns,
                  name_of(T::kMultiplier), T::kSharedBytes);
  KernelPlan plan = pass == PassKind::kForward ? forward_grid<T>(tiles, inputs) : backward_grid<T>(tiles);
  plan.instructions = T::kMultiplier == Multiplier::kWgmma ? Instructions::kWgmma : Instructions::kTensorCores;
  plan.num_sequences = T::kSequencesOfGroup;
  plan.num_blocks = T::kBlocks;
  plan.num_threads = T::kThreads;
  plan.counted_shared_bytes = plan.shared_bytes;
  plan.cost = cost;
  return plan;
}

// The plans by wgmma of the smallest hidden size that has room for a layer, of a pass that is_for_grids.
template <class Cell, class Numbers>
class GridPlans {
 public:
  GridPlans(const PersistentSequence& sequence, PassKind pass) : pass_(pass), inputs_(sequence.inputs) {
    add_size(sequence);
  }

  std::vector<KernelPlan> take() { return std::move(plans_); }

 private:
  void add_size(const PersistentSequence& sequence) {
    if constexpr (Cell::kGates >= 3) {
      if (gains_by_small_blocks<Cell>(sequence))
        return sequence.hidden_size <= 768 ? add<768, 16, 2>() : add<1024, 16, 2>();
      if (sequence.hidden_size <= 512) return sequence.batch_size <= 128 ? add<512, 32, 2>() : add<512, 64, 2>();
    }
    if (sequence.hidden_size <= 768) return add_group_sizes<768, 32, 2>();
    if (sequence.hidden_size <= 1024) return add_group_sizes<1024, 32, 2>();
    if (sequence.hidden_size <= kLargestOfGrids) return add_group_sizes<kLargestOfGrids, 16, 4>();
  }

  // Groups of 16 sequences, of 32, and of two times 32 that take turns. The costs were measured on an H200.
  template <int kHiddenSize, int kUnits, int kPartners>
  void add_group_sizes() {
    add<kHiddenSize, kUnits, kPartners>();
    add<kHiddenSize, kUnits, kPartners, 4>(1.5);
    add<kHiddenSize, kUnits, kPartners, 4, 2>(2.7);
  }

  template <int kHiddenSize, int kUnits, int kPartners, int kTiles = 2, int kTurns = 1>
  void add(double cost = 1) {
    using T = GridTiles<Cell, Numbers, kHiddenSize, kUnits, kPartners, kTiles, kTurns>;
    plans_.push_back(grid_plan<T>(pass_, inputs_, cost));
  }

  PassKind pass_;
  StepInputs inputs_;
  std::vector<KernelPlan> plans_;
};

// The plans by mma.sync of the smallest hidden size that has room for a layer, of a pass that is_for_grids_by_mma. The
// costs were measured on an H200, by kernels for compute capability 8.0 (docs/results/2026-11-27-without-wgmma.md).
template <class Cell, class Numbers, int kShared>
class GridPlansByMma {
 public:
  GridPlansByMma(const PersistentSequence& sequence, PassKind pass) : pass_(pass), inputs_(sequence.inputs) {
    add_size(sequence.hidden_size);
  }

  std::vector<KernelPlan> take() { return std::move(plans_); }

 private:
  // Cells of one or two gates have blocks of 64 or 32 units, whose gates are the 64 rows of a warpgroup.
  static constexpr int kFewestUnits = Cell::kGates <= 2 ? 64 / Cell::kGates : 16;

  void add_size(int64_t hidden_size) {
    if (hidden_size <= 256) return add_or_larger_blocks<256>();
    if (hidden_size <= 384) return add_or_larger_blocks<384>();
    if (hidden_size <= 512) return add_or_larger_blocks<512>();
    if (hidden_size <= 768) return add_group_sizes<768, kFewestUnits>(1);
    if (hidden_size <= kLargestOfGridsByMma) return add_group_sizes<kLargestOfGridsByMma, kFewestUnits>(1);
  }

  // Also blocks of twice as many units, of which twice as many groups run at once. Their steps take 1.23 to 1.45 times
  // as long.
  template <int kHiddenSize>
  void add_or_larger_blocks() {
    add_group_sizes<kHiddenSize, kFewestUnits>(1);
    if constexpr (Cell::kGates > 1) add_group_sizes<kHiddenSize, 2 * kFewestUnits>(1.3);
  }

  // Groups of 16 sequences, and of 32 unless a thread would have eight cells. The steps of 32 take 1.48 to 1.84 times
  // as long.
  template <int kHiddenSize, int kUnits>
  void add_group_sizes(double cost) {
    add<kHiddenSize, kUnits, 2>(cost);
    if constexpr (kUnits <= 32) add<kHiddenSize, kUnits, 4>(1.65 * cost);
  }

  template <int kHiddenSize, int kUnits, int kTiles>
  void add(double cost) {
    constexpr int kPartners = 1, kTurns = 1;
    using T = GridTiles<Cell, Numbers, kHiddenSize, kUnits, kPartners, kTiles, kTurns, Multiplier::kMma, kShared>;
    const bool is_forward = pass_ == PassKind::kForward;
    const bool has_room = is_forward ? T::ForwardSlice::kInL2 == 0 : T::BackwardSlice::kInL2 == 0;
    const KernelPlan plan = grid_plan<T>(pass_, inputs_, cost);
    if (has_room && plan.shared_bytes <= kShared - kOtherSharedBytes) plans_.push_back(plan);
  }

  PassKind pass_;
  StepInputs inputs_;
  std::vector<KernelPlan> plans_;
};

// The plans of a pass. Its cell and its class of precision become template arguments here.

// Each head of sLSTM has a block of its own.
template <class Cell>
constexpr bool kHasManyBlocks = !std::is_same_v<Cell, SlstmSizes>;

// Plans of groups of one block and of clusters.
template <class Cell, class Numbers, int kShared>
std::vector<KernelPlan> cluster_plans(const PersistentSequence& sequence, PassKind pass, Instructions instructions) {
  std::vector<KernelPlan> plans;
  if (has_blocks(sequence.kernels) && sequence.inputs != StepInputs::kNarrow && sequence.num_layers == 1)
    plans = BlockPlans<Cell, Numbers, kShared>(sequence, pass).take();
  if constexpr (kHasManyBlocks<Cell>) {
    const bool has_clusters = instructions != Instructions::kTensorCores &&
                              sequence.hidden_size >= kSmallestOfClusters &&
                              sequence.kernels != PersistentKernels::kBlocks;
    if (!has_clusters) return plans;
    for (KernelPlan& plan : ClusterPlans<Cell, Numbers, kShared>(sequence, pass).take())
      plans.push_back(std::move(plan));
  }
  return plans;
}

template <class Cell, class Numbers, int kShared>
std::vector<KernelPlan> grid_plans(const PersistentSequence& sequence, PassKind pass, Instructions instructions) {
  if constexpr (Numbers::kParts == 1 && kHasManyBlocks<Cell>) {
    if (instructions != Instructions::kWgmma) {
      if (!is_for_grids_by_mma<Cell>(sequence, instructions)) return {};
      return GridPlansByMma<Cell, Numbers, kShared>(sequence, pass).take();
    }
    if (is_for_grids<Cell>(sequence)) return GridPlans<Cell, Numbers>(sequence, pass).take();
  }
  return {};
}

template <class Cell, class Numbers, int kShared>
PassPlans plans_with(const PersistentSequence& sequence, PassKind pass, Instructions instructions) {
  return {.grids = grid_plans<Cell, Numbers, kShared>(sequence, pass, instructions),
          .clusters = cluster_plans<Cell, Numbers, kShared>(sequence, pass, instructions)};
}

template <class Cell, class Numbers>
PassPlans plans_of(const PersistentSequence& sequence, PassKind pass, const GpuClass& gpu) {
  if (gpu.shared_bytes >= kMuchShared) return plans_with<Cell, Numbers, kMuchShared>(sequence, pass, gpu.instructions);
  if (gpu.shared_bytes >= kMediumShared)
    return plans_with<Cell, Numbers, kMediumShared>(sequence, pass, gpu.instructions);
  if (gpu.shared_bytes >= kLittleShared)
    return plans_with<Cell, Numbers, kLittleShared>(sequence, pass, gpu.instructions);
  return {};
}

template <class Cell>
PassPlans plans_of_cell(const PersistentSequence& sequence, PassKind pass, const GpuClass& gpu) {
  switch (sequence.type) {
    case ElementType::kFloat32:
      if (sequence.operands == Operands::kFloat32) return plans_of<Cell, Float32>(sequence, pass, gpu);
      return plans_of<Cell, Tf32>(sequence, pass, gpu);
    case ElementType::kFloat16:
      return plans_of<Cell, Float16>(sequence, pass, gpu);
    case ElementType::kBfloat16:
      return plans_of<Cell, Bfloat16>(sequence, pass, gpu);
    case ElementType::kFloat64:
      break;
  }
  throw std::invalid_argument("persistent kernels do not support float64");
}

PassPlans plans_of_gates(const PersistentSequence& sequence, PassKind pass, const GpuClass& gpu) {
  constexpr std::array kPlansByGates = {plans_of_cell<ProgramSizes<1>>, plans_of_cell<ProgramSizes<2>>,
                                        plans_of_cell<ProgramSizes<3>>, plans_of_cell<ProgramSizes<4>>};
  const auto index = static_cast<size_t>(sequence.program->num_gates) - 1;
  if (index >= kPlansByGates.size())
    throw std::invalid_argument("persistent kernels do not support this number of gates");
  return kPlansByGates.at(index)(sequence, pass, gpu);
}

// Calls use(sequence) with one sequence of each hidden size and batch size by which plans differ.
template <class Use>
void for_each_sequence(const PersistentProgram& program, StepInputs inputs, const Use& use) {
  constexpr std::array kTypes = {ElementType::kFloat32, ElementType::kFloat16, ElementType::kBfloat16};
  constexpr std::array<int64_t, 4> kBatches = {16, 128, 256, 512};
  for (const ElementType type : kTypes)
    for (const auto operands : {Operands::kTf32, Operands::kFloat32})
      for (int64_t hidden_size = 8; hidden_size <= kLargestOfGrids; hidden_size += 8)
        for (const int64_t batch_size : kBatches)
          for (const auto& [is_alone, num_layers] : {std::pair(false, 1), std::pair(true, 1), std::pair(false, 2)})
            use(PersistentSequence{.batch_size = batch_size,
                                   .hidden_size = hidden_size,
                                   .type = type,
                                   .program = &program,
                                   .operands = operands,
                                   .inputs = inputs,
                                   .is_alone = is_alone,
                                   .num_layers = num_layers});
}

}  // namespace

std::vector<KernelPlan> all_plans(const GpuClass& gpu, const PersistentProgram& program) {
  std::vector<KernelPlan> all;
  std::set<std::string> seen;
  for (const StepInputs inputs : {StepInputs::kProducts, StepInputs::kRowsOfTable, StepInputs::kNarrow})
    for_each_sequence(program, inputs, [&](const PersistentSequence& sequence) {
      if (inputs == StepInputs::kNarrow && !multiplies_inputs(sequence, 1, gpu)) return;
      if (sequence.num_layers == 2 && !has_pair(sequence, gpu)) return;
      for (const PassKind pass : {PassKind::kForward, PassKind::kBackward}) {
        const PassPlans plans = plans_for(sequence, pass, gpu);
        for (const auto& list : {plans.grids, plans.clusters})
          for (const KernelPlan& plan : list) {
            if (!seen.insert(plan.kernel).second) continue;
            all.push_back(plan);
            if (may_write_half(sequence, pass, plan)) all.push_back(writing_half(plan));
          }
      }
    });
  return all;
}

// A pair needs clusters, and numbers of one part. Measured on an H200 (docs/results/2026-11-27-pairs.md): layers of up
// to 64 units, cells of few gates and larger batches are faster one after the other, by blocks. The upper layer of a
// pair hands the last gate's other side down in the place of an odd gate.
bool has_pair(const PersistentSequence& sequence, const GpuClass& gpu) {
  if (gpu.instructions == Instructions::kTensorCores || sequence.kernels != PersistentKernels::kAll) return false;
  const PersistentProgram& program = *sequence.program;
  if (program.has_heads || program.num_gates < 3) return false;
  if (program.has_two_sides && program.num_gates % 2 == 0) return false;
  if (sequence.hidden_size <= 64 || sequence.hidden_size > kLargestOfPairs || sequence.batch_size > 128) return false;
  return sequence.type != ElementType::kFloat32 || sequence.operands == Operands::kTf32;
}

// The kernels of a single layer are those of clusters of 128 units. In fp32, products must not round to TF32. Blocks
// are faster for cells of few gates, for cells of three gates in tf32 and for larger batches.
bool multiplies_inputs(const PersistentSequence& sequence, int64_t input_size, const GpuClass& gpu) {
  const bool is_float = sequence.type == ElementType::kFloat32;
  if (input_size > kMostNarrowInputs || gpu.instructions == Instructions::kTensorCores) return false;
  if (sequence.kernels != PersistentKernels::kAll || sequence.program->has_heads) return false;
  if (sequence.num_layers == 2) return has_pair(sequence, gpu);
  if (sequence.hidden_size <= 96 || sequence.hidden_size > 128 || sequence.batch_size > 128) return false;
  if (sequence.program->num_gates == 3) return !is_float;
  return sequence.program->num_gates == 4 && (!is_float || sequence.operands == Operands::kTf32);
}

PassPlans plans_for(const PersistentSequence& sequence, PassKind pass, const GpuClass& gpu) {
  const bool has_heads = sequence.program->has_heads;
  PersistentSequence of_kernels = sequence;
  if (pass == PassKind::kBackward || has_heads) of_kernels.inputs = StepInputs::kProducts;
  PassPlans plans =
      has_heads ? plans_of_cell<SlstmSizes>(of_kernels, pass, gpu) : plans_of_gates(of_kernels, pass, gpu);
  const std::string cell = source_of_cell(*sequence.program);
  for (auto* list : {&plans.grids, &plans.clusters})
    for (KernelPlan& plan : *list) plan.source += cell;
  return plans;
}

}  // namespace rnnlab::kernels::persistent
