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

using kernels::kNoColumn;
using kernels::TileAction;
using kernels::TileInstruction;

// What is stored of a node.
struct Store {
  TileAction action;
  uint8_t index;
  NodeId node;
};

uint8_t small(size_t index) { return static_cast<uint8_t>(index); }
uint8_t at(const std::vector<uint8_t>& list, int32_t index) { return list[static_cast<size_t>(index)]; }

// The columns of each gate, and the number of the operand that its product reads, or kNoColumn.
struct GateColumns {
  explicit GateColumns(const CellProgram& program) : operand(program.gates.size(), kNoColumn) {
    uint8_t next_input = 0, next_hidden = 0;
    for (const GateSides& gate : program.gates) {
      input.push_back(gate.reads_input ? next_input++ : kNoColumn);
      hidden.push_back(gate.reads_hidden ? next_hidden++ : kNoColumn);
    }
    for (NodeId id = 0; id < program.graph.size(); ++id) {
      if (program.graph[id].operation != Operation::kHiddenProduct) continue;
      operand[static_cast<size_t>(program.graph[id].index)] = small(products.size());
      products.push_back(id);
    }
  }
  std::vector<uint8_t> input, hidden, operand;
  std::vector<NodeId> products;  // by operand
};

// Emits instructions for nodes in their order, and gives each value a tile until its last use.
class Emitter {
 public:
  // `loads`: nodes that are read from memory instead of computed, as instructions without a target.
  Emitter(const Graph& graph, std::map<NodeId, TileInstruction> loads, std::vector<Store> stores,
          const GateColumns& gates, const StepCode& code)
      : graph_(graph), loads_(std::move(loads)), stores_(std::move(stores)), gates_(gates), code_of_step_(code) {
    for (const Store& store : stores_) count_use(store.node);
    for (NodeId id = graph.size(); id-- > 0;)
      if (uses(id) > 0 && !loads_.contains(id))
        for (const NodeId argument : arguments_of(graph[id])) count_use(argument);
  }

  // Returns nothing if more tiles are alive than kernels have.
  std::optional<std::vector<TileInstruction>> run() {
    for (NodeId id = 0; id < graph_.size(); ++id)
      if (is_overwritten(id) && uses(id) > 0 && !emit(id)) return std::nullopt;
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (uses(id) == 0) continue;
      if (!is_overwritten(id) && !emit(id)) return std::nullopt;
      for (const Store& store : stores_)
        if (store.node == id) {
          code_.push_back({.action = store.action, .a = tile_of(id), .index = store.index});
          end_use(id);
        }
    }
    return std::move(code_);
  }

 private:
  // Returns whether a result of the step may take the value's place in memory, so that it is read first: gradients of
  // the states before the step take that of the states after it, and kept values that of the input's products.
  bool is_overwritten(NodeId id) const {
    const Operation operation = graph_[id].operation;
    return operation == Operation::kStateGradient || operation == Operation::kGate ||
           operation == Operation::kInputSide;
  }
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
    RNNLAB_INVARIANT(node.operation != Operation::kHiddenProduct, "a product of an operand is read as a hidden side");
    TileInstruction instruction{.operation = node.operation, .number = node.number};
    place(instruction, node.index);
    uint8_t* slots[] = {&instruction.a, &instruction.b, &instruction.c};
    for (size_t i = 0; i < 3; ++i)
      if (node.arguments[i] != kNoNode) *slots[i] = tile_of(node.arguments[i]);
    return instruction;
  }

  // Sets what the instruction of a leaf says about its place.
  void place(TileInstruction& leaf, int32_t index) const {
    switch (leaf.operation) {
      case Operation::kGate:
        leaf.a = at(gates_.hidden, index);
        [[fallthrough]];
      case Operation::kInputSide:
        leaf.index = leaf.b = at(gates_.input, index);
        return;
      case Operation::kHiddenSide:
        leaf.a = at(gates_.hidden, index);
        leaf.b = at(code_of_step_.hidden_places, leaf.a);
        return;
      case Operation::kProductGradient:
        leaf.index = at(gates_.operand, index);
        return;
      case Operation::kStateGradient:
        leaf.a = at(code_of_step_.carry_columns, index);
        [[fallthrough]];
      case Operation::kState:
      case Operation::kVector:
        leaf.index = static_cast<uint8_t>(index);
        return;
      default:
        RNNLAB_INVARIANT(leaf.operation == Operation::kNumber || info_of(leaf.operation).num_arguments > 0,
                         "place does not know the leaf");
    }
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
  const GateColumns& gates_;
  const StepCode& code_of_step_;
  std::map<NodeId, int> uses_;
  std::map<NodeId, uint8_t> tiles_;
  std::vector<uint8_t> free_;
  int num_tiles_ = 0;
  std::vector<TileInstruction> code_;
};

