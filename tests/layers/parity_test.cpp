// SPDX-License-Identifier: Apache-2.0
// Compares every layer kind, cell and option with the float64 reference, and naive with fused: outputs, final states
// and the gradients of inputs, initial states and every weight.
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "layers/layer_under_test.h"
#include "layers/on_cuda.h"
#include "layers/own_cells.h"
#include "layers/refusals.h"

namespace rnnlab {
namespace {

using config::name_of;
using reference::Lengths;
using reference::Problem;
using reference::Shape;
using reference::Start;
using reference::Starts;

// Holds a cell with all options that change its equations.
struct CellForm {
  Cell cell;
  ResetGate reset_gate = ResetGate::kAfter;
  Activation activation = Activation::kTanh;
  Candidate candidate = Candidate::kPositive;
  int64_t heads = 1;
};

std::vector<CellForm> listed_forms() {
  return {
      {Cell::kLstm},
      {Cell::kGru},
      {Cell::kRnnTanh},
      {Cell::kRnnRelu},
      {Cell::kLstm, ResetGate::kAfter, Activation::kRelu},
      {Cell::kGru, ResetGate::kAfter, Activation::kRelu},
      {Cell::kGru, ResetGate::kBefore, Activation::kTanh},
      {Cell::kGru, ResetGate::kBefore, Activation::kRelu},
      {.cell = Cell::kMinGru},
      {.cell = Cell::kMinGru, .candidate = Candidate::kLinear},
      {.cell = Cell::kMinLstm},
      {.cell = Cell::kMinLstm, .candidate = Candidate::kLinear},
      {.cell = Cell::kLstmPeephole},
      {.cell = Cell::kLstmPeephole, .activation = Activation::kRelu},
      {.cell = Cell::kSlstm},
      {.cell = Cell::kSlstm, .heads = 2},
  };
}

// The equations of experiments/cells.
const std::map<Cell, std::string>& own_cells() {
  static const std::map<Cell, std::string> cells = [] {
    std::map<Cell, std::string> all;
    for (const char* name : {"mgu", "cifg", "janet", "ugrnn", "ligru", "indrnn"}) all[cell_of_file(name)] = name;
    // Products that read an expression in place of the hidden state: that of the first gate, and with another state.
    all[cell_with({"n", "f"}, {"h"}, "f = sigmoid(f)\nh = (1 - f) * h + f * tanh(x.n + h.n(f * h))")] = "operand";
    all[cell_with({"a", "b"}, {"y", "z"}, "z = z + 0.3 * (tanh(a + h.b(z)) - 0.7 * y - 0.5 * z)\ny = y + 0.3 * z")] =
        "cornn";
    // Gates that read one side, a learned vector, one bias, three states, of which the second does not read itself.
    CellText mixed;
    mixed.gates = {"a", "b", "n"};
    mixed.states = {"h", "c", "d"};
    mixed.vectors = {{"p", {}}};
    mixed.biases = Biases::kOne;
    mixed.equations = "d = 0.5 * d + 0.5 * c\nc = sigmoid(x.a + p * h) * tanh(n)\nh = sigmoid(h.b) * h + c * relu(d)";
    all[own_cell(mixed).value()] = "mixed";
    // No product of the hidden state: a learned decay, and three states.
    all[own_cell({.gates = {"n"},
                  .states = {"h"},
                  .equations = "a = sigmoid(decay)\nh = a * h + (1 - a) * x.n",
                  .vectors = {{"decay", {}}}})
            .value()] = "ema";
    all[own_cell({.gates = {"f", "n", "o"},
                  .states = {"h", "c", "d"},
                  .equations = "f = sigmoid(x.f)\nd = tanh(p.b + x.n - c) - 0.3 * d\n"
                               "c = f * c + p.a * d + (1 - f) * x.n\nh = sigmoid(x.o) * tanh(c) + 0.2 * h",
                  .vectors = {{"p", {"a", "b"}}}})
            .value()] = "units_apart";
    return all;
  }();
  return cells;
}

std::vector<CellForm> forms() {
  std::vector<CellForm> all = listed_forms();
  for (const auto& [cell, name] : own_cells()) all.push_back({.cell = cell});
  return all;
}

RecurrentOptions options_of(const CellForm& form, int64_t input_size = 3, int64_t hidden_size = 4) {
  return {.cell = form.cell,
          .input_size = input_size,
          .hidden_size = hidden_size,
          .reset_gate = form.reset_gate,
          .activation = form.activation,
          .candidate = form.candidate,
          .heads = form.heads,
          .cudnn_algorithm = CudnnAlgorithm::kStandard};  // auto would measure every tiny shape
}

struct Case {
  LayerKind kind;
  CellForm form;
  at::ScalarType type;
  at::DeviceType device;
};

std::vector<RecurrentOptions> stacks_of(LayerKind kind, const RecurrentOptions& options) {
  auto stacks = reference::stacks_of(options);
  std::erase_if(stacks, [&](const RecurrentOptions& stack) { return refusal_of(kind, stack).has_value(); });
  return stacks;
}

// Each case runs all combinations of layers, directions, initial state, lengths and batch first.
struct Variation {
  RecurrentOptions options;
  Shape shape;
};

std::vector<Variation> variations_of(LayerKind kind, const CellForm& form) {
  std::vector<Variation> variations;
  const auto has = [&](PassFeature feature) {
    return !why_unsupported(kind, {.options = options_of(form), .features = {feature}});
  };
  for (RecurrentOptions options : stacks_of(kind, options_of(form)))
    for (const Start start : {Start::kZeros, Start::kGiven})
      for (const Lengths lengths : {Lengths::kWhole, Lengths::kVaried})
        for (const bool batch_first : {false, true}) {
          options.batch_first = batch_first;
          variations.push_back({options, {.start = start, .lengths = lengths}});
          // Two of the eight combinations, because each is slow, and zero initial states hide whether they are read.
          if (start == Start::kZeros || batch_first != (lengths == Lengths::kVaried)) continue;
          const auto starts = has(PassFeature::kStarts) ? Starts::kSome : Starts::kNone;
          if (starts == Starts::kSome)
            variations.push_back({options, {.start = start, .lengths = lengths, .starts = starts}});
          if (has(PassFeature::kAllStates))
            variations.push_back(
                {options, {.start = start, .lengths = lengths, .starts = starts, .returns_all_states = true}});
        }
  return variations;
}

// The layers with streams do not support the CPU, but their loops run there, which tests the order of their work.
bool runs(LayerKind kind, const CellForm& form, at::DeviceType device) {
  const auto processor = device == at::kCUDA ? Processor::kGpu : Processor::kCpu;
  const bool runs_on_one_lane =
      kind == LayerKind::kStreamed || kind == LayerKind::kWavefront || kind == LayerKind::kDiagonal;
  // On a CPU these run a program as `grouped` or `hoisted` do.
  const bool runs_as_another = kind == LayerKind::kStreamed || kind == LayerKind::kFusedPointwise ||
                               kind == LayerKind::kPretransposed || kind == LayerKind::kWavefront;
  if (device == at::kCPU && !info_of(form.cell).library && runs_as_another) return false;
  return !refusal_of(kind, options_of(form)) && (runs_on_one_lane || !refusal_of(kind, processor));
}

std::vector<at::ScalarType> short_types_on(at::DeviceType device) {
  return device == at::kCUDA ? std::vector{at::kBFloat16, at::kHalf} : std::vector{at::kBFloat16};
}

std::vector<Case> cases_on(at::DeviceType device) {
  std::vector<at::ScalarType> types = short_types_on(device);
  types.insert(types.end(), {at::kFloat, at::kDouble});
  std::vector<Case> cases;
  for (const LayerKind kind : layer_kinds())
    for (const CellForm& form : forms())
      for (const at::ScalarType type : types)
        if (runs(kind, form, device)) cases.push_back({kind, form, type, device});
  return cases;
}

// Leaves out cases on CUDA if there is no GPU, and cases of layers with own kernels if this build has no code for the
// GPU. A test below reports both as skipped.
std::vector<Case> cases_here(at::DeviceType device, bool (*condition)(const Case&)) {
  if (device == at::kCUDA && !at::hasCUDA()) return {};
  std::vector<Case> cases = cases_on(device);
  const bool is_on_cuda = device == at::kCUDA;
  std::erase_if(cases, [&](const Case& c) {
    return !condition(c) || (is_on_cuda && refusal_of(c.kind, work_on(c10::Device(at::kCUDA, 0))));
  });
  return cases;
}

bool is_not_naive(const Case& c) { return c.kind != LayerKind::kNaive; }
bool is_float32(const Case& c) { return c.type == at::kFloat; }

std::string name_of_form(const CellForm& form) {
  std::string name = is_own(form.cell) ? own_cells().at(form.cell) : cell_name(form.cell);
  if (form.reset_gate == ResetGate::kBefore) name += "_before";
  if (form.activation == Activation::kRelu) name += "_relu";
  if (form.candidate == Candidate::kLinear) name += "_linear";
  if (form.heads > 1) name += fmt::format("_{}_heads", form.heads);
  return name;
}

std::string name_of_case(const ::testing::TestParamInfo<Case>& info) {
  const Case& c = info.param;
  return fmt::format("{}_{}_{}_{}", name_of(c.kind), name_of_form(c.form), c10::toString(c.type),
                     c.device == at::kCUDA ? "cuda" : "cpu");
}

std::string describe(const Variation& variation) {
  return fmt::format("layers {}, {}, initial state {}, lengths {}, {}{}", variation.options.num_layers,
                     variation.options.bidirectional ? "bidirectional" : "one direction",
                     variation.shape.start == Start::kGiven ? "given" : "zeros",
                     variation.shape.lengths == Lengths::kVaried ? "varied" : "whole",
                     variation.options.batch_first ? "batch first" : "steps first",
                     variation.shape.starts == Starts::kSome ? ", starts" : "") +
         (variation.shape.returns_all_states ? ", all states" : "");
}

class Parity : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    at::set_num_threads(1);  // the tensors are tiny
    at::globalContext().setAllowTF32CuBLAS(false);
    at::globalContext().setAllowTF32CuDNN(false);
  }

