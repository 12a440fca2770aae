#include "recurrent/layer_kind.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "recurrent/cells/cell.h"
#include "recurrent/kernels/persistent/persistent_layer.h"

namespace rnnlab {
namespace {

using config::name_of;

// Returns what no kind can do, because the cell does not read the option, or because of the option's value.
std::optional<std::string> contradiction(const RecurrentOptions& options) {
  const std::vector<UnreadOption> unread = unread_options(options);
  const std::string fault = cell_fault(options);
  if (unread.empty()) return fault.empty() ? std::nullopt : std::optional(fault);
  const auto& [key, value, message] = unread.front();
  return fmt::format("{}: {} means nothing with cell: {}; {}", key, value, name_of(options.cell), message);
}

std::optional<std::string> unsupported_by_library(std::string_view library, const RecurrentOptions& options) {
  if (options.activation != Activation::kTanh)
    return fmt::format("activation: {} ({}'s {} has tanh only)", name_of(options.activation), library,
                       name_of(options.cell));
  if (options.reset_gate == ResetGate::kBefore)
    return fmt::format("reset_gate: before ({}'s gru applies the reset gate after the recurrent product)", library);
  return std::nullopt;
}

// In every rung the products of a step are one GEMM, so a gate cannot be applied between two products.
std::optional<std::string> unsupported_by_ladder(LayerKind kind, const RecurrentOptions& options) {
  if (options.reset_gate == ResetGate::kBefore)
    return "reset_gate: before (its candidate's product waits for the reset gate, so the products of a step are not "
           "one)";
  const bool has_diagonals = kind == LayerKind::kWavefront || kind == LayerKind::kDiagonal;
  if (has_diagonals && options.bidirectional)
    return "bidirectional: true (a layer waits for the whole reverse sequence of the one below: there is no diagonal)";
  return std::nullopt;
}

std::optional<std::string> unsupported_by_persistent(LayerKind kind, const RecurrentOptions& options) {
  if (options.activation != Activation::kTanh)
    return fmt::format("activation: {} (its kernels for {} have tanh only)", name_of(options.activation),
                       name_of(options.cell));
  if (options.reset_gate == ResetGate::kBefore)
    return "reset_gate: before (its kernel for gru applies the reset gate after the recurrent product)";
  const bool is_top = kind == LayerKind::kPersistent;
  const auto kernels = is_top ? kernels::PersistentKernels::kAll : kernels::PersistentKernels::kClusters;
  if (!kernels::has_persistent_layer(options.hidden_size, kernels::Factors::kTf32, kernels))
    return fmt::format("hidden_size: {} (its kernels have multiples of 8 from 64 to {})", options.hidden_size,
                       is_top ? "1536, in fp32 to 1024" : "1024");
  return std::nullopt;
}

std::vector<Cell> all_cells() {
  std::vector<Cell> cells;
  for (const auto& [cell, name] : config::EnumNames<Cell>::kNames) cells.push_back(cell);
  return cells;
}

bool has_cell(LayerKind kind, Cell cell) { return std::ranges::count(cells_of(kind), cell) > 0; }

// Returns an option that the kind cannot do, if the kind has the cell.
std::optional<std::string> unsupported_option(LayerKind kind, const RecurrentOptions& options) {
  switch (kind) {
    case LayerKind::kNaive:
    case LayerKind::kScan:
      return std::nullopt;
    case LayerKind::kGrouped:
    case LayerKind::kStreamed:
    case LayerKind::kFusedPointwise:
    case LayerKind::kPretransposed:
    case LayerKind::kHoisted:
    case LayerKind::kBlocked:
    case LayerKind::kWavefront:
    case LayerKind::kDiagonal:
      return unsupported_by_ladder(kind, options);
    case LayerKind::kPersistentClusters:
    case LayerKind::kPersistentTeams:
    case LayerKind::kPersistent:
      return unsupported_by_persistent(kind, options);
    case LayerKind::kFused:
      return unsupported_by_library("LibTorch", options);
    case LayerKind::kCudnn:
      return unsupported_by_library("cuDNN", options);
    case LayerKind::kAuto:
      return std::nullopt;
  }
  RNNLAB_INVARIANT(false, "a layer kind that refusal does not know");
  return std::nullopt;
}

// Returns the predicate of a sentence whose subject is the layer.
std::optional<std::string> unsupported(LayerKind kind, const RecurrentOptions& options) {
  if (!has_cell(kind, options.cell)) return fmt::format("has no cell: {}", name_of(options.cell));
  const auto option = unsupported_option(kind, options);
  return option ? std::optional("cannot do " + *option) : std::nullopt;
}

std::string kinds_that_can(const RecurrentOptions& options) {
  std::vector<std::string> names;
  for (const LayerKind kind : layer_kinds())
    if (!unsupported(kind, options)) names.emplace_back(name_of(kind));
  return one_of(names);
}

}  // namespace

std::vector<LayerKind> layer_kinds() {
  std::vector<LayerKind> kinds;
  for (const auto& [kind, name] : config::EnumNames<LayerKind>::kNames)
    if (kind != LayerKind::kAuto) kinds.push_back(kind);
  return kinds;
}

// The products of `grouped` and `streamed` are written only for LSTM. `diagonal` has no GRU, because the gradients of a
// GRU's two sides differ, so the gradients of a step are not one product.
std::vector<Cell> cells_of(LayerKind kind) {
  switch (kind) {
    case LayerKind::kGrouped:
    case LayerKind::kStreamed:
      return {Cell::kLstm};
    case LayerKind::kDiagonal:
      return {Cell::kLstm, Cell::kRnnTanh, Cell::kRnnRelu};
    case LayerKind::kScan:
      return {Cell::kMinGru, Cell::kMinLstm};
    case LayerKind::kFusedPointwise:
    case LayerKind::kPretransposed:
    case LayerKind::kHoisted:
    case LayerKind::kBlocked:
    case LayerKind::kWavefront:
    case LayerKind::kPersistentClusters:
    case LayerKind::kPersistentTeams:
    case LayerKind::kPersistent:
    case LayerKind::kFused:
    case LayerKind::kCudnn:
      return {Cell::kLstm, Cell::kGru, Cell::kRnnTanh, Cell::kRnnRelu};
    case LayerKind::kNaive:
    case LayerKind::kAuto:
      return all_cells();
  }
  RNNLAB_INVARIANT(false, "a layer kind that cells_of does not know");
  return {};
}

std::string_view description_of(LayerKind kind) {
  switch (kind) {
    case LayerKind::kNaive:
      return "a plain loop over steps, two products a gate";
    case LayerKind::kGrouped:
      return "the products of all gates as one, two a step; own backward pass through time";
    case LayerKind::kStreamed:
      return "grouped, with the input's and the recurrent product on two CUDA streams";
    case LayerKind::kFusedPointwise:
      return "streamed, with one own kernel for all of a step but its products";
    case LayerKind::kPretransposed:
      return "fused_pointwise, with the weights transposed once for the backward pass";
    case LayerKind::kHoisted:
      return "pretransposed, with one product for the inputs of all steps";
    case LayerKind::kBlocked:
      return "hoisted for the CPU: packed weights, the batch cut between the threads, oneDNN's block kernels";
    case LayerKind::kWavefront:
      return "hoisted by groups of steps, so that layers run at the same time, each on its CUDA streams";
    case LayerKind::kDiagonal:
      return "wavefront step by step, with one batched product and one own kernel for all layers";
    case LayerKind::kPersistentClusters:
      return "all steps of a layer in one kernel on a GPU of compute capability 9.0 or later, the recurrent weights in "
             "clusters of its blocks";
    case LayerKind::kPersistentTeams:
      return "persistent_clusters, with smaller blocks, or teams of warps that take turns, where they are faster";
    case LayerKind::kPersistent:
      return "persistent_teams, with the recurrent weights over the whole GPU, and layers side by side, where that is "
             "faster";
    case LayerKind::kScan:
      return "the inputs of all steps as one product, then all steps as one scan; for cells whose gates do not read "
             "the "
             "state";
    case LayerKind::kFused:
      return "torch::nn's LSTM, GRU and RNN: cuDNN on CUDA, oneDNN or LibTorch's own loop on the CPU";
    case LayerKind::kCudnn:
      return "cuDNN called directly, by the algorithm that is asked for or was measured to be the fastest";
    case LayerKind::kAuto:
      return "the fastest of the others for the work at hand, by measurement";
  }
  RNNLAB_INVARIANT(false, "a layer kind that description_of does not know");
  return "";
}

std::optional<std::string> refusal(LayerKind kind, Processor processor) {
  const bool needs_streams =
      kind == LayerKind::kStreamed || kind == LayerKind::kWavefront || kind == LayerKind::kDiagonal;
  if (needs_streams && processor == Processor::kCpu)
    return fmt::format("layer: {} needs CUDA streams; on a CPU use layer: hoisted", name_of(kind));
  if (kind == LayerKind::kBlocked && processor == Processor::kGpu)
    return "layer: blocked is made of kernels for the CPU; on a GPU use layer: hoisted or cudnn";
  if (is_persistent(kind) && processor == Processor::kCpu)
    return fmt::format("layer: {} needs a GPU of compute capability 9.0 or later; on a CPU use layer: fused",
                       name_of(kind));
  if (kind == LayerKind::kCudnn && processor == Processor::kCpu)
    return "layer: cudnn needs a CUDA GPU; on a CPU use layer: fused";
  return std::nullopt;
}

std::optional<std::string> refusal(LayerKind kind, const RecurrentOptions& options) {
  if (const auto reason = contradiction(options)) return reason;
  const auto reason = unsupported(kind, options);
  if (!reason) return std::nullopt;
  return fmt::format("layer: {} {}; use layer: {}", name_of(kind), *reason, kinds_that_can(options));
}

}  // namespace rnnlab
