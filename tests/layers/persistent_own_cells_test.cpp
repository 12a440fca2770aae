// SPDX-License-Identifier: Apache-2.0
// Tests `persistent` for cells of users, whose kernels are compiled from their equations: which programs have kernels,
// that these compile for every kind of GPU, and their results.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "golden.h"
#include "layers/kernel_cache/nvrtc.h"
#include "layers/on_cuda.h"
#include "layers/own_cells.h"
#include "layers/persistent/host/kernel_plan.h"
#include "layers/persistent/host/persistent_kernels.h"
#include "layers/persistent/persistent_program.h"
#include "layers/persistent_check.h"
#include "layers/program/bounds.h"
#include "layers/refusals.h"

namespace rnnlab {
namespace {

using ::testing::SizeIs;

struct OwnCell {
  std::string name;
  Cell cell;
};
void PrintTo(const OwnCell& own, std::ostream* out) { *out << own.name; }

// Those of experiments/cells that have kernels, and one for each thing that kernels tell apart.
std::vector<OwnCell> cells_with_kernels() {
  std::vector<OwnCell> cells;
  for (const char* name : {"mgu", "cifg", "janet", "ligru"}) cells.push_back({name, cell_of_file(name)});
  cells.push_back({"peephole", Cell::kLstmPeephole});
  // An inner state, four gates, and the sides of the last one apart, so that five values are kept.
  cells.push_back({"apart", cell_with({"i", "f", "o", "g"}, {"h", "c"},
                                      "f = sigmoid(f)\nc = f * c + (1 - f) * tanh(x.g + sigmoid(i) * h.g)\n"
                                      "h = sigmoid(o) * tanh(c)")});
  // Its backward pass reads the hidden state before a step and after it.
  cells.push_back({"both", cell_with({"z", "n"}, {"h"}, "h = tanh(n + sigmoid(z) * h)")});
  // Without an output gate: the derivative of h is computed from c.
  cells.push_back(
      {"no_output", cell_with({"f", "g"}, {"h", "c"}, "f = sigmoid(f)\nc = f * c + (1 - f) * tanh(g)\nh = tanh(c)")});
  cells.push_back({"one_apart", cell_with({"n"}, {"h"}, "h = tanh(x.n + 0.5 * h.n)")});
  cells.push_back({"one_bias", cell_with({"n"}, {"h"}, "h = 0.5 * h + 0.5 * tanh(n)", Biases::kOne)});
  // Zeros give 0 / 0, which must not leave the units and sequences that a layer does not have.
  cells.push_back(
      {"quotient",
       own_cell({.gates = {"a"}, .states = {"h"}, .equations = "h = tanh(a) * (p / (p + p))", .vectors = {{"p", {}}}})
           .value()});
  return cells;
}

std::string name_of_own(const ::testing::TestParamInfo<OwnCell>& info) { return info.param.name; }

TEST(PersistentOwnCellRefusal, SaysWhatKernelsLack) {
  const auto reason = [](Cell cell) { return why_no_persistent_program(program_of(cell)); };
  for (const OwnCell& own : cells_with_kernels()) EXPECT_EQ(reason(own.cell), "") << own.name;
  for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kRnnTanh, Cell::kRnnRelu, Cell::kSlstm})
    EXPECT_EQ(reason(cell), "") << cell_name(cell);
  expect_golden(reason(Cell::kMinGru));
  expect_golden(reason(cell_with({"a", "b"}, {"h"}, "h = tanh(a) + x.b")));
  expect_golden(reason(cell_with({"a", "b", "c", "d", "e"}, {"h"}, "h = tanh(a + b * c * d * e)")));
  expect_golden(reason(cell_with({"a", "b"}, {"h"}, "h = tanh(x.a + h.a * tanh(b))")));
  expect_golden(reason(cell_with({"a"}, {"h", "c", "d"}, "d = d + c\nc = c + tanh(a)\nh = tanh(d)")));
  expect_golden(reason(cell_with({"a"}, {"h", "c"}, "c = c + tanh(a)\nh = 0.5 * h + c")));
  expect_golden(reason(cell_with({"a"}, {"h"}, "h = tanh(a) * sigmoid(2 * a) + relu(3 * a)")));
  expect_golden(reason(cell_with({"a", "b"}, {"y", "z"}, "z = z + a\ny = 0.5 * y + tanh(x.b + h.b(z))")));  // two rules
}