  Place place() const { return {GetParam().type, at::Device(GetParam().device)}; }
  double tolerance() const { return tolerance_of(place().type, place().device); }

  Problem problem(const RecurrentOptions& options, const Shape& shape) const {
    return rounded(reference::random_problem(options, shape, distance_to_kink_of(place().type)), place().type);
  }

  void expect_the_reference(const RecurrentOptions& options, const Shape& shape) const {
    const Problem given = problem(options, shape);
    const auto upstream = rounded(reference::random_upstream(given), place().type);
    const auto layer = make_layer_for(GetParam().kind, given, place());
    expect_near(run(*layer, given, upstream, place()), run_reference(given, upstream), tolerance());
  }
};

TEST_P(Parity, EveryOptionMatchesTheReference) {
  for (const Variation& variation : variations_of(GetParam().kind, GetParam().form)) {
    SCOPED_TRACE(describe(variation));
    expect_the_reference(variation.options, variation.shape);
  }
}

TEST_P(Parity, OddShapesMatchTheReference) {
  struct Odd {
    int64_t num_steps, batch_size, input_size, hidden_size;
  };
  for (const Odd& odd : {Odd{1, 1, 1, 1}, Odd{1, 4, 3, 5}, Odd{6, 1, 2, 7}, Odd{3, 2, 9, 1}, Odd{2, 2, 1, 33}}) {
    SCOPED_TRACE(fmt::format("T {}, B {}, I {}, H {}", odd.num_steps, odd.batch_size, odd.input_size, odd.hidden_size));
    for (const auto& options : stacks_of(GetParam().kind, options_of(GetParam().form, odd.input_size, odd.hidden_size)))
      expect_the_reference(options, {.num_steps = odd.num_steps, .batch_size = odd.batch_size});
  }
}

