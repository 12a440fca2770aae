// SPDX-License-Identifier: Apache-2.0
#include "layers/scan/scan_layer.h"

#include <ATen/Parallel.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/log_sigmoid.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "base/error.h"
#include "layers/device/gpu_support.h"
#include "layers/device/number_types.h"
#include "layers/device/run_kernels.h"
#include "layers/execution_path.h"
#include "layers/kernels/gated_scan.h"
#include "layers/stacked_layer.h"

namespace rnnlab {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Describes a scan over one direction of one layer, without its tensors.
struct ScanSpec {
  kernels::ScanGates gates = kernels::ScanGates::kUpdateGate;
  Candidate candidate = Candidate::kPositive;
  Direction direction = Direction::kForward;

  int64_t num_gates() const { return gates == kernels::ScanGates::kUpdateGate ? 2 : 3; }
};

kernels::ScanGates gates_of(Cell cell) {
  RNNLAB_INVARIANT(cell == Cell::kMinGru || cell == Cell::kMinLstm,
                   fmt::format("layer: scan does not have cell: {}", cell_name(cell)));
  return cell == Cell::kMinGru ? kernels::ScanGates::kUpdateGate : kernels::ScanGates::kTwoGates;
}

// Returns the states before each step: `initial` and all states but the last one, in the order of the scan.
at::Tensor states_before(const at::Tensor& states, const at::Tensor& initial, Direction direction) {
  const int64_t num_steps = states.size(0);
  if (direction == Direction::kForward) return at::cat({initial.unsqueeze(0), states.narrow(0, 0, num_steps - 1)});
  return at::cat({states.narrow(0, 1, num_steps - 1), initial.unsqueeze(0)});
}

// ---- by LibTorch's operators ----

at::ScalarType scan_type(at::ScalarType type) { return type == at::kDouble ? at::kDouble : at::kFloat; }

// Returns the sums of a gate, (T, B, H), in the type in which the scan accumulates.
at::Tensor gate_sums(const at::Tensor& sums, const ScanSpec& spec, int64_t gate) {
  const int64_t hidden_size = sums.size(2) / spec.num_gates();
  return sums.narrow(2, gate * hidden_size, hidden_size).to(scan_type(sums.scalar_type()));
}

at::Tensor candidate_of(Candidate form, const at::Tensor& x) {
  switch (form) {
    case Candidate::kPositive:
      return at::where(x >= 0, x + 0.5, at::sigmoid(x));
    case Candidate::kLinear:
      return x;
  }
  fail_invariant("a listed candidate", __FILE__, __LINE__, "candidate_of does not know the form");
}

// Returns the logit of the factor a.
at::Tensor factor_logit(const at::Tensor& sums, const ScanSpec& spec) {
  if (spec.gates == kernels::ScanGates::kUpdateGate) return -gate_sums(sums, spec, 0);
  return at::log_sigmoid(gate_sums(sums, spec, 1)) - at::log_sigmoid(gate_sums(sums, spec, 0));
}

// Holds a, 1 - a and n, each (T, B, H). If a sequence has ended, a is 1 and 1 - a is 0.
struct Gates {
  at::Tensor keep, take, candidate;
};

Gates gates_by_operators(const at::Tensor& sums, const at::Tensor& alive, const ScanSpec& spec) {
  const at::Tensor logit = factor_logit(sums, spec);
  const at::Tensor candidate = candidate_of(spec.candidate, gate_sums(sums, spec, spec.num_gates() - 1));
  Gates gates = {at::sigmoid(logit), at::sigmoid(-logit), candidate};
  if (!alive.defined()) return gates;
  gates.keep = at::where(alive, gates.keep, 1);
  gates.take = at::where(alive, gates.take, 0);
  return gates;
}

at::Tensor candidate_slope(Candidate form, const at::Tensor& sums, const at::Tensor& candidate) {
  if (form == Candidate::kLinear) return at::ones_like(candidate);
  return at::where(sums >= 0, 1, candidate * (1 - candidate));
}

at::Tensor forward_by_operators(const at::Tensor& sums, const at::Tensor& initial, const at::Tensor& alive,
                                const ScanSpec& spec) {
  const Gates gates = gates_by_operators(sums, alive, spec);
  const at::Tensor states = scanned(gates.keep.contiguous(), (gates.take * gates.candidate).contiguous(),
                                    initial.to(gates.keep.scalar_type()), spec.direction);
  return states.to(sums.scalar_type());
}

// The gradient of each state is a scan in the other direction, in which a step has the factor of the step after it.
at::Tensor whole_state_gradients(const at::Tensor& state_gradients, const at::Tensor& keep, Direction direction) {
  const at::Tensor zero = at::zeros_like(keep[0]);
  const Direction other = direction == Direction::kForward ? Direction::kReverse : Direction::kForward;
  const at::Tensor factors_of_next = states_before(keep, zero, other);
  return scanned(factors_of_next, state_gradients.to(keep.scalar_type()).contiguous(), zero, other);
}

at::Tensor gate_gradients(const at::Tensor& logit_gradient, const at::Tensor& candidate_gradient,
                          const at::Tensor& sums, const ScanSpec& spec) {
  if (spec.gates == kernels::ScanGates::kUpdateGate) return at::cat({-logit_gradient, candidate_gradient}, 2);
  return at::cat({-logit_gradient * at::sigmoid(-gate_sums(sums, spec, 0)),
                  logit_gradient * at::sigmoid(-gate_sums(sums, spec, 1)), candidate_gradient},
                 2);
}

struct ScanGradients {
  at::Tensor sums, initial;
};

ScanGradients backward_by_operators(const at::Tensor& sums, const at::Tensor& initial, const at::Tensor& alive,
                                    const at::Tensor& states, const at::Tensor& state_gradients, const ScanSpec& spec) {
  const Gates gates = gates_by_operators(sums, alive, spec);
  const at::Tensor gradients = whole_state_gradients(state_gradients, gates.keep, spec.direction);
  const at::Tensor before = states_before(states, initial, spec.direction).to(gradients.scalar_type());
  const at::Tensor logit = gradients * (before - gates.candidate) * gates.keep * gates.take;
  const at::Tensor slope =
      candidate_slope(spec.candidate, gate_sums(sums, spec, spec.num_gates() - 1), gates.candidate);
  const at::Tensor of_sums = gate_gradients(logit, gradients * gates.take * slope, sums, spec);
  const int64_t first = spec.direction == Direction::kForward ? 0 : states.size(0) - 1;
  return {of_sums.to(sums.scalar_type()), (gradients[first] * gates.keep[first]).to(initial.scalar_type())};
}

// ---- by own kernels ----

kernels::GatedScan kernel_scan(const at::Tensor& sums, const at::Tensor& initial, const at::Tensor& alive,
                               const ScanSpec& spec) {
  return {.type = element_type(sums.scalar_type()),
          .gates = spec.gates,
          .has_positive_candidate = spec.candidate == Candidate::kPositive,
          .is_reversed = spec.direction == Direction::kReverse,
          .num_steps = sums.size(0),
          .batch_size = sums.size(1),
          .hidden_size = sums.size(2) / spec.num_gates(),
          .sums = sums.const_data_ptr(),
          .alive = alive.defined() ? alive.const_data_ptr<bool>() : nullptr,
          .initial = initial.const_data_ptr()};
}

at::Tensor forward_by_kernel(const at::Tensor& sums, const at::Tensor& initial, const at::Tensor& alive,
                             const ScanSpec& spec) {
  const at::Tensor states = at::empty({sums.size(0), sums.size(1), initial.size(1)}, sums.options());
  run_kernels(kernels::GatedScanForward{kernel_scan(sums, initial, alive, spec), states.data_ptr()}, sums);
  return states;
}

ScanGradients backward_by_kernel(const at::Tensor& sums, const at::Tensor& initial, const at::Tensor& alive,
                                 const at::Tensor& states, const at::Tensor& state_gradients, const ScanSpec& spec) {
  const at::Tensor dense = state_gradients.contiguous();
  ScanGradients gradients = {at::empty_like(sums), at::empty_like(initial)};
  run_kernels(kernels::GatedScanBackward{.scan = kernel_scan(sums, initial, alive, spec),
                                         .states = states.const_data_ptr(),
                                         .state_gradients = dense.const_data_ptr(),
                                         .sum_gradients = gradients.sums.data_ptr(),
                                         .initial_gradient = gradients.initial.data_ptr()},
              sums);
  return gradients;
}

// ---- one direction of one layer ----

// Returns the state after each step, (T, B, H). sums: (T, B, G * H), initial: (B, H), alive: (T, B, 1) or undefined.
class ScanFunction : public torch::autograd::Function<ScanFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& sums, const at::Tensor& initial,
                            const std::optional<at::Tensor>& alive_steps, const ScanSpec& spec) {
    const at::Tensor alive = alive_steps.value_or(at::Tensor());
    const at::Tensor states = has_own_kernels(sums.device()) ? forward_by_kernel(sums, initial, alive, spec)
                                                             : forward_by_operators(sums, initial, alive, spec);
    context->save_for_backward({sums, initial, alive, states});
    context->saved_data["gates"] = static_cast<int64_t>(spec.gates);
    context->saved_data["candidate"] = static_cast<int64_t>(spec.candidate);
    context->saved_data["direction"] = static_cast<int64_t>(spec.direction);
    return states;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &sums = saved[0], &initial = saved[1], &alive = saved[2], &states = saved[3];
    const ScanSpec spec = {static_cast<kernels::ScanGates>(context->saved_data["gates"].toInt()),
                           static_cast<Candidate>(context->saved_data["candidate"].toInt()),
                           static_cast<Direction>(context->saved_data["direction"].toInt())};
    const auto run = has_own_kernels(sums.device()) ? backward_by_kernel : backward_by_operators;
    const ScanGradients result = run(sums, initial, alive, states, gradients[0], spec);
    return {result.sums, result.initial, {}, {}};
  }
};