TEST(PersistentOwnCellRefusal, IsForHeadsOfOtherCellsThanSlstm) {
  const Cell cell =
      own_cell({.gates = {"n"}, .states = {"h"}, .equations = "h = 0.9 * h + 0.1 * tanh(n)", .has_heads = true})
          .value();
  const auto reason = [&](int64_t heads) {
    return refusal_of(LayerKind::kPersistent, RecurrentOptions{.cell = cell, .hidden_size = 128, .heads = heads});
  };
  EXPECT_EQ(reason(1), std::nullopt);
  expect_golden(reason(2));
}

TEST(PersistentOwnCells, MaySpoilOthersWhereZerosDoNotGiveZeros) {
  const auto may_spoil = [](Cell cell) {
    return persistent_program_of(step_code_of(program_of(cell)), /*has_starts=*/false)->may_spoil_others;
  };
  for (const OwnCell& own : cells_with_kernels()) EXPECT_EQ(may_spoil(own.cell), own.name == "quotient") << own.name;
  for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kRnnTanh, Cell::kRnnRelu})
    EXPECT_FALSE(may_spoil(cell)) << cell_name(cell);
  EXPECT_TRUE(may_spoil(cell_with({"a"}, {"h"}, "h = sigmoid(a)")));
  const Cell of_vector = own_cell({.gates = {"a", "b"},
                                   .states = {"h"},
                                   .equations = "h = tanh(a) * where(p > 0, 1 / constant(sigmoid(b)), 1)",
                                   .vectors = {{"p", {}}}})
                             .value();
  EXPECT_TRUE(may_spoil(of_vector));
}

TEST(PersistentOwnCells, HaveABoundThatTheirEquationsShow) {
  for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kRnnTanh, Cell::kLstmPeephole})
    EXPECT_TRUE(stays_within_one(program_of(cell))) << cell_name(cell);
  for (const char* name : {"mgu", "cifg", "janet", "ugrnn"})
    EXPECT_TRUE(stays_within_one(program_of(cell_of_file(name)))) << name;
  for (const char* name : {"ligru", "indrnn"}) EXPECT_FALSE(stays_within_one(program_of(cell_of_file(name)))) << name;
  EXPECT_FALSE(stays_within_one(program_of(Cell::kRnnRelu)));
  EXPECT_TRUE(stays_within_one(program_of(cell_with({"a"}, {"h"}, "h = h + 0.1 * (tanh(a) - h)"))));
  EXPECT_FALSE(stays_within_one(program_of(cell_with({"a"}, {"h"}, "h = h + 0.1 * tanh(a)"))));
  EXPECT_TRUE(stays_within_one(program_of(cell_with({"a"}, {"h"}, "h = max(min(a, 1), -1)"))));
  EXPECT_FALSE(stays_within_one(program_of(cell_with({"a"}, {"h"}, "h = where(a < 0, 2, tanh(a))"))));
}

// ---- compilation, which needs no GPU ----

// Returns the plans of a pass for small and large layers of each class.
std::vector<kernels::persistent::KernelPlan> sample_of_plans(const kernels::PersistentProgram& program,
                                                             const kernels::persistent::GpuClass& gpu) {
  using kernels::persistent::PassKind;
  std::vector<kernels::persistent::KernelPlan> all;
  for (const int64_t hidden_size : {40, 256, 1024})
    for (const PassKind pass : {PassKind::kForward, PassKind::kBackward}) {
      const auto plans = plans_for({.batch_size = 16, .hidden_size = hidden_size, .program = &program}, pass, gpu);
      for (const auto* list : {&plans.grids, &plans.clusters})
        if (!list->empty()) all.push_back(list->front());
    }
  return all;
}

