// SPDX-License-Identifier: Apache-2.0
#include "layers/program/print_step.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/error.h"
#include "layers/program/graph.h"

namespace rnnlab {
namespace {

using kernels::TileAction;
using kernels::TileInstruction;
using enum Operation;

std::string printed_number(double number) {
  if (std::isnan(number)) return "Math::infinity() - Math::infinity()";
  if (std::isinf(number)) return number > 0 ? "Math::infinity()" : "-Math::infinity()";
  return fmt::format("Math::number({:a})", number);
}

bool is_leaf(const TileInstruction& at) {
  return at.action == TileAction::kLoadStateAfter || at.action == TileAction::kLoadKept ||
         (at.action == TileAction::kCompute && at.operation != kNumber && info_of(at.operation).num_arguments == 0);
}

// Prints the instructions of one pass. A tile is a new constant each time that it is written. All loads come first and
// all stores last, because a compiler, which does not know that they never overlap, would keep a load after a store.
class PassPrinter {
 public:
  std::string print(const std::vector<TileInstruction>& code) {
    std::string loads, operations, stores;
    for (const TileInstruction& one : code) {
      std::string& lines = is_leaf(one) ? loads : is_store(one) ? stores : operations;
      lines += "    " + line(one) + "\n";
    }
    return loads + operations + stores;
  }

 private:
  std::string line(const TileInstruction& at) {
    switch (at.action) {
      case TileAction::kCompute:
        return assigned(at, computed(at));
      case TileAction::kLoadStateAfter:
        return assigned(at, fmt::format("units.state_after({})", at.index));
      case TileAction::kLoadKept:
        return assigned(at, fmt::format("units.kept({})", at.index));
      case TileAction::kStoreState:
        return stored("set_state", at);
      case TileAction::kStoreKept:
        return stored("keep", at);
      case TileAction::kStoreInputSide:
        return stored("set_input_side", at);
      case TileAction::kStoreHiddenSide:
        return stored("set_hidden_side", at);
      case TileAction::kStoreCarry:
        return stored("set_carry", at);
      case TileAction::kStoreVectorGradient:
        return stored("set_vector_gradient", at);
      case TileAction::kStoreOperand:
        return stored("set_operand", at);
    }
    fail_invariant("a listed action", __FILE__, __LINE__, "PassPrinter does not know the action");
  }

  std::string assigned(const TileInstruction& at, const std::string& value) {
    names_[at.target] = fmt::format("v{}", num_values_++);
    return fmt::format("const Vector {} = {};", names_[at.target], value);
  }
  std::string stored(std::string_view function, const TileInstruction& at) const {
    return fmt::format("units.{}({}, {});", function, at.index, names_[at.a]);
  }

  std::string computed(const TileInstruction& at) const {
    const std::string &a = names_[at.a], &b = names_[at.b];
    switch (at.operation) {
      case kNumber:
        return printed_number(at.number);
      case kGate:
        return fmt::format("units.gate({}, {}, {})", at.index, at.a, at.b);
      case kInputSide:
        return fmt::format("units.input_side({}, {})", at.index, at.b);
      case kHiddenSide:
        return fmt::format("units.hidden_side({}, {})", at.a, at.b);
      case kState:
        return fmt::format("units.state({})", at.index);
      case kStateGradient:
        return fmt::format("units.gradient({}, {})", at.index, at.a);
      case kVector:
        return fmt::format("units.vector({})", at.index);
      case kProductGradient:
        return fmt::format("units.product_gradient({})", at.index);
      case kHiddenProduct:
        fail_invariant("an operation of step code", __FILE__, __LINE__, "step code has no such operation");
      case kAdd:
      case kSubtract:
      case kMultiply:
      case kDivide:
        return fmt::format("{} {} {}", a, info_of(at.operation).name, b);
      case kLess:
      case kLessOrEqual:
      case kEqual:
        return fmt::format("Math::truth({} {} {})", a, info_of(at.operation).name, b);
      default:
        return called(at);
    }
  }

  std::string called(const TileInstruction& at) const {
    const OperationInfo& info = info_of(at.operation);
    std::string arguments = names_[at.a];
    if (info.num_arguments > 1) arguments += ", " + names_[at.b];
    if (info.num_arguments > 2) arguments += ", " + names_[at.c];
    return fmt::format("Math::{}({})", info.name, arguments);
  }

  std::array<std::string, kernels::kMostTiles> names_;  // by tile
  int num_values_ = 0;
};

std::string printed_pass(std::string_view name, const std::vector<TileInstruction>& code) {
  if (code.empty()) return "";
  return fmt::format(
      "  template <class Units>\n"
      "  RNNLAB_HOST_DEVICE static void {}(Units& units) {{\n"
      "    using Math = typename Units::Math;\n"
      "    using Vector = typename Units::Vector;\n"
      "{}  }}\n",
      name, PassPrinter().print(code));
}

}  // namespace

bool is_store(const TileInstruction& at) {
  return at.action != TileAction::kCompute && at.action != TileAction::kLoadStateAfter &&
         at.action != TileAction::kLoadKept;
}

std::string printed_step(const StepInstructions& code, std::string_view name) {
  const kernels::StepColumns& columns = code.columns;
  return fmt::format(
             "struct {} {{\n"
             "  static constexpr StepColumns kColumns = {{{}, {}, {}, {}, {}, {}, {}, {}}};\n"
             "  static constexpr bool kHasSidesApart = {};\n",
             name, columns.input, columns.hidden, columns.inner, columns.kept, columns.carried, columns.vectors,
             columns.operands, columns.has_hidden_bias, code.has_sides_apart) +
         printed_pass("forward", code.forward) + printed_pass("backward", code.backward) +
         printed_pass("operands", code.operands) + printed_pass("product_sides", code.product_sides) + "};\n";
}

}  // namespace rnnlab