// The forward pass reads the products of operands as it reads other sides.
std::map<NodeId, TileInstruction> loaded_products(const CellProgram& program, const GateColumns& gates,
                                                  const StepCode& code) {
  std::map<NodeId, TileInstruction> loads;
  for (const NodeId product : gates.products) {
    const uint8_t column = at(gates.hidden, program.graph[product].index);
    loads[product] = {.operation = Operation::kHiddenSide, .a = column, .b = code.hidden_places[column]};
  }
  return loads;
}

std::optional<std::vector<TileInstruction>> operands_code(const CellProgram& program, const GateColumns& gates,
                                                          const StepCode& code) {
  std::vector<Store> stores;
  for (size_t i = 0; i < gates.products.size(); ++i)
    stores.push_back({TileAction::kStoreOperand, small(i), program.graph[gates.products[i]].arguments[0]});
  return Emitter(program.graph, {}, stores, gates, code).run();
}

std::optional<std::vector<TileInstruction>> forward_code(const CellProgram& program, const ReverseProgram& reverse,
                                                         const GateColumns& gates, const StepCode& code) {
  std::vector<Store> stores;
  for (size_t i = 0; i < reverse.kept.size(); ++i)
    stores.push_back({TileAction::kStoreKept, small(i), reverse.kept[i]});
  for (size_t i = 0; i < program.new_states.size(); ++i)
    stores.push_back({TileAction::kStoreState, small(i), program.new_states[i]});
  return Emitter(program.graph, loaded_products(program, gates, code), stores, gates, code).run();
}

// Returns how the reverse program's passes read values of the forward pass.
std::map<NodeId, TileInstruction> loaded_values(const CellProgram& program, const ReverseProgram& reverse) {
  std::map<NodeId, TileInstruction> loads;
  for (size_t i = 0; i < program.new_states.size(); ++i)
    loads[program.new_states[i]] = {.action = TileAction::kLoadStateAfter, .index = small(i)};
  // A number or a state that is also a new state is read as what it is, and h = tanh(c) is computed from c, which saves
  // reading h. The products of a gate are gone by then.
  std::erase_if(loads, [&](const auto& load) {
    const Node& node = reverse.graph[load.first];
    const bool is_of_other_state = node.operation != Operation::kHiddenProduct &&
                                   info_of(node.operation).num_arguments == 1 && loads.contains(node.arguments[0]);
    return node.operation == Operation::kNumber || node.operation == Operation::kState || is_of_other_state;
  });
  for (size_t i = 0; i < reverse.kept.size(); ++i)
    loads[reverse.kept[i]] = {.action = TileAction::kLoadKept, .index = small(i)};
  return loads;
}

std::optional<std::vector<TileInstruction>> product_sides_code(const CellProgram& program, ReverseProgram reverse,
                                                               const GateColumns& gates, const StepCode& code) {
  const NodeId zero = reverse.graph.number(0);
  std::vector<Store> stores;
  for (const NodeId product : gates.products) {
    const int32_t gate = program.graph[product].index;
    const NodeId side = reverse.hidden_sides[static_cast<size_t>(gate)];
    stores.push_back({TileAction::kStoreHiddenSide, at(gates.hidden, gate), side == kNoNode ? zero : side});
  }
  return Emitter(reverse.graph, loaded_values(program, reverse), stores, gates, code).run();
}

std::optional<std::vector<TileInstruction>> backward_code(const CellProgram& program, ReverseProgram reverse,
                                                          const GateColumns& gates, const StepCode& code) {
  const NodeId zero = reverse.graph.number(0);
  const auto or_zero = [&](NodeId node) { return node == kNoNode ? zero : node; };
  std::vector<Store> stores;
  for (size_t i = 0; i < program.gates.size(); ++i) {
    if (gates.input[i] != kNoColumn)
      stores.push_back({TileAction::kStoreInputSide, gates.input[i], or_zero(reverse.input_sides[i])});
    if (code.has_sides_apart && gates.hidden[i] != kNoColumn)
      stores.push_back({TileAction::kStoreHiddenSide, gates.hidden[i], or_zero(reverse.hidden_sides[i])});
  }
  for (size_t i = 0; i < program.states.size(); ++i)
    if (code.carry_columns[i] != kNoColumn)
      stores.push_back({TileAction::kStoreCarry, code.carry_columns[i], reverse.states[i]});
  for (size_t i = 0; i < reverse.vectors.size(); ++i)
    stores.push_back({TileAction::kStoreVectorGradient, small(i), or_zero(reverse.vectors[i])});
  return Emitter(reverse.graph, loaded_values(program, reverse), stores, gates, code).run();
}

