// SPDX-License-Identifier: Apache-2.0
#include "runs/bench/torch_backend.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <c10/core/Allocator.h>
#include <c10/core/DeviceGuard.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "layers/device/gpu_device.h"
#include "layers/execution_path.h"
#include "results/environment.h"
#include "results/waiting.h"
#include "runs/devices.h"
#include "runs/memory_estimate.h"
#include "train/loop/determinism.h"
#include "train/loop/device_rates.h"
#include "train/loop/epoch_progress.h"
#include "train/loop/operation_times.h"
#include "train/loop/profiling.h"

namespace rnnlab {
double seconds_of(c10::Device device, const std::function<void()>& work) {
  const c10::DeviceGuard guard(device);
  DeviceTimer on_device(device);
  if (device.is_cuda()) synchronize(device);
  const auto began = std::chrono::steady_clock::now();
  on_device.start();
  work();
  on_device.stop();
  const double on_host = seconds_since(began);
  return on_device.seconds().value_or(on_host);
}

std::vector<KernelUse> kernels_during(c10::Device device, const std::function<void()>& work) {
  constexpr size_t kMostKinds = 20;
  constexpr size_t kMostBytes = 160;
  Profiling profiling({device.is_cpu() ? Profiling::Activity::CPU : Profiling::Activity::CUDA});
  work();
  if (device.is_cuda()) synchronize(device);
  const auto result = profiling.finish();
  std::vector<KernelUse> uses = device.is_cpu() ? operator_times(*result) : device_times(*result);
  if (uses.size() > kMostKinds) uses.resize(kMostKinds);
  for (KernelUse& use : uses)
    if (use.name.size() > kMostBytes) use.name.resize(kMostBytes);
  return uses;
}

namespace {

// Receives every allocation (positive) and release (negative) on the CPU by this thread.
class CpuMemoryWatch : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, int64_t bytes, size_t, size_t, c10::Device device) override {
    if (!device.is_cpu()) return;
    held_ += bytes;
    peak_ = std::max(peak_, held_);
  }
  bool memoryProfilingEnabled() const override { return true; }
  int64_t peak() const { return peak_; }

 private:
  int64_t held_ = 0;
  int64_t peak_ = 0;
};

int64_t peak_bytes_on_cpu(const std::function<void()>& work) {
  const auto watch = std::make_shared<CpuMemoryWatch>();
  const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, watch);
  work();
  return watch->peak();
}

}  // namespace

int64_t peak_bytes_during(c10::Device device, const std::function<void()>& work) {
  if (device.is_cpu()) return peak_bytes_on_cpu(work);
  reset_peak_memory(device);
  const int64_t before = peak_memory_bytes(device).value();
  work();
  return peak_memory_bytes(device).value() - before;
}

std::vector<Warning> throttling(const GpuSurvey& survey) {
  std::vector<Warning> found;
  for (size_t i = 0; i < survey.gpus.size(); ++i)
    if (const auto warning = throttling_warning(survey.gpus[i], i, "was")) found.push_back(*warning);
  return found;
}

namespace {

std::shared_ptr<RecurrentLayer> make_timed_layer(const Problem& problem, LayerChoice choice) {
  const BenchCase& combination = problem.combination;
  RecurrentOptions options = combination.options;
  options.persistent_form = choice.persistent_form;
  std::vector<PassFeature> features;
  if (combination.starts > 0) features.push_back(PassFeature::kStarts);
  require_supported(
      choice.kind,
      work_on(problem.device, {.options = options, .precision = combination.precision, .features = features}));
  auto layer = make_layer(choice.kind, options);
  copy_weights(*problem.weights, *layer);
  layer->to(problem.device);
  layer->train();
  return layer;
}

at::Tensor leaf_of(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.detach().requires_grad_(true) : tensor;
}

}  // namespace

