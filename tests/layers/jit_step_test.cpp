// SPDX-License-Identifier: Apache-2.0
// Compiles the kernels of programs for GPUs, which needs no GPU: parity_test.cpp runs them where there is one.
#include "layers/kernels/jit_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "layers/cells/cell.h"
#include "layers/kernel_cache/kernel_cache.h"
#include "layers/program/random_cell.h"
#include "layers/program/step_code.h"

namespace rnnlab::kernels {
namespace {

using ::testing::SizeIs;

constexpr ElementType kTypes[] = {ElementType::kFloat32, ElementType::kFloat64, ElementType::kFloat16,
                                  ElementType::kBfloat16};

// Each pass is a kernel; those of all programs are also one for several layers.
void expect_kernels(const CellProgram& program, ElementType type, const char* gpu) {
  const StepCode& code = step_code_of(program);
  EXPECT_THAT(compile(jit_step_program(code.text.c_str(), code.columns, type, gpu)).symbols,
              SizeIs(code.columns.operands > 0 ? 6 : 4))
      << code.text;
}

TEST(JitStep, OfTheListCompilesForEveryTypeAndGpu) {
  if (const auto reason = nvrtc_unavailable_reason()) GTEST_SKIP() << *reason;
  std::vector<const CellProgram*> programs = {&program_of({.cell = Cell::kGru, .reset_gate = ResetGate::kBefore})};
  for (const Cell cell : all_cells()) programs.push_back(&program_of(cell));
  for (const CellProgram* program : programs) {
    ASSERT_EQ(why_no_step_code(*program), "");
    for (const ElementType type : kTypes) expect_kernels(*program, type, "sm_90");
    for (const char* gpu : {"sm_75", "sm_100", "sm_120"}) expect_kernels(*program, ElementType::kBfloat16, gpu);
  }
}

// RNNLAB_LONG_RUN: a thousand programs instead of a few.
TEST(JitStep, OfRandomCellsCompiles) {
  if (const auto reason = nvrtc_unavailable_reason()) GTEST_SKIP() << *reason;
  const int num_programs = std::getenv("RNNLAB_LONG_RUN") == nullptr ? 4 : 1000;
  int num_compiled = 0;
  for (uint64_t seed = 1; num_compiled < num_programs; ++seed) {
    const CellProgram program = program_of(random_cell(seed));
    if (!why_no_step_code(program).empty()) continue;
    expect_kernels(program, kTypes[num_compiled % std::ssize(kTypes)], "sm_90");
    num_compiled += 1;
  }
}

void expect_scan_kernels(const CellProgram& program, ElementType type, const char* gpu) {
  ASSERT_EQ(why_no_step_code(program), "");
  const StepCode& code = step_code_of(program);
  EXPECT_THAT(compile(jit_scan_program(code.text.c_str(), type, gpu)).symbols, SizeIs(2)) << code.text;
}

TEST(JitScan, OfCellsWithoutProductsOfTheStateCompilesForEveryTypeAndGpu) {
  if (const auto reason = nvrtc_unavailable_reason()) GTEST_SKIP() << *reason;
  const CellProgram programs[] = {
      program_of(Cell::kMinGru), program_of(Cell::kMinLstm),
      program_of({.gates = {"n"},
                  .states = {"h"},
                  .equations = "h = relu(x.n + u * h)",
                  .vectors = {{"u", {}}},
                  .biases = Biases::kOne}),
      program_of({.gates = {"f", "n", "o"},
                  .states = {"h", "c", "d"},
                  .equations = "d = tanh(x.n - c)\nc = sigmoid(x.f) * c + p.a * d + p.b\nh = sigmoid(x.o) * tanh(c)",
                  .vectors = {{"p", {"a", "b"}}}})};
  for (const CellProgram& program : programs) {
    for (const ElementType type : kTypes) expect_scan_kernels(program, type, "sm_90");
    for (const char* gpu : {"sm_75", "sm_100", "sm_120"}) expect_scan_kernels(program, ElementType::kBfloat16, gpu);
  }
}

TEST(JitStep, HasAKeyOfItsOwnForEachProgramAndType) {
  const auto key = [](const char* equations, ElementType type) {
    const CellProgram program = program_of({.gates = {"n"}, .states = {"h"}, .equations = equations});
    const StepCode& code = step_code_of(program);
    return key_of(jit_step_program(code.text.c_str(), code.columns, type, "sm_90"));
  };
  EXPECT_NE(key("h = tanh(n)", ElementType::kFloat32), key("h = sigmoid(n)", ElementType::kFloat32));
  EXPECT_NE(key("h = tanh(n)", ElementType::kFloat32), key("h = tanh(n)", ElementType::kFloat64));
  EXPECT_EQ(key("h = tanh(n)", ElementType::kFloat32), key("y = n\nh = tanh(y)", ElementType::kFloat32));
}

}  // namespace
}  // namespace rnnlab::kernels
