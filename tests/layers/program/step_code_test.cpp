// SPDX-License-Identifier: Apache-2.0
// Tests the instructions of programs, and the kernels that interpret them, against float64 evaluation of the graphs:
// every operation, sizes that are not those of tiles and vectors, and both kinds of kernels of the CPU.
#include "layers/program/step_code.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include "layers/cells/cell.h"
#include "layers/kernels/simd_steps.h"
#include "layers/program/evaluate.h"
#include "layers/program/random_cell.h"

namespace rnnlab {
namespace {

// The functions that run a step: interpreted or compiled, by plain numbers or by vectors (null: plain), from products
// or from their sums.
struct Runner {
  bool is_compiled = false;
  const kernels::SimdSteps* vectors = nullptr;
  bool has_sums = false;
};

// One step of a program for B sequences and H units, with random products, states and gradients.
template <class Real>
class StepUnderTest {
 public:
  StepUnderTest(const CellProgram& program, int64_t batch_size, int64_t hidden_size, uint64_t seed)
      : program_(program),
        code_(step_code_of(program)),
        columns_(code_.columns),
        batch_size_(batch_size),
        size_(hidden_size),
        random_(seed) {
    input_ = draw(batch_size * columns_.input * size_);
    recurrent_ = draw(batch_size * columns_.hidden * size_);
    bias_ih_ = draw(columns_.input * size_);
    if (columns_.has_hidden_bias) bias_hh_ = draw(columns_.hidden * size_);
    vectors_ = draw(columns_.vectors * size_);
    vector_gradients_.resize(static_cast<size_t>(batch_size * columns_.vectors * size_));
    hidden_ = draw(batch_size * size_);
    inner_ = draw(batch_size * columns_.inner * size_);
    output_gradient_ = draw(batch_size * size_);
    inner_gradient_ = draw(batch_size * columns_.inner * size_);
    carry_ = draw(batch_size * columns_.carried * size_);
    carry_before_ = carry_;
    hidden_after_.resize(hidden_.size());
    inner_after_.resize(inner_.size());
    kept_ = input_;
    more_kept_.resize(static_cast<size_t>(batch_size * std::max<int64_t>(0, columns_.kept - columns_.input) * size_));
    input_side_.resize(input_.size());
    hidden_side_.resize(recurrent_.size());
    operand_gradients_ = draw(batch_size * columns_.operands * size_);
    operands_.resize(operand_gradients_.size());
  }

  void run(const Runner& runner) {
    kernels::ProgramStep work{
        .step = {.type = sizeof(Real) == 8 ? kernels::ElementType::kFloat64 : kernels::ElementType::kFloat32,
                 .batch_size = batch_size_,
                 .hidden_size = size_},
        .program = runner.is_compiled ? kernels::compiled_program(program_.hash, columns_) : kernels::kInterpreted,
        .columns = columns_,
        .instructions = code_.forward.data(),
        .num_instructions = std::ssize(code_.forward),
        .hidden_before = hidden_.data(),
        .inner_before = inner_.data(),
        .hidden_after = hidden_after_.data(),
        .inner_after = inner_after_.data(),
        .kept = kept_.data(),
        .more_kept = more_kept_.data(),
        .products = {.input = kept_.data(),
                     .recurrent = recurrent_.data(),
                     .bias_ih = bias_ih_.data(),
                     .bias_hh = bias_hh_.data()},
        .vectors = vectors_.data(),
        .operands = operands_.data(),
        .operand_gradients = operand_gradients_.data()};
    const std::vector<float> sums = runner.has_sums ? sums_of_products() : std::vector<float>();
    if (columns_.operands > 0) start(work, kernels::StepPass::kOperands, code_.operands, runner, sums);
    start(work, kernels::StepPass::kForward, code_.forward, runner, sums);
    work.hidden_gradient = {.from_output = output_gradient_.data()};
    work.inner_gradient = inner_gradient_.data();
    work.carry = carry_.data();
    work.input_side = input_side_.data();
    work.hidden_side = hidden_side_.data();
    work.vector_gradients = vector_gradients_.data();
    if (columns_.operands > 0) start(work, kernels::StepPass::kProductSides, code_.product_sides, runner, {});
    product_sides_ = hidden_side_;
    start(work, kernels::StepPass::kBackward, code_.backward, runner, {});
  }

