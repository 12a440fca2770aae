#include "bench/torch_laboratory.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/rand.h>
#include <c10/core/DeviceGuard.h>

#include <algorithm>

#include "base/error.h"
#include "bench/device_clock.h"
#include "bench/kernel_log.h"
#include "bench/sampling.h"
#include "bench/step_memory.h"
#include "bench/throttling.h"
#include "experiment/device.h"
#include "experiment/memory_estimate.h"
#include "recurrent/execution_path.h"
#include "results/waiting.h"
#include "training/determinism.h"
#include "training/device_memory.h"

namespace rnnlab {
namespace {

at::ScalarType gemm_type(Precision precision) {
  const bool is_float32 = precision == Precision::kFp32 || precision == Precision::kTf32;
  if (is_float32) return at::kFloat;
  return precision == Precision::kBf16 ? at::kBFloat16 : at::kHalf;
}

// Of several samples the shortest: a ceiling is what can be had.
double shortest_seconds(c10::Device device, const std::function<void()>& work) {
  constexpr int kSamples = 7;
  constexpr double kSampleSeconds = 0.02;
  const auto run = [&](int64_t iterations) {
    return seconds_of(device, [&] {
      for (int64_t i = 0; i < iterations; ++i) work();
    });
  };
  const int64_t iterations = iterations_for(run, kSampleSeconds);
  double shortest = run(iterations);
  for (int i = 1; i < kSamples; ++i) shortest = std::min(shortest, run(iterations));
  return shortest / static_cast<double>(iterations);
}

double gemm_ceiling(c10::Device device, Precision precision) {
  const int64_t size = device.is_cpu() ? 2048 : 8192;
  const at::Tensor a = at::rand({size, size}, at::TensorOptions(device)).to(gemm_type(precision));
  const at::Tensor b = at::rand({size, size}, at::TensorOptions(device)).to(gemm_type(precision));
  at::Tensor product = at::empty_like(a);
  const double seconds = shortest_seconds(device, [&] { at::mm_out(product, a, b); });
  const auto edge = static_cast<double>(size);
  return 2 * edge * edge * edge / seconds;
}

double copy_ceiling(c10::Device device) {
  const int64_t bytes = device.is_cpu() ? int64_t{1} << 28 : int64_t{1} << 30;
  const at::Tensor source = at::rand({bytes / 4}, at::TensorOptions(device));
  at::Tensor target = at::empty_like(source);
  const double seconds = shortest_seconds(device, [&] { target.copy_(source); });
  return 2 * static_cast<double>(bytes) / seconds;
}

void check_possible(const Combination& combination, c10::Device device) {
  if (!device.is_cpu()) return;
  if (combination.mode == BenchMode::kGraph)
    throw_error(ExitCode::kUsage, "mode: graph needs CUDA; device: cpu has no graphs; use mode=eager");
  if (combination.precision == Precision::kTf32)
    throw_error(ExitCode::kUsage, "precision: tf32 is fp32 on device: cpu; use precision: fp32");
  if (const auto reason = refusal_on_cpu(combination.precision)) throw_error(ExitCode::kUsage, "{}", *reason);
}

}  // namespace

TorchLaboratory::TorchLaboratory(const BenchSettings& settings) : seed_(static_cast<uint64_t>(settings.seed)) {
  set_num_threads(settings.num_threads);
}

void TorchLaboratory::begin(const Combination& combination) {
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

std::string TorchLaboratory::device() const { return device_label(problem_.value().device); }

std::unique_ptr<LayerRunner> TorchLaboratory::make_runner(LayerKind layer) {
  return std::make_unique<LayerPrograms>(problem_.value(), layer, graph_memory_.get());
}

Ceiling TorchLaboratory::measure_ceiling() {
  const c10::DeviceGuard guard(problem_->device);
  release_cached_memory();
  const Precision precision = problem_->combination.precision;
  return {.device = device(),
          .precision = std::string(config::name_of(precision)),
          .gemm_flops_per_second = gemm_ceiling(problem_->device, precision),
          .copy_bytes_per_second = copy_ceiling(problem_->device)};
}

void TorchLaboratory::begin_sampling() {
  witness_.start();
  sampling_began_ = std::chrono::steady_clock::now();
}

// The witness counts all of a combination as it counts an epoch.
SamplingRecord TorchLaboratory::end_sampling() {
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - sampling_began_;
  const EpochEvidence seen = witness_.stop();
  SamplingRecord record{.wall_seconds = wall.count(), .cpu_seconds = seen.cpu_seconds, .doubts = {}};
  for (const std::string& warning : memory_warnings_) record.doubts.emplace_back(warning::kLittleMemory, warning);
  for (const Warning& warning : waiting_during(wall.count(), seen)) record.doubts.push_back(warning);
  if (problem_->device.is_cpu()) return record;
  for (const std::string& cause : throttling(survey_gpus())) record.doubts.emplace_back(warning::kGpuThrottled, cause);
  return record;
}

// The system counts in hundredths of a second, which are too coarse for less.
std::vector<Warning> TorchLaboratory::waiting_during(double wall_seconds, const EpochEvidence& seen) const {
  constexpr double kShortest = 0.05;
  if (wall_seconds < kShortest) return {};
  const EpochRow row{.train_seconds = wall_seconds,
                     .cpu_seconds = seen.cpu_seconds,
                     .boot_seconds = seen.boot_seconds,
                     .steal_seconds = seen.steal_seconds,
                     .throttled_seconds = seen.throttled_seconds};
  return waiting_warnings({&row, 1}, device(), at::get_num_threads(), "samples");
}

Inspection TorchLaboratory::inspect(LayerKind layer) {
  const c10::DeviceGuard guard(problem_->device);
  LayerPrograms programs(problem_.value(), layer, nullptr);
  const auto step = [&] { programs.step(Program::kAll); };
  step();  // what only the first one does and allocates
  Inspection seen;
  seen.peak_memory_bytes = peak_bytes_during(problem_->device, step);
  ExecutionPath path = observe_execution_path(step);
  seen.path = std::move(path.path);
  seen.notes = std::move(path.notes);
  seen.kernels = kernels_during(problem_->device, step);
  return seen;
}

}  // namespace rnnlab