ExecutionPath scan_path(at::Device device) {
  if (device.is_cpu()) return {"scan over all steps by one loop, 1 GEMM a layer", {}};
  if (has_own_kernels(device)) return {"scan over all steps by one own kernel, 1 GEMM a layer", {}};
  return {"scan over all steps by rounds of operators, 1 GEMM a layer", {"this build has no own kernels for the GPU"}};
}

// ---- the scan itself ----

// Channels are independent, so threads divide them.
template <class Real>
void scan_channels(Real* states, const Real* factors, const Real* terms, const Real* initial, int64_t num_steps,
                   int64_t num_channels, Direction direction) {
  constexpr int64_t kChannelsAtOnce = 256;
  at::parallel_for(0, num_channels, kChannelsAtOnce, [&](int64_t first, int64_t last) {
    const Real* before = initial;
    for (int64_t i = 0; i < num_steps; ++i) {
      const int64_t begin = (direction == Direction::kForward ? i : num_steps - 1 - i) * num_channels;
      Real* after = states + begin;
      for (int64_t channel = first; channel < last; ++channel)
        after[channel] = factors[begin + channel] * before[channel] + terms[begin + channel];
      before = after;
    }
  });
}

at::Tensor scanned_on_cpu(const at::Tensor& factors, const at::Tensor& terms, const at::Tensor& initial,
                          Direction direction) {
  const at::Tensor states = at::empty_like(factors), start = initial.contiguous();
  const int64_t num_steps = factors.size(0), num_channels = start.numel();
  if (factors.scalar_type() == at::kDouble)
    scan_channels(states.data_ptr<double>(), factors.const_data_ptr<double>(), terms.const_data_ptr<double>(),
                  start.const_data_ptr<double>(), num_steps, num_channels, direction);
  else
    scan_channels(states.data_ptr<float>(), factors.const_data_ptr<float>(), terms.const_data_ptr<float>(),
                  start.const_data_ptr<float>(), num_steps, num_channels, direction);
  return states;
}