  // Compares every value that is stored with the evaluation of the graphs.
  void expect_evaluation(double tolerance, const std::string& what) const {
    const ReverseProgram reverse = reverse_of(program_);
    for (int64_t b = 0; b < batch_size_; ++b)
      for (int64_t unit = 0; unit < size_; ++unit) {
        const UnitInputs inputs = inputs_of(b, unit);
        if (run_with_derivatives(program_, inputs).distance_to_kink < 10 * tolerance) continue;
        const std::vector<double> values =
            values_of(reverse.graph, inputs, {gradients_of(b, unit), product_gradients_of(b, unit)});
        const auto near = [&](double got, NodeId node, const char* list) {
          const double wanted = node == kNoNode ? 0 : values[static_cast<size_t>(node)];
          ASSERT_NEAR(got, wanted, tolerance * (1 + std::abs(wanted))) << list << " " << what;
        };
        near(at(hidden_after_, 1, 0, b, unit), program_.new_states[0], "hidden");
        for (int64_t i = 0; i < columns_.inner; ++i)
          near(at(inner_after_, columns_.inner, i, b, unit), program_.new_states[static_cast<size_t>(i) + 1], "inner");
        for (int64_t i = 0; i < columns_.kept; ++i)
          near(kept(i, b, unit), reverse.kept[static_cast<size_t>(i)], "kept");
        int64_t input = 0, hidden = 0;
        for (size_t gate = 0; gate < program_.gates.size(); ++gate) {
          if (program_.gates[gate].reads_input)
            near(at(input_side_, columns_.input, input++, b, unit), reverse.input_sides[gate], "input side");
          if (program_.gates[gate].reads_hidden && code_.has_sides_apart)
            near(at(hidden_side_, columns_.hidden, hidden++, b, unit), reverse.hidden_sides[gate], "hidden side");
        }
        for (const auto& [gate, operand] : operands()) {
          near(at(operands_, columns_.operands, operand, b, unit), operand_of(gate), "operand");
          near(at(product_sides_, columns_.hidden, code_.operand_columns[static_cast<size_t>(operand)], b, unit),
               reverse.hidden_sides[gate], "side of a product");
        }
        for (int64_t i = 0; i < columns_.vectors; ++i)
          near(at(vector_gradients_, columns_.vectors, i, b, unit), reverse.vectors[static_cast<size_t>(i)], "vector");
        for (size_t i = 0; i < program_.states.size(); ++i)
          if (const uint8_t column = code_.carry_columns[i]; column != kernels::kNoColumn)
            near(at(carry_, columns_.carried, column, b, unit), reverse.states[i], "state");
          else
            EXPECT_EQ(reverse.states[i], kNoNode);
      }
  }

 private:
  // Vectors run the step in two parts of the units.
  void start(kernels::ProgramStep& work, kernels::StepPass pass,
             const std::vector<kernels::TileInstruction>& instructions, const Runner& runner,
             const std::vector<float>& sums) const {
    work.pass = pass;
    work.instructions = instructions.data();
    work.num_instructions = std::ssize(instructions);
    if (runner.vectors == nullptr) return kernels::run(work, kernels::Rows{0, batch_size_});
    const int64_t cut = size_ / 3;
    for (const auto& units : {kernels::Range{0, cut}, kernels::Range{cut, size_}}) {
      kernels::Sums of_part;
      if (!sums.empty()) of_part = {sums.data() + units.first, code_.num_sums() * size_, size_, 0, units.first};
      runner.vectors->run(work, of_part, {{0, batch_size_}, units});
    }
  }

  std::vector<float> sums_of_products() const {
    std::vector<float> sums(static_cast<size_t>(batch_size_ * code_.num_sums() * size_));
    const auto add = [&](const std::vector<Real>& products, int64_t columns, int64_t column, int64_t place) {
      for (int64_t b = 0; b < batch_size_; ++b)
        for (int64_t unit = 0; unit < size_; ++unit)
          sums[static_cast<size_t>((b * code_.num_sums() + place) * size_ + unit)] +=
              static_cast<float>(at(products, columns, column, b, unit));
    };
    for (int64_t i = 0; i < columns_.input; ++i) add(input_, columns_.input, i, i);
    for (int64_t i = 0; i < columns_.hidden; ++i)
      add(recurrent_, columns_.hidden, i, code_.hidden_places[static_cast<size_t>(i)]);
    return sums;
  }

  std::vector<Real> draw(int64_t count) {
    std::normal_distribution<double> normal(0, 0.5);
    std::vector<Real> values(static_cast<size_t>(count));
    for (Real& value : values) value = static_cast<Real>(normal(random_));
    return values;
  }

  double at(const std::vector<Real>& values, int64_t columns, int64_t column, int64_t b, int64_t unit) const {
    return values[static_cast<size_t>((b * columns + column) * size_ + unit)];
  }

  double kept(int64_t index, int64_t b, int64_t unit) const {
    if (index < columns_.input) return at(kept_, columns_.input, index, b, unit);
    return at(more_kept_, columns_.kept - columns_.input, index - columns_.input, b, unit);
  }

