// SPDX-License-Identifier: Apache-2.0
#include "layers/persistent/persistent_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "base/text.h"
#include "layers/cells/cell.h"

namespace rnnlab {
namespace {

using kernels::HiddenStatesRead;
using kernels::TileAction;
using kernels::TileInstruction;

constexpr int64_t kMostGates = 4;

bool loads_state(const std::vector<TileInstruction>& code, int state) {
  return std::ranges::any_of(code, [&](const TileInstruction& one) {
    return one.action == TileAction::kCompute && one.operation == Operation::kState && one.index == state;
  });
}

bool loads_state_after(const std::vector<TileInstruction>& code, int state) {
  return std::ranges::any_of(code, [&](const TileInstruction& one) {
    return one.action == TileAction::kLoadStateAfter && one.index == state;
  });
}

// A unit's products are those of all gates with both the input and the hidden state.
std::vector<std::string> why_not_these_gates(const CellProgram& program) {
  if (program.num_hidden_gates() == 0) return {"no gate reads the hidden state"};
  std::vector<std::string> reasons;
  if (program.has_dependent_product())
    reasons.emplace_back("a product reads an expression in place of the hidden state");
  for (const GateSides& gate : program.gates)
    if (!gate.reads_input || !gate.reads_hidden)
      reasons.push_back(
          fmt::format("gate {} reads only the {}", gate.name, gate.reads_input ? "input" : "hidden state"));
  if (std::ssize(program.gates) > kMostGates)
    reasons.push_back(fmt::format("it has {} gates, and kernels have at most {}", program.gates.size(), kMostGates));
  const auto apart = std::ranges::find(program.gates, false, &GateSides::is_sum);
  if (apart != program.gates.end() && std::next(apart) != program.gates.end())
    reasons.push_back(
        fmt::format("the sides of gate {} are apart, which kernels allow for the last gate alone", apart->name));
  return reasons;
}

// A thread carries one number from step to step.
std::string why_not_these_states(const CellProgram& program, const StepCode& code) {
  if (code.columns.inner == 0) return "";
  if (code.columns.inner > 1) return fmt::format("it has {} states, and kernels have at most 2", program.states.size());
  if (loads_state(code.forward, 0) || loads_state(code.backward, 0) || loads_state_after(code.backward, 0))
    return fmt::format("with the state {}, only products may read {}, but the equations or their derivative do",
                       program.states[1], program.states[0]);
  return "";
}

HiddenStatesRead hidden_states_read(const StepCode& code) {
  if (code.columns.inner > 0 || !loads_state_after(code.backward, 0)) return HiddenStatesRead::kBefore;
  return loads_state(code.backward, 0) ? HiddenStatesRead::kBoth : HiddenStatesRead::kAfter;
}

double loaded(const TileInstruction& one, double of_vectors) {
  const bool is_vector = one.action == TileAction::kCompute && one.operation == Operation::kVector;
  return is_vector ? of_vectors : one.number;
}

// Returns whether a pass that loads nothing but zeros, besides vectors, stores nothing but zeros, besides kept values.
bool keeps_zeros(const std::vector<TileInstruction>& code, double of_vectors) {
  std::array<double, kernels::kMostTiles> tiles = {};
  for (const TileInstruction& one : code) {
    if (is_store(one)) {
      if (one.action != TileAction::kStoreKept && tiles[one.a] != 0) return false;  // NaN is not 0 either
      continue;
    }
    const bool is_function = one.action == TileAction::kCompute && info_of(one.operation).num_arguments > 0;
    tiles[one.target] =
        is_function ? compute(one.operation, tiles[one.a], tiles[one.b], tiles[one.c]) : loaded(one, of_vectors);
  }
  return true;
}

// A unit that does not exist has vectors of 0. Those of a sequence that does not exist are its unit's, and nothing
// reads its forward pass.
bool may_spoil_others(const StepCode& code) {
  return !keeps_zeros(code.forward, 0) ||
         std::ranges::any_of(std::array{0.0, 1.0, -1.0}, [&](double one) { return !keeps_zeros(code.backward, one); });
}

bool is_slstm(const CellProgram& program) { return program.hash == program_of(Cell::kSlstm).hash; }

}  // namespace

std::string why_no_persistent_program(const CellProgram& program) {
  if (is_slstm(program)) return "";
  std::vector<std::string> reasons = why_not_these_gates(program);
  reasons.push_back(why_no_step_code(program));
  if (reasons.back().empty()) {
    const StepCode& code = step_code_of(program);
    if (code.columns.kept > code.columns.input + 1)
      reasons.push_back(
          fmt::format("its derivative needs {} numbers of a step besides the states, and kernels keep at "
                      "most {}",
                      code.columns.kept, code.columns.input + 1));
    reasons.push_back(why_not_these_states(program, code));
  }
  std::erase(reasons, "");
  return join(reasons, "; ");
}

const kernels::PersistentProgram* persistent_program_of(const StepCode& code, bool has_starts) {
  static std::mutex mutex;
  static std::map<std::pair<const StepCode*, bool>, kernels::PersistentProgram> known;
  const std::lock_guard lock(mutex);
  const auto [found, is_new] = known.try_emplace({&code, has_starts});
  if (is_new)
    found->second = {.text = code.text.c_str(),
                     .num_gates = static_cast<int>(code.columns.input),
                     .has_two_sides = code.has_sides_apart,
                     .reads = hidden_states_read(code),
                     .may_spoil_others = may_spoil_others(code),
                     .has_starts = has_starts};
  return &found->second;
}

std::vector<const kernels::PersistentProgram*> listed_persistent_programs() {
  std::vector<const kernels::PersistentProgram*> all;
  for (const Cell cell : all_cells()) {
    const CellProgram& program = program_of(cell);
    if (!why_no_persistent_program(program).empty()) continue;
    all.push_back(is_slstm(program) ? &kernels::kSlstmProgram
                                    : persistent_program_of(step_code_of(program), /*has_starts=*/false));
  }
  return all;
}

}  // namespace rnnlab