void expect_compilation(const kernels::PersistentProgram& cell, const kernels::persistent::Gpu& gpu) {
  std::set<std::string> seen;
  for (const auto& plan : sample_of_plans(cell, gpu.runs)) {
    if (!seen.insert(plan.source).second) continue;
    const auto program =
        kernels::persistent::program_of(plan, kernels::persistent::architecture_for(gpu, plan.instructions));
    EXPECT_THAT(compile(program).symbols, SizeIs(2)) << plan.kernel;
  }
}

// States before a step may be zero. The cells differ in what the backward pass reads of them.
TEST(PersistentOwnCells, CompileWithStarts) {
  if (const auto reason = nvrtc_unavailable_reason()) GTEST_SKIP() << *reason;
  const kernels::persistent::Gpu gpu = {.major = 9, .minor = 0, .runs = kernels::persistent::class_of(9, 0)};
  for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kRnnTanh})
    expect_compilation(*persistent_program_of(step_code_of(program_of(cell)), /*has_starts=*/true), gpu);
}

class PersistentOwnCell : public ::testing::TestWithParam<OwnCell> {};
INSTANTIATE_TEST_SUITE_P(All, PersistentOwnCell, ::testing::ValuesIn(cells_with_kernels()), name_of_own);

// Kernels for later GPUs are those of clusters and of grids by mma.sync again, so one cell is enough for them.
TEST_P(PersistentOwnCell, CompilesForEveryGpu) {
  if (const auto reason = nvrtc_unavailable_reason()) GTEST_SKIP() << *reason;
  const bool is_for_later_gpus = GetParam().name == "apart";
  for (const int major : {8, 9, 10, 12}) {
    if (major > 9 && !is_for_later_gpus) continue;
    const kernels::persistent::Gpu gpu = {.major = major, .minor = 0, .runs = kernels::persistent::class_of(major, 0)};
    expect_compilation(*persistent_program_of(step_code_of(program_of(GetParam().cell)), /*has_starts=*/false), gpu);
  }
}

// ---- results ----

class PersistentOwnCellOnHopper : public ByOwnKernels, public ::testing::WithParamInterface<OwnCell> {
 protected:
  static void expect_float64(LayerShape shape) {
    shape.options.cell = GetParam().cell;
    for (const NumberClass& numbers : kNumberClasses)
      EXPECT_LE(largest_error(shape, numbers, 1), numbers.tolerance) << describe(shape, numbers);
  }
};
INSTANTIATE_TEST_SUITE_P(All, PersistentOwnCellOnHopper, ::testing::ValuesIn(cells_with_kernels()), name_of_own);

// By one block, and by clusters that pad.
TEST_P(PersistentOwnCellOnHopper, SmallLayersMatchFloat64) {
  expect_float64({.options = {.input_size = 5, .hidden_size = 40}});
  expect_float64({.options = {.input_size = 5, .hidden_size = 200}, .ends = Ends::kVaried});
}

// Over the whole GPU, in groups that are not full.
TEST_P(PersistentOwnCellOnHopper, LargeLayersMatchFloat64) {
  expect_float64({.options = {.input_size = 5, .hidden_size = 1016}, .batch_size = 40});
}

// Pairs of layers and few inputs, if the cell has gates enough, and both directions.
TEST_P(PersistentOwnCellOnHopper, StacksMatchFloat64) {
  expect_float64({.options = {.input_size = 5, .hidden_size = 120, .num_layers = 2}, .num_steps = 12});
  expect_float64({.options = {.input_size = 5, .hidden_size = 128, .num_layers = 2, .bidirectional = true},
                  .ends = Ends::kVaried,
                  .states = States::kZeros});
}

TEST_P(PersistentOwnCellOnHopper, StartsMatchFloat64) {
  for (const int64_t hidden_size : {40, 200, 1016})
    expect_float64(
        {.options = {.input_size = 5, .hidden_size = hidden_size}, .num_steps = 9, .restarts = Restarts::kSome});
}

TEST_P(PersistentOwnCellOnHopper, HalfGradientsMatchFloat64) {
  const RecurrentOptions options = {.cell = GetParam().cell, .input_size = 256, .hidden_size = 256};
  expect_float64_by_half_gradients(
      {.options = options, .num_steps = steps_of_large_products(options, 72), .batch_size = 72});
}

}  // namespace
}  // namespace rnnlab
