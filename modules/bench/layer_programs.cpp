#include "bench/layer_programs.h"

#include <ATen/Context.h>
#include <ATen/ops/randn.h>
#include <c10/core/DeviceGuard.h>
#include <torch/csrc/autograd/autograd.h>

#include "base/error.h"
#include "bench/device_clock.h"
#include "experiment/device.h"

namespace rnnlab {
namespace {

std::shared_ptr<RecurrentLayer> make_timed_layer(const Problem& problem, LayerKind kind) {
  if (const auto reason = refusal(kind, problem.device)) throw_error(ExitCode::kUsage, "{}", *reason);
  auto layer = make_layer(kind, problem.combination.options);
  copy_weights(*problem.weights, *layer);
  layer->to(problem.device);
  layer->train();
  return layer;
}

at::Tensor leaf_of(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.detach().requires_grad_(true) : tensor;
}

}  // namespace

Problem make_problem(const Combination& combination, c10::Device device, uint64_t seed) {
  const RecurrentOptions& o = combination.options;
  const int64_t directions = o.num_directions();
  const int64_t batch_size = combination.batch_size;
  at::manual_seed(seed);
  // Drawn on the CPU, so that every device has the same.
  const auto draw = [&](at::IntArrayRef shape) { return at::randn(shape).to(device); };
  Problem problem;
  problem.combination = combination;
  problem.device = device;
  problem.weights = make_layer(LayerKind::kNaive, o);
  problem.input = draw({combination.num_steps, batch_size, o.input_size});
  problem.initial.hidden = draw({o.num_layers * directions, batch_size, o.hidden_size});
  if (o.cell == Cell::kLstm) problem.initial.cell = draw(problem.initial.hidden.sizes());
  problem.output_gradient = draw({combination.num_steps, batch_size, directions * o.hidden_size});
  return problem;
}

LayerPrograms::LayerPrograms(const Problem& problem, LayerKind kind, const CapturedWork* graph_memory)
    : problem_(problem),
      graph_memory_(graph_memory),
      layer_(make_timed_layer(problem, kind)),
      input_(leaf_of(problem.input)),
      initial_{leaf_of(problem.initial.hidden), leaf_of(problem.initial.cell)} {
  data_ = {input_, initial_.hidden};
  if (initial_.cell.defined()) data_.push_back(initial_.cell);
  data_and_weights_ = data_;
  for (const at::Tensor& weight : layer_->parameters()) data_and_weights_.push_back(weight);
}

void LayerPrograms::want_gradients(Program program) {
  for (const at::Tensor& weight : layer_->parameters()) weight.requires_grad_(program != Program::kForwardData);
}

void LayerPrograms::step(Program program) {
  RecurrentResult result;
  {
    const AutocastGuard autocast(problem_.combination.precision, problem_.device);
    result = layer_->forward(input_, initial_);
  }
  // Which type a layer gives under autocast is its own affair.
  if (!output_gradient_.defined()) output_gradient_ = problem_.output_gradient.to(result.output.scalar_type());
  if (program == Program::kForward) return;
  torch::autograd::grad({result.output}, program == Program::kAll ? data_and_weights_ : data_, {output_gradient_});
}

void LayerPrograms::capture(Program program) {
  auto graph = make_captured_work(problem_.device, graph_memory_);
  graph->capture([&] { step(program); });
  graphs_.at(static_cast<size_t>(program)) = std::move(graph);
}

void LayerPrograms::start(Program program) {
  if (const auto& graph = graphs_.at(static_cast<size_t>(program)))
    graph->replay();
  else
    step(program);
}

double LayerPrograms::run(Program program, int64_t iterations) {
  const c10::DeviceGuard guard(problem_.device);
  want_gradients(program);
  if (problem_.combination.mode == BenchMode::kGraph && !graphs_.at(static_cast<size_t>(program))) capture(program);
  return seconds_of(problem_.device, [&] {
    for (int64_t i = 0; i < iterations; ++i) start(program);
  });
}

}  // namespace rnnlab