// Gives each product of the hidden state and each carried gradient its place.
void set_places(StepCode& code, const CellProgram& program, const ReverseProgram& reverse, const GateColumns& gates) {
  auto place = static_cast<uint8_t>(program.num_input_gates());
  for (size_t i = 0; i < program.gates.size(); ++i) {
    if (gates.hidden[i] == kNoColumn) continue;
    code.hidden_places.push_back(program.gates[i].is_sum ? gates.input[i] : place++);
    const bool is_equal = gates.input[i] != kNoColumn && reverse.input_sides[i] == reverse.hidden_sides[i];
    code.equal_input_columns.push_back(is_equal ? gates.input[i] : kNoColumn);
  }
  code.has_sides_apart = !std::ranges::all_of(program.gates, &GateSides::is_sum);
  for (const NodeId gradient : reverse.states)
    code.carry_columns.push_back(gradient == kNoNode ? kNoColumn : static_cast<uint8_t>(code.columns.carried++));
}

// Returns nothing if the program needs more tiles than kernels have.
std::optional<StepCode> compile(const CellProgram& program) {
  const ReverseProgram reverse = reverse_of(program);
  if (reverse.kept.size() >= kNoColumn) return std::nullopt;
  const GateColumns gates(program);
  StepCode code;
  code.columns = {.input = program.num_input_gates(),
                  .hidden = program.num_hidden_gates(),
                  .inner = std::ssize(program.states) - 1,
                  .kept = std::ssize(reverse.kept),
                  .vectors = static_cast<int64_t>(num_rows(program.vectors)),
                  .operands = std::ssize(gates.products),
                  .has_hidden_bias = program.has_hidden_biases()};
  set_places(code, program, reverse, gates);
  for (const NodeId product : gates.products)
    code.operand_columns.push_back(at(gates.hidden, program.graph[product].index));
  auto forward = forward_code(program, reverse, gates, code);
  auto backward = backward_code(program, reverse, gates, code);
  auto operands = operands_code(program, gates, code);
  auto product_sides = product_sides_code(program, reverse, gates, code);
  if (!forward || !backward || !operands || !product_sides) return std::nullopt;
  code.forward = *std::move(forward);
  code.backward = *std::move(backward);
  code.operands = *std::move(operands);
  code.product_sides = *std::move(product_sides);
  code.text = printed_step(code, "JitProgram");
  return code;
}

// Returns a pointer that stays valid; null if the program needs more tiles than kernels have.
const StepCode* find_code(const CellProgram& program) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<const StepCode>> known;
  const std::lock_guard lock(mutex);
  auto found = known.find(program.hash);
  if (found == known.end()) {
    auto code = compile(program);
    found = known.emplace(program.hash, code ? std::make_unique<const StepCode>(*std::move(code)) : nullptr).first;
  }
  return found->second.get();
}

// Returns whether the operand of a product depends on the product of another operand.
bool has_waiting_operand(const CellProgram& program) {
  const auto is_product = [&](NodeId id) { return program.graph[id].operation == Operation::kHiddenProduct; };
  for (NodeId id = 0; id < program.graph.size(); ++id) {
    if (!is_product(id)) continue;
    const std::vector<bool> needed = needed_for(program.graph, {program.graph[id].arguments[0]});
    for (NodeId other = 0; other < id; ++other)
      if (needed[static_cast<size_t>(other)] && is_product(other)) return true;
  }
  return false;
}

}  // namespace

int64_t StepCode::num_sums() const {
  if (hidden_places.empty()) return columns.input;
  return std::max(columns.input, static_cast<int64_t>(std::ranges::max(hidden_places)) + 1);
}

std::string why_no_step_code(const CellProgram& program) {
  if (has_waiting_operand(program)) return "a product's operand waits for a product whose operand waits too";
  if (program.num_input_gates() == 0) return "no gate reads the input";
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