Problem make_problem(const BenchCase& combination, c10::Device device, uint64_t seed) {
  const RecurrentOptions& o = combination.options;
  const int64_t directions = o.num_directions();
  const int64_t batch_size = combination.batch_size;
  at::manual_seed(seed);
  // Numbers are drawn on the CPU, so that every device has equal numbers.
  const auto draw = [&](at::IntArrayRef shape) { return at::randn(shape).to(device); };
  Problem problem;
  problem.combination = combination;
  problem.device = device;
  problem.weights = make_layer(LayerKind::kNaive, o);
  problem.input = draw({combination.num_steps, batch_size, o.input_size});
  problem.initial.hidden = draw({o.num_layers * directions, batch_size, o.hidden_size});
  // States after the second start at zero: a normalizer that is drawn may be zero or negative.
  if (has_cell_state(o.cell)) problem.initial.inner.push_back(draw(problem.initial.hidden.sizes()));
  if (combination.starts > 0)
    problem.starts = at::rand({combination.num_steps, batch_size}).lt(combination.starts).to(device);
  problem.output_gradient = draw({combination.num_steps, batch_size, directions * o.hidden_size});
  return problem;
}

TimedLayer::TimedLayer(const Problem& problem, LayerChoice layer, const CapturedWork* graph_memory)
    : problem_(problem),
      graph_memory_(graph_memory),
      layer_(make_timed_layer(problem, layer)),
      input_(leaf_of(problem.input)),
      initial_(leaf_of(problem.initial.hidden)) {
  for (const at::Tensor& inner : problem.initial.inner) initial_.inner.push_back(leaf_of(inner));
  data_ = {input_, initial_.hidden};
  data_.insert(data_.end(), initial_.inner.begin(), initial_.inner.end());
  data_and_weights_ = data_;
  for (const at::Tensor& weight : layer_->parameters()) data_and_weights_.push_back(weight);
}

void TimedLayer::require_gradients(Pass pass) {
  for (const at::Tensor& weight : layer_->parameters()) weight.requires_grad_(pass != Pass::kBackwardData);
}

void TimedLayer::step(Pass pass) {
  RecurrentResult result;
  {
    const AutocastGuard autocast(problem_.combination.precision, problem_.device);
    result = layer_->forward(input_, initial_, {}, problem_.starts);
  }
  // The layer chooses its output type under autocast, so the gradient is converted to this type.
  if (!output_gradient_.defined()) output_gradient_ = problem_.output_gradient.to(result.output.scalar_type());
  const auto differentiate = [&](const std::vector<at::Tensor>& by) {
    torch::autograd::grad({result.output}, by, {output_gradient_});
  };
  switch (pass) {
    case Pass::kForward:
      return;
    case Pass::kBackwardData:
      return differentiate(data_);
    case Pass::kBackward:
      return differentiate(data_and_weights_);
  }
}

void TimedLayer::capture(Pass pass) {
  auto graph = make_captured_work(problem_.device, graph_memory_);
  graph->capture([&] { step(pass); });
  graphs_.at(static_cast<size_t>(pass)) = std::move(graph);
}

void TimedLayer::start(Pass pass) {
  if (const auto& graph = graphs_.at(static_cast<size_t>(pass)))
    graph->replay();
  else
    step(pass);
}

double TimedLayer::run(Pass pass, int64_t iterations) {
  const c10::DeviceGuard guard(problem_.device);
  require_gradients(pass);
  if (problem_.combination.mode == BenchMode::kGraph && !graphs_.at(static_cast<size_t>(pass))) capture(pass);
  return seconds_of(problem_.device, [&] {
    for (int64_t i = 0; i < iterations; ++i) start(pass);
  });
}

namespace {

void check_possible(const BenchCase& combination, c10::Device device) {
  if (!device.is_cpu()) return;
  if (combination.mode == BenchMode::kGraph)
    throw_error(ExitCode::kUsage, "mode: graph needs CUDA; device: cpu has no graphs; use mode=eager");
  if (combination.precision == Precision::kTf32)
    throw_error(ExitCode::kUsage, "precision: tf32 is fp32 on device: cpu; use precision: fp32");
  if (const auto reason = unsupported_on_cpu(combination.precision)) throw_error(ExitCode::kUsage, "{}", *reason);
}

}  // namespace