  UnitInputs inputs_of(int64_t b, int64_t unit) const {
    UnitInputs inputs;
    int64_t input_column = 0, hidden_column = 0;
    const auto side = [&](bool is_read, const auto& products, const auto& biases, int64_t columns, int64_t& column) {
      if (!is_read) return 0.0;
      double sum = at(products, columns, column, b, unit);
      if (!biases.empty()) sum += at(biases, columns, column, 0, unit);
      column += 1;
      return sum;
    };
    for (const GateSides& gate : program_.gates) {
      const double input = side(gate.reads_input, input_, bias_ih_, columns_.input, input_column);
      const double hidden = side(gate.reads_hidden, recurrent_, bias_hh_, columns_.hidden, hidden_column);
      inputs.input_sides.push_back(gate.is_sum ? input + hidden : input);
      inputs.hidden_sides.push_back(gate.is_sum ? 0 : hidden);
    }
    inputs.states.push_back(at(hidden_, 1, 0, b, unit));
    for (int64_t i = 0; i < columns_.inner; ++i) inputs.states.push_back(at(inner_, columns_.inner, i, b, unit));
    for (int64_t i = 0; i < columns_.vectors; ++i) inputs.vectors.push_back(at(vectors_, columns_.vectors, i, 0, unit));
    return inputs;
  }

  // Returns the operands of products by gate, in the order of the program.
  std::map<size_t, int64_t> operands() const {
    std::map<size_t, int64_t> all;
    for (const Node& node : program_.graph.nodes())
      if (node.operation == Operation::kHiddenProduct) all.emplace(static_cast<size_t>(node.index), std::ssize(all));
    return all;
  }
  NodeId operand_of(size_t gate) const {
    for (const Node& node : program_.graph.nodes())
      if (node.operation == Operation::kHiddenProduct && static_cast<size_t>(node.index) == gate)
        return node.arguments[0];
    return kNoNode;
  }
  std::vector<double> product_gradients_of(int64_t b, int64_t unit) const {
    std::vector<double> gradients(program_.gates.size());
    for (const auto& [gate, operand] : operands())
      gradients[gate] = at(operand_gradients_, columns_.operands, operand, b, unit);
    return gradients;
  }

  std::vector<double> gradients_of(int64_t b, int64_t unit) const {
    std::vector<double> gradients;
    for (size_t i = 0; i < program_.states.size(); ++i) {
      const auto inner = static_cast<int64_t>(i) - 1;
      const uint8_t column = code_.carry_columns[i];
      gradients.push_back(i == 0 ? at(output_gradient_, 1, 0, b, unit)
                                 : at(inner_gradient_, columns_.inner, inner, b, unit));
      if (column != kernels::kNoColumn) gradients.back() += at(carry_before_, columns_.carried, column, b, unit);
    }
    return gradients;
  }

