// SPDX-License-Identifier: Apache-2.0
#include "layers/program/step_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include "base/error.h"

namespace rnnlab {
namespace {

using kernels::TileAction;
using kernels::TileInstruction;

// What is stored of a node.
struct Store {
  TileAction action;
  uint8_t index;
  NodeId node;
};

// Emits instructions for nodes in their order, and gives each value a tile until its last use.
class Emitter {
 public:
  // `loads`: nodes that are read from memory instead of computed, as instructions without a target.
  Emitter(const Graph& graph, std::map<NodeId, TileInstruction> loads, std::vector<Store> stores,
          const std::vector<int64_t>& hidden_places)
      : graph_(graph), loads_(std::move(loads)), stores_(std::move(stores)), hidden_places_(hidden_places) {
    for (const Store& store : stores_) count_use(store.node);
    for (NodeId id = graph.size(); id-- > 0;)
      if (uses(id) > 0 && !loads_.contains(id))
        for (const NodeId argument : arguments_of(graph[id])) count_use(argument);
  }

  // Returns nothing if more tiles are alive than kernels have.
  std::optional<std::vector<TileInstruction>> run() {
    // All gradients of states are read first, because those of the states before the step take their place.
    for (NodeId id = 0; id < graph_.size(); ++id)
      if (is_gradient(id) && uses(id) > 0 && !emit(id)) return std::nullopt;
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (uses(id) == 0) continue;
      if (!is_gradient(id) && !emit(id)) return std::nullopt;
      for (const Store& store : stores_)
        if (store.node == id) {
          code_.push_back({.action = store.action, .a = tile_of(id), .index = store.index});
          end_use(id);
        }
    }
    return std::move(code_);
  }

 private:
  bool is_gradient(NodeId id) const { return graph_[id].operation == Operation::kStateGradient; }
  int& uses(NodeId id) { return uses_[id]; }
  void count_use(NodeId id) { uses_[id] += 1; }
  uint8_t tile_of(NodeId id) const { return tiles_.at(id); }

  bool emit(NodeId id) {
    TileInstruction instruction = instruction_of(id);
    if (!loads_.contains(id))
      for (const NodeId argument : arguments_of(graph_[id])) end_use(argument);
    const auto tile = free_tile();
    if (!tile) return false;
    instruction.target = tiles_[id] = *tile;
    code_.push_back(instruction);
    return true;
  }

  TileInstruction instruction_of(NodeId id) const {
    if (const auto load = loads_.find(id); load != loads_.end()) return load->second;
    const Node& node = graph_[id];
    RNNLAB_INVARIANT(node.operation != Operation::kVector && node.operation != Operation::kHiddenProduct,
                     "step code has no such operation");
    TileInstruction instruction{
        .operation = node.operation, .index = static_cast<uint8_t>(node.index), .number = node.number};
    if (node.operation == Operation::kHiddenSide)
      instruction.a = static_cast<uint8_t>(hidden_places_[static_cast<size_t>(node.index)]);
    uint8_t* slots[] = {&instruction.a, &instruction.b, &instruction.c};
    for (size_t i = 0; i < 3; ++i)
      if (node.arguments[i] != kNoNode) *slots[i] = tile_of(node.arguments[i]);
    return instruction;
  }

  // An instruction reads its arguments of a vector before it writes its target there, so both may be one tile.
  void end_use(NodeId id) {
    if (--uses_[id] == 0) free_.push_back(tile_of(id));
  }

  std::optional<uint8_t> free_tile() {
    if (!free_.empty()) {
      const uint8_t tile = free_.back();
      free_.pop_back();
      return tile;
    }
    if (num_tiles_ == kernels::kMostTiles) return std::nullopt;
    return static_cast<uint8_t>(num_tiles_++);
  }

