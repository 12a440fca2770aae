// SPDX-License-Identifier: Apache-2.0
#include "layers/persistent/host/kernel_names.h"

#include <fmt/format.h>

namespace rnnlab::kernels::persistent {
namespace {

std::string including(const char* header) { return fmt::format("#include \"layers/persistent/{}\"\n", header); }

constexpr const char* name_of(HiddenStatesRead reads) {
  if (reads == HiddenStatesRead::kBoth) return "kBoth";
  return reads == HiddenStatesRead::kAfter ? "kAfter" : "kBefore";
}

}  // namespace

std::string instance_of(const std::string& kernel, const std::string& tiles, StepInputs inputs) {
  if (inputs == StepInputs::kProducts) return fmt::format("{}<{}>", kernel, tiles);
  const char* const name = inputs == StepInputs::kNarrow ? "kNarrow" : "kRowsOfTable";
  return fmt::format("{}<{}, rnnlab::kernels::StepInputs::{}>", kernel, tiles, name);
}

std::string source_including(const char* header) {
  return including(header) + "using namespace rnnlab::kernels::persistent;\n";
}

std::string source_of_cell(const PersistentProgram& program) {
  if (program.has_heads) return including("shared/slstm.h");
  const std::string cell = fmt::format(
      "using Equations = ProgramCell<rnnlab::kernels::JitProgram, rnnlab::kernels::HiddenStatesRead::{}, {}, {}>;\n",
      name_of(program.reads), program.may_spoil_others, program.has_starts);
  return fmt::format("{}namespace rnnlab::kernels {{\n{}}}\n{}", including("shared/program_cell.h"), program.text,
                     cell);
}

}  // namespace rnnlab::kernels::persistent
