// SPDX-License-Identifier: Apache-2.0
// Implements `scan`: cells in which no gate reads the hidden state, such as minGRU and minLSTM (Feng et al. 2024, arXiv
// 2410.01201) and IndRNN (Li et al. 2018, arXiv 1803.04831). One GEMM computes the inputs of all steps. The units then
// do not depend on each other, and each runs over all steps by itself (kernels/program_scan.h): on a CPU a thread runs
// some sequences, on a GPU one own kernel runs all units, forward and backward. The paper of minGRU scans logarithms,
// because its form divides by products of factors. Steps do not divide, and allow states of any sign.
#include <ATen/Parallel.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "layers/device/gpu_support.h"
#include "layers/device/number_types.h"
#include "layers/device/run_kernels.h"
#include "layers/execution_path.h"
#include "layers/kernels/program_scan.h"
#include "layers/program/step_code.h"
#include "layers/stacked_layer.h"
#include "layers/unrolled/passes.h"
#include "layers/unrolled/unrolled_layer.h"

namespace rnnlab {
namespace {

using kernels::StepPass;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Describes a scan over one direction of one layer, without its tensors.
struct ScanSpec : torch::CustomClassHolder {
  const StepCode* code = nullptr;
  int program = kernels::kInterpreted;
  Direction direction = Direction::kForward;
};

// What a scan reads, and what its backward pass needs. Tensors that the cell does not have are undefined.
struct ScanTensors {
  at::Tensor sums;               // (T, B, gates * H)
  at::Tensor hidden, inner;      // initial states: (B, H), and (B, inner * H) acc
  at::Tensor vectors;            // (vectors * H)
  at::Tensor alive;              // (T, B, 1), or undefined
  at::Tensor starts;             // (T, B, 1), or undefined
  at::Tensor states;             // (T, B, H) after each step
  at::Tensor inner_states = {};  // (T, B, inner * H) acc
  at::Tensor more_kept = {};     // (T, B, (kept - gates) * H), on a CPU