  const Graph& graph_;
  std::map<NodeId, TileInstruction> loads_;
  std::vector<Store> stores_;
  const std::vector<int64_t>& hidden_places_;
  std::map<NodeId, int> uses_;
  std::map<NodeId, uint8_t> tiles_;
  std::vector<uint8_t> free_;
  int num_tiles_ = 0;
  std::vector<TileInstruction> code_;
};

uint8_t small(size_t index) { return static_cast<uint8_t>(index); }

std::optional<std::vector<TileInstruction>> forward_code(const CellProgram& program, const ReverseProgram& reverse,
                                                         const std::vector<int64_t>& hidden_places) {
  std::vector<Store> stores;
  for (size_t i = 0; i < reverse.kept.size(); ++i)
    stores.push_back({TileAction::kStoreKept, small(i), reverse.kept[i]});
  for (size_t i = 0; i < program.new_states.size(); ++i)
    stores.push_back({TileAction::kStoreState, small(i), program.new_states[i]});
  return Emitter(program.graph, {}, stores, hidden_places).run();
}

std::optional<std::vector<TileInstruction>> backward_code(const CellProgram& program, ReverseProgram reverse,
                                                          const StepCode& code) {
  std::map<NodeId, TileInstruction> loads;
  for (size_t i = 0; i < program.new_states.size(); ++i)
    loads[program.new_states[i]] = {.action = TileAction::kLoadStateAfter, .index = small(i)};
  // A number or a state that is also a new state is read as what it is. The products of a gate are gone by then.
  std::erase_if(loads, [&](const auto& load) {
    const Operation operation = reverse.graph[load.first].operation;
    return operation == Operation::kNumber || operation == Operation::kState;
  });
  for (size_t i = 0; i < reverse.kept.size(); ++i)
    loads[reverse.kept[i]] = {.action = TileAction::kLoadKept, .index = small(i)};
  const NodeId zero = reverse.graph.number(0);
  const auto or_zero = [&](NodeId node) { return node == kNoNode ? zero : node; };
  std::vector<Store> stores;
  for (size_t i = 0; i < program.gates.size(); ++i) {
    stores.push_back({TileAction::kStoreInputSide, small(i), or_zero(reverse.input_sides[i])});
    if (code.has_sides_apart)
      stores.push_back({TileAction::kStoreHiddenSide, small(i), or_zero(reverse.hidden_sides[i])});
  }
  for (size_t i = 0; i < program.states.size(); ++i)
    stores.push_back({TileAction::kStoreCarry, small(i), or_zero(reverse.states[i])});
  return Emitter(reverse.graph, loads, stores, code.hidden_places).run();
}

// Returns nothing if the program needs more tiles than kernels have.
std::optional<StepCode> compile(const CellProgram& program) {
  const ReverseProgram reverse = reverse_of(program);
  StepCode code;
  code.num_gates = std::ssize(program.gates);
  code.num_inner = std::ssize(program.states) - 1;
  code.num_kept = std::ssize(reverse.kept);
  int64_t place = code.num_gates;
  for (size_t i = 0; i < program.gates.size(); ++i)
    code.hidden_places.push_back(program.gates[i].is_sum ? static_cast<int64_t>(i) : place++);
  code.has_sides_apart = place > code.num_gates;
  auto forward = forward_code(program, reverse, code.hidden_places);
  auto backward = backward_code(program, reverse, code);
  if (!forward || !backward) return std::nullopt;
  code.forward = *std::move(forward);
  code.backward = *std::move(backward);
  return code;
}

// Returns a pointer that stays valid; null if the program needs more tiles than kernels have.
const StepCode* find_code(const CellProgram& program) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<const StepCode>> known;
  const std::lock_guard lock(mutex);
  const auto [found, is_new] = known.try_emplace(program.hash);
  if (is_new)
    if (auto code = compile(program)) found->second = std::make_unique<const StepCode>(*std::move(code));
  return found->second.get();
}

}  // namespace

int64_t StepCode::num_sums() const { return std::max(num_gates, std::ranges::max(hidden_places) + 1); }

std::string why_no_step_code(const CellProgram& program) {
  if (program.has_dependent_product()) return "a product reads an expression in place of the hidden state";
  if (!program.vectors.empty()) return "it has learned vectors";
  if (program.biases == Biases::kOne) return "it has one bias";
  if (!std::ranges::all_of(program.gates, [](const GateSides& gate) { return gate.reads_input && gate.reads_hidden; }))
    return "a gate does not read both the input and the hidden state";
  if (find_code(program) == nullptr)
    return fmt::format("more than {} of its values are needed at the same time", kernels::kMostTiles);
  return "";
}

const StepCode& step_code_of(const CellProgram& program) {
  const StepCode* code = find_code(program);
  RNNLAB_INVARIANT(code != nullptr, "the program has no step code");
  return *code;
}

}  // namespace rnnlab