// The algorithm is that of Hillis and Steele 1986: after the round with distance d, each step contains the composition
// of 2 * d steps.
at::Tensor scanned_in_rounds(at::Tensor factors, at::Tensor terms, const at::Tensor& initial) {
  const int64_t num_steps = factors.size(0);
  for (int64_t distance = 1; distance < num_steps; distance *= 2) {
    const int64_t count = num_steps - distance;
    const auto later = [&](const at::Tensor& all) { return all.narrow(0, distance, count); };
    const auto earlier = [&](const at::Tensor& all) { return all.narrow(0, 0, count); };
    const at::Tensor new_terms = later(terms) + later(factors) * earlier(terms);
    const at::Tensor new_factors = later(factors) * earlier(factors);
    terms = at::cat({terms.narrow(0, 0, distance), new_terms});
    factors = at::cat({factors.narrow(0, 0, distance), new_factors});
  }
  return terms + factors * initial;
}

}  // namespace

at::Tensor scanned(const at::Tensor& factors, const at::Tensor& terms, const at::Tensor& initial, Direction direction) {
  if (factors.is_cpu()) return scanned_on_cpu(factors, terms, initial, direction);
  return scanned_by_operators(factors, terms, initial, direction);
}

at::Tensor scanned_by_operators(const at::Tensor& factors, const at::Tensor& terms, const at::Tensor& initial,
                                Direction direction) {
  if (direction == Direction::kForward) return scanned_in_rounds(factors, terms, initial);
  return scanned_in_rounds(factors.flip(0), terms.flip(0), initial).flip(0);
}