TorchBackend::TorchBackend(const BenchSettings& settings) : seed_(static_cast<uint64_t>(settings.seed)) {
  set_num_threads(settings.num_threads);
}

void TorchBackend::begin(const BenchCase& combination) {
  graph_memory_.reset();
  problem_.reset();
  release_cached_memory();
  const c10::Device device = resolve_device(combination.device);
  check_possible(combination, device);
  memory_warnings_ = check_memory(
      estimate_memory(combination.options, combination.num_steps, combination.batch_size, combination.precision),
      {.data_key = "batch_size", .weights_key = "hidden_size", .activations_key = "num_steps"}, device);
  set_precision(combination.precision);
  problem_ = make_problem(combination, device, seed_);
  if (combination.mode == BenchMode::kGraph) graph_memory_ = make_captured_work(device);
}

std::string TorchBackend::device() const { return device_label(problem_.value().device); }

std::unique_ptr<LayerRunner> TorchBackend::make_runner(LayerChoice layer) {
  return std::make_unique<TimedLayer>(problem_.value(), layer, graph_memory_.get());
}

Ceiling TorchBackend::measure_ceiling() {
  const c10::DeviceGuard guard(problem_->device);
  release_cached_memory();
  const Precision precision = problem_->combination.precision;
  return {.device = device(),
          .precision = std::string(config::name_of(precision)),
          .gemm_flops_per_second = best_product_rate(problem_->device, precision),
          .copy_bytes_per_second = best_copy_rate(problem_->device)};
}

void TorchBackend::begin_sampling() {
  witness_.start();
  sampling_began_ = std::chrono::steady_clock::now();
}

// The witness measures the sampling of a combination in the same way as an epoch.
SamplingRecord TorchBackend::end_sampling() {
  const double wall_seconds = seconds_since(sampling_began_);
  const EpochMeasurements seen = witness_.stop();
  SamplingRecord record{.wall_seconds = wall_seconds, .cpu_seconds = seen.cpu_seconds, .warnings = {}};
  for (const std::string& warning : memory_warnings_) record.warnings.emplace_back(warning::kLittleMemory, warning);
  for (const Warning& warning : waiting_during(wall_seconds, seen)) record.warnings.push_back(warning);
  if (problem_->device.is_cpu()) return record;
  for (const Warning& warning : throttling(survey_gpus())) record.warnings.push_back(warning);
  return record;
}

// The system counts in hundredths of a second, which is too coarse for shorter times.
std::vector<Warning> TorchBackend::waiting_during(double wall_seconds, const EpochMeasurements& seen) const {
  constexpr double kShortest = 0.05;
  if (wall_seconds < kShortest) return {};
  const EpochRow row{.train_seconds = wall_seconds,
                     .cpu_seconds = seen.cpu_seconds,
                     .boot_seconds = seen.boot_seconds,
                     .steal_seconds = seen.steal_seconds,
                     .throttled_seconds = seen.throttled_seconds};
  return waiting_warnings({&row, 1}, device(), at::get_num_threads(), "samples");
}

LayerInspection TorchBackend::inspect(LayerChoice layer) {
  const c10::DeviceGuard guard(problem_->device);
  TimedLayer timed(problem_.value(), layer, nullptr);
  const auto step = [&] { timed.step(Pass::kBackward); };
  step();  // The first step has additional work and allocations.
  LayerInspection seen;
  seen.peak_memory_bytes = peak_bytes_during(problem_->device, step);
  ExecutionPath path = observe_execution_path(step);
  seen.path = std::move(path.path);
  seen.notes = std::move(path.notes);
  seen.kernels = kernels_during(problem_->device, step);
  return seen;
}

}  // namespace rnnlab