  variable_list list() const { return {sums, hidden, inner, vectors, alive, starts, states, inner_states, more_kept}; }
};

// Returns a tensor of `num_columns` columns of the hidden state's size, or an undefined one for 0 columns.
at::Tensor columns(Allocate allocate, const ScanTensors& scan, at::IntArrayRef rows, int64_t num_columns,
                   at::ScalarType type) {
  if (num_columns <= 0) return {};
  std::vector<int64_t> shape = rows.vec();
  shape.push_back(num_columns * scan.hidden.size(1));
  return allocate(shape, scan.sums.options().dtype(type));
}

at::Tensor zero_tensor(at::IntArrayRef shape, const at::TensorOptions& options) { return at::zeros(shape, options); }

void* pointer(const at::Tensor& tensor) { return tensor.defined() ? tensor.data_ptr() : nullptr; }

// Returns what both passes have in common.
kernels::ProgramScan work_of(const ScanSpec& spec, const ScanTensors& scan, StepPass pass) {
  const auto& instructions = pass == StepPass::kForward ? spec.code->forward : spec.code->backward;
  return {.step = {element_type(scan.sums.scalar_type()), scan.sums.size(1), scan.hidden.size(1)},
          .pass = pass,
          .program = spec.program,
          .columns = spec.code->columns,
          .instructions = instructions.data(),
          .num_instructions = std::ssize(instructions),
          .text = spec.code->text.c_str(),
          .num_steps = scan.sums.size(0),
          .is_reversed = spec.direction == Direction::kReverse,
          .alive = static_cast<const bool*>(pointer(scan.alive)),
          .starts = static_cast<const bool*>(pointer(scan.starts)),
          .sums = pointer(scan.sums),
          .more_kept = pointer(scan.more_kept),
          .vectors = pointer(scan.vectors),
          .initial_hidden = pointer(scan.hidden),
          .initial_inner = pointer(scan.inner),
          .hidden = pointer(scan.states),
          .inner = pointer(scan.inner_states)};
}

// Sequences do not depend on each other, so threads of a CPU divide them.
void run_scan(kernels::ProgramScan& work, const ScanTensors& scan) {
  if (!scan.sums.is_cpu()) return run_kernels(work, scan.sums);
  const at::Tensor no_bias = at::zeros({scan.sums.size(2)}, scan.sums.options());
  work.no_bias = no_bias.const_data_ptr();
  constexpr int64_t kUnitsPerThread = 2048;  // the least work for which starting a thread is worthwhile
  const int64_t grain = std::max<int64_t>(1, kUnitsPerThread / (work.step.hidden_size * work.num_steps));
  at::parallel_for(0, work.step.batch_size, grain, [&](int64_t first, int64_t last) {
    kernels::run(work, kernels::Rows{first, last});
  });
}

struct FinalStates {
  at::Tensor hidden, inner;  // as the initial states
};

// Sets the results of a forward pass.
FinalStates run_forward(const ScanSpec& spec, ScanTensors& scan) {
  const kernels::StepColumns& sizes = spec.code->columns;
  const auto rows = scan.sums.sizes().slice(0, 2);
  const at::ScalarType type = scan.sums.scalar_type(), acc = accumulation_type(type);
  scan.states = columns(scan.alive.defined() ? zero_tensor : empty_tensor, scan, rows, 1, type);
  scan.inner_states = columns(empty_tensor, scan, rows, sizes.inner, acc);
  if (scan.sums.is_cpu()) scan.more_kept = columns(empty_tensor, scan, rows, sizes.kept - sizes.input, type);
  FinalStates final = {at::empty_like(scan.hidden), columns(empty_tensor, scan, rows.slice(1), sizes.inner, acc)};
  kernels::ProgramScan work = work_of(spec, scan, StepPass::kForward);
  work.final_hidden = final.hidden.data_ptr();
  work.final_inner = pointer(final.inner);
  run_scan(work, scan);
  return final;
}

// Returns the gradients of the initial states `first` to `last` - 1, side by side.
at::Tensor initial_gradients(const ScanSpec& spec, const at::Tensor& carry, const at::Tensor& like, size_t first,
                             size_t last) {
  std::vector<at::Tensor> parts;
  const int64_t size = like.size(1) / static_cast<int64_t>(last - first);
  for (size_t state = first; state < last; ++state) {
    const uint8_t column = spec.code->carry_columns[state];
    parts.push_back(column == kernels::kNoColumn ? at::zeros_like(like.narrow(1, 0, size))
                                                 : carry.narrow(1, column * size, size).to(like.scalar_type()));
  }
  return parts.size() == 1 ? parts[0] : at::cat(parts, 1);
}

struct ScanGradients {
  at::Tensor sums, hidden, inner, vectors;
};

ScanGradients run_backward(const ScanSpec& spec, const ScanTensors& scan, const at::Tensor& of_states,
                           const FinalStates& of_final) {
  const kernels::StepColumns& sizes = spec.code->columns;
  const auto batch = scan.sums.sizes().slice(1, 1);
  const at::ScalarType type = scan.sums.scalar_type(), acc = accumulation_type(type);
  const at::Tensor carry = columns(zero_tensor, scan, batch, sizes.carried, acc);
  const at::Tensor of_vectors = columns(zero_tensor, scan, batch, sizes.vectors, acc);
  const at::Tensor of_vectors_at_step = columns(empty_tensor, scan, batch, sizes.vectors, type);
  ScanGradients gradients;
  gradients.sums = scan.alive.defined() ? at::zeros_like(scan.sums) : at::empty_like(scan.sums);
  kernels::ProgramScan work = work_of(spec, scan, StepPass::kBackward);
  work.hidden_gradients = pointer(of_states);
  work.final_hidden_gradient = pointer(of_final.hidden);
  work.final_inner_gradient = pointer(of_final.inner);
  work.sum_gradients = gradients.sums.data_ptr();
  work.carry = pointer(carry);
  work.vector_gradients = pointer(of_vectors);
  work.step_vector_gradients = pointer(of_vectors_at_step);
  run_scan(work, scan);
  gradients.hidden = initial_gradients(spec, carry, scan.hidden, 0, 1);
  if (scan.inner.defined())
    gradients.inner = initial_gradients(spec, carry, scan.inner, 1, spec.code->carry_columns.size());
  if (scan.vectors.defined()) gradients.vectors = of_vectors.sum(0).to(type);
  return gradients;
}

// Returns the states after each step, the final hidden state and, if the cell has them, the final inner states. It is
// the only reader of `sums`, so that a CPU keeps values there for the backward pass.
class ScanFunction : public torch::autograd::Function<ScanFunction> {
 public:
  using Optional = std::optional<at::Tensor>;  // autograd takes no undefined tensor