class ParityWithNaive : public Parity {};

TEST_P(ParityWithNaive, SameWeightsGiveTheSameResults) {
  for (const Variation& variation : variations_of(GetParam().kind, GetParam().form)) {
    SCOPED_TRACE(describe(variation));
    const Problem given = problem(variation.options, variation.shape);
    const auto upstream = rounded(reference::random_upstream(given), place().type);
    const auto naive = make_layer_for(LayerKind::kNaive, given, place());
    const auto layer = make_layer(GetParam().kind, variation.options);
    layer->to(place().device, place().type);
    copy_weights(*naive, *layer);
    expect_near(run(*layer, given, upstream, place()), run(*naive, given, upstream, place()), 2 * tolerance());
  }
}

class ParityUnderAutocast : public Parity {
 protected:
  void expect_the_reference_in(at::ScalarType type, const Variation& variation) const {
    const Problem given =
        rounded(reference::random_problem(variation.options, variation.shape, distance_to_kink_of(type)), type);
    const auto upstream = rounded(reference::random_upstream(given), type);
    const auto layer = make_layer_for(GetParam().kind, given, place());
    const Autocast autocast(GetParam().device, type);
    expect_near(run(*layer, given, upstream, place()), run_reference(given, upstream),
                tolerance_of(type, place().device));
    for (const auto& weight : layer->parameters()) EXPECT_EQ(weight.grad().scalar_type(), at::kFloat);
  }
};

TEST_P(ParityUnderAutocast, SixteenBitsMatchTheReference) {
  for (const at::ScalarType type : short_types_on(GetParam().device))
    for (const Variation& variation : variations_of(GetParam().kind, GetParam().form)) {
      SCOPED_TRACE(fmt::format("{}, {}", c10::toString(type), describe(variation)));
      expect_the_reference_in(type, variation);
    }
}

// Instantiates a fixture's cases on both devices. There may be no cases on CUDA.
#define RNNLAB_INSTANTIATE(fixture, condition)                                                                \
  GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(fixture);                                                     \
  INSTANTIATE_TEST_SUITE_P(Cpu, fixture, ::testing::ValuesIn(cases_here(at::kCPU, condition)), name_of_case); \
  INSTANTIATE_TEST_SUITE_P(Cuda, fixture, ::testing::ValuesIn(cases_here(at::kCUDA, condition)), name_of_case)

RNNLAB_INSTANTIATE(Parity, [](const Case&) { return true; });
RNNLAB_INSTANTIATE(ParityWithNaive, is_not_naive);
RNNLAB_INSTANTIATE(ParityUnderAutocast, is_float32);

size_t num_combinations(at::DeviceType device) {
  size_t count = 0;
  for (const Case& c : cases_on(device)) count += variations_of(c.kind, c.form).size();
  return count;
}

// docs/layers.md documents this.
TEST(ParityCombinations, AreThisManyOnTheCpu) { EXPECT_EQ(num_combinations(at::kCPU), 19248U); }

TEST(ParityCombinations, AreThisManyOnCuda) {
  EXPECT_EQ(num_combinations(at::kCUDA), 35584U);
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a CUDA GPU: parity on CUDA did not run";
  if (!has_own_kernels_here()) GTEST_SKIP() << "needs own kernels: parity on CUDA ran only for the other layers";
}

}  // namespace
}  // namespace rnnlab