namespace {

class ScanLayer : public StackedLayer {
 public:
  explicit ScanLayer(const RecurrentOptions& options) : StackedLayer(options) {}
  LayerKind kind() const override { return LayerKind::kScan; }

 private:
  DirectionResult run_direction(const DirectionInput& input, CellWeights weights) override;
};

DirectionResult ScanLayer::run_direction(const DirectionInput& input, CellWeights weights) {
  report_path([&] { return scan_path(input.sequence.device()); });
  if (!input.sequence.is_cpu() && !has_own_kernels(input.sequence.device()))
    report_fallback([] {
      return PathFallback{"layer", "a scan by rounds of operators", "this build has no own kernels for the GPU"};
    });
  const ScanSpec spec = {gates_of(options().cell), options().candidate, input.direction};
  const at::Tensor sums = at::linear(input.sequence, weights[0], weights[1]).contiguous();
  const at::Tensor alive = input.alive.defined() ? input.alive.contiguous() : at::Tensor();
  const auto alive_steps = alive.defined() ? std::optional(alive) : std::nullopt;  // autograd takes no undefined tensor
  const at::Tensor states =
      ScanFunction::apply(sums, input.initial[0].to(sums.scalar_type()).contiguous(), alive_steps, spec);
  const at::Tensor final = states[input.direction == Direction::kForward ? states.size(0) - 1 : 0];
  return {alive.defined() ? at::where(alive, states, 0) : states, {final}};
}

}  // namespace

const LayerInfo& scan_layer_info() {
  using enum RecurrentOption;
  static const LayerInfo info = {
      .description =
          "the inputs of all steps as one product, then all steps as one scan; for cells whose gates do not "
          "read the state",
      .cells = {Cell::kMinGru, Cell::kMinLstm},
      .options = {kNumLayers, kBidirectional, kDropout, Candidate::kLinear},
      .processors = {Processor::kCpu, Processor::kGpu},
      .speed_rank = 16,
      .make = make_layer_of<ScanLayer>};
  return info;
}

}  // namespace rnnlab