  static variable_list forward(AutogradContext* context, const at::Tensor& sums, const at::Tensor& hidden,
                               const Optional& inner, const Optional& vectors, const Optional& alive,
                               const Optional& starts, const c10::intrusive_ptr<ScanSpec>& spec) {
    const auto given = [](const Optional& tensor) { return tensor.value_or(at::Tensor()); };
    ScanTensors scan = {sums, hidden, given(inner), given(vectors), given(alive), given(starts), {}};
    const FinalStates final = run_forward(*spec, scan);
    context->save_for_backward(scan.list());
    context->set_materialize_grads(false);
    context->saved_data["spec"] = c10::IValue::make_capsule(spec);
    variable_list results = {scan.states, final.hidden};
    if (final.inner.defined()) results.push_back(final.inner);
    return results;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto spec = c10::static_intrusive_pointer_cast<ScanSpec>(context->saved_data["spec"].toCapsule());
    const variable_list saved = context->get_saved_variables();
    const ScanTensors scan = {saved[0], saved[1], saved[2], saved[3], saved[4], saved[5], saved[6], saved[7], saved[8]};
    const auto dense = [&](size_t i) {
      return i < gradients.size() && gradients[i].defined() ? gradients[i].contiguous() : at::Tensor();
    };
    const ScanGradients result = run_backward(*spec, scan, dense(0), {dense(1), dense(2)});
    return {result.sums, result.hidden, result.inner, result.vectors, {}, {}, {}};
  }
};

// ---- the layer ----

ExecutionPath scan_path(at::Device device) {
  if (device.is_cpu()) return {"scan over all steps by one loop, 1 GEMM a layer", {}};
  return {"scan over all steps by one own kernel, 1 GEMM a layer", {}};
}

class ScanLayer : public StackedLayer {
 public:
  explicit ScanLayer(const RecurrentOptions& options) : StackedLayer(options), program_(program_of(options)) {}
  LayerKind kind() const override { return LayerKind::kScan; }
  bool has_own_final_states() const override { return true; }

 private:
  DirectionResult run_direction(const DirectionInput& input, CellWeights weights) override;

  const CellProgram& program_;
};

DirectionResult ScanLayer::run_direction(const DirectionInput& input, CellWeights weights) {
  const at::Device device = input.sequence.device();
  report_path([&] { return scan_path(device); });
  const at::Tensor sums = at::linear(input.sequence, weights[0], weights[1]).contiguous();
  const std::vector<at::Tensor> vectors(weights.begin() + 2, weights.end());
  std::vector<at::Tensor> inner(input.initial.begin() + 1, input.initial.end());
  for (at::Tensor& state : inner) state = state.to(accumulation_type(sums.scalar_type()));
  auto spec = c10::make_intrusive<ScanSpec>();
  spec->code = &step_code_of(program_);
  // NVRTC compiles a program that the build has not compiled for the GPU.
  const bool has_code = device.is_cpu() || has_own_kernels(device);
  spec->program = has_code ? compiled_number(program_) : kernels::kInterpreted;
  spec->direction = input.direction;
  const auto joined = [](const std::vector<at::Tensor>& parts, int64_t dimension) {
    return parts.empty() ? std::nullopt : std::optional(at::cat(parts, dimension));
  };
  const auto alive = input.alive.defined() ? std::optional(input.alive.contiguous()) : std::nullopt;
  const auto starts = input.starts.defined() ? std::optional(input.starts) : std::nullopt;
  const variable_list results = ScanFunction::apply(sums, input.initial[0].to(sums.scalar_type()).contiguous(),
                                                    joined(inner, 1), joined(vectors, 0), alive, starts, spec);
  DirectionResult result = {results[0], {results[1]}};
  if (input.states == StatesOf::kEveryStep) {
    RNNLAB_INVARIANT(input.initial.size() == 1, "a scan returns only the hidden states of all steps");
    result.all = {results[0]};
  }
  for (size_t i = 1; i < input.initial.size(); ++i)
    result.final.push_back(results[2].chunk(std::ssize(inner), 1)[i - 1].to(input.initial[i].scalar_type()));
  return result;
}

std::string why_not_scanned(const CellProgram& program) {
  const auto gate = std::ranges::find(program.gates, true, &GateSides::reads_hidden);
  if (gate != program.gates.end()) return fmt::format("gate {} reads the hidden state", gate->name);
  return why_no_step_code(program);
}

std::optional<Refusal> size_limit_of(const RecurrentOptions& options, const LayerWork& work) {
  const bool has_all = std::ranges::count(work.features, PassFeature::kAllStates) > 0;
  if (has_all && program_of(options).states.size() > 1)
    return Refusal{fmt::format("does not support {} of a cell with several states", text_of(PassFeature::kAllStates)),
                   {"layer", "model.cell"},
                   Refusal::Advice::kOtherLayers};
  return refusal_without_nvrtc(options, work);
}

}  // namespace

const LayerInfo& scan_layer_info() {
  using enum RecurrentOption;
  static const LayerInfo info = {
      .description =
          "the inputs of all steps as one product, then all steps of each unit by themselves; for cells "
          "whose gates do not read the state",
      .options = {kNumLayers, kBidirectional, kDropout},
      .processors = {Processor::kCpu, Processor::kGpu},
      .features = {PassFeature::kStarts, PassFeature::kAllStates},
      .speed_rank = 16,
      .make = make_layer_of<ScanLayer>,
      .why_not = why_not_scanned,
      .size_limit = size_limit_of};
  return info;
}

}  // namespace rnnlab