  const CellProgram& program_;
  const StepCode& code_;
  kernels::StepColumns columns_;
  int64_t batch_size_, size_;
  std::mt19937_64 random_;
  std::vector<Real> input_, recurrent_, bias_ih_, bias_hh_, hidden_, inner_, output_gradient_, inner_gradient_, carry_,
      carry_before_, vectors_, vector_gradients_;
  std::vector<Real> hidden_after_, inner_after_, kept_, more_kept_, input_side_, hidden_side_, product_sides_,
      operands_, operand_gradients_;
};

template <class Real>
void expect_evaluation(const CellProgram& program, int64_t hidden_size, uint64_t seed, double tolerance,
                       const std::string& what, const Runner& runner = {}) {
  StepUnderTest<Real> step(program, 2, hidden_size, seed);
  step.run(runner);
  step.expect_evaluation(tolerance, what);
}

// Returns every form of every cell of the list that has step code, each once.
std::vector<const CellProgram*> programs_of_the_list() {
  std::set<const CellProgram*> programs;
  for (const Cell cell : all_cells()) {
    programs.insert(&program_of(cell));
    for (const RecurrentOptions& options : unusual_options(cell)) programs.insert(&program_of(options));
  }
  std::erase_if(programs, [](const CellProgram* program) { return !why_no_step_code(*program).empty(); });
  return {programs.begin(), programs.end()};
}

TEST(StepCode, OfTheListIsCompiled) {
  EXPECT_GE(programs_of_the_list().size(), 6);
  for (const CellProgram* program : programs_of_the_list()) {
    ASSERT_NE(kernels::compiled_program(program->hash, step_code_of(*program).columns), kernels::kInterpreted)
        << program->canonical_text();
    for (const int64_t size : {1, 7, 37, 64}) {
      expect_evaluation<double>(*program, size, 1, 1e-12, program->canonical_text(), {.is_compiled = true});
      expect_evaluation<float>(*program, size, 1, 1e-4, program->canonical_text(), {.is_compiled = true});
    }
  }
  EXPECT_EQ(kernels::compiled_program("no hash", {}), kernels::kInterpreted);
}

TEST(StepCode, IsRunByEachInstructionSet) {
  std::vector<const kernels::SimdSteps*> sets;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) sets.push_back(&kernels::avx2_steps());
  if (kernels::simd_steps() != nullptr) sets.push_back(kernels::simd_steps());
  for (const kernels::SimdSteps* set : sets)
    for (const CellProgram* program : programs_of_the_list())
      for (const bool is_compiled : {false, true})
        for (const bool has_sums : {false, true})
          expect_evaluation<float>(*program, 87, 1, 1e-5, program->canonical_text(), {is_compiled, set, has_sums});
}

// RNNLAB_LONG_RUN: a hundred times as many.
TEST(StepCode, ComputesRandomCells) {
  const uint64_t num_cells = std::getenv("RNNLAB_LONG_RUN") == nullptr ? 1000 : 100'000;
  int num_run = 0;
  for (uint64_t seed = 1; seed <= num_cells; ++seed) {
    const CellText text = random_cell(seed);
    const CellProgram program = program_of(text);
    if (!why_no_step_code(program).empty()) continue;
    const std::string what = std::to_string(seed) + "\n" + text.equations;
    expect_evaluation<double>(program, 70, seed, 1e-12, what);
    expect_evaluation<float>(program, 70, seed, 1e-4, what);
    if (testing::Test::HasFailure()) return;
    num_run += 1;
  }
  EXPECT_GT(num_run, 500);
}

TEST(StepCode, RunsPartsOfTilesAndVectors) {
  const CellProgram program = program_of(
      {.gates = {"f", "n"}, .states = {"h"}, .equations = "f = sigmoid(f)\nh = (1 - f) * h + f * tanh(x.n + f * h.n)"});
  for (const int64_t size : {1, 3, 15, 16, 17, 63, 64, 65, 200}) {
    expect_evaluation<double>(program, size, 1, 1e-12, std::to_string(size));
    expect_evaluation<float>(program, size, 1, 1e-4, std::to_string(size));
  }
}

// A state may be a gate's sum itself, and the gradient of one state may be that of another after the step.
TEST(StepCode, ComputesStatesThatAreGatesOrOtherStates) {
  for (const char* equations : {"c = f\nh = tanh(n) * relu(c)", "old = c\nc = h\nh = tanh(f) * n + old",
                                "c = x.f\nh = tanh(n) * c * h.f", "old = h\nh = c + tanh(f + n)\nc = old"}) {
    const CellProgram program = program_of({.gates = {"f", "n"}, .states = {"h", "c"}, .equations = equations});
    ASSERT_EQ(why_no_step_code(program), "") << equations;
    expect_evaluation<double>(program, 20, 1, 1e-12, equations);
    expect_evaluation<float>(program, 20, 1, 1e-4, equations);
  }
}

// h = tanh(c) is computed from c in the backward pass, but a product of c is not.
TEST(StepCode, ReadsAHiddenStateThatAnotherStateDetermines) {
  for (const char* equations :
       {"c = tanh(a + b)\nh = tanh(c)\nd = d + h * h", "c = tanh(a)\nh = h.b(c)\nd = d + h * h"}) {
    const CellProgram program = program_of({.gates = {"a", "b"}, .states = {"h", "c", "d"}, .equations = equations});
    ASSERT_EQ(why_no_step_code(program), "") << equations;
    expect_evaluation<double>(program, 20, 1, 1e-12, equations);
  }
}

TEST(StepCode, SaysWhichProgramsItDoesNotRun) {
  const auto reason = [](const char* equations) {
    return why_no_step_code(program_of({.gates = {"f"}, .states = {"h"}, .equations = equations}));
  };
  EXPECT_EQ(reason("h = tanh(f)"), "");
  EXPECT_EQ(reason("h = tanh(x.f + h.f(h * h))"), "");
  EXPECT_EQ(reason("h = tanh(x.f + 2 * h.f(h))"), "");
  EXPECT_EQ(reason("h = h + x.f"), "");
  EXPECT_NE(reason("h = tanh(h.f)"), "") << "no gate reads the input";
  const CellText waiting = {
      .gates = {"f", "g"}, .states = {"h"}, .equations = "h = tanh(x.f + h.f(sigmoid(x.g + h.g(h * h))))"};
  EXPECT_NE(why_no_step_code(program_of(waiting)), "");
}

}  // namespace
}  // namespace rnnlab
