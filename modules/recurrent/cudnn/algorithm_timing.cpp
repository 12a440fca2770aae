#include "recurrent/cudnn/algorithm_timing.h"

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/Sleep.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "base/error.h"
#include "recurrent/cudnn/rnn_plan.h"
#include "results/gpu_info.h"
#include "results/statistics.h"

namespace rnnlab {
namespace {

constexpr int kNumWarmUps = 3, kNumTimed = 7;
constexpr double kCyclesPerSecond = 2e9;  // more than a GPU has, so that it waits long enough

struct ScratchPass {
  RnnOperands operands;
  RnnUpstream upstream;
};

ScratchPass random_pass(const RnnShape& s, const WeightLayout& layout, at::Device device) {
  at::Generator generator = at::cuda::detail::createCUDAGenerator(device.index());
  generator.set_current_seed(1);
  const auto uniform = [&](at::IntArrayRef sizes, double bound) {
    return at::empty(sizes, at::device(device).dtype(s.type)).uniform_(-bound, bound, generator);
  };
  const std::vector<int64_t> state = {s.num_layers * s.num_directions, s.batch_size, s.hidden_size};
  const double bound = 1 / std::sqrt(static_cast<double>(s.hidden_size));
  ScratchPass pass;
  pass.operands.input = uniform({s.num_steps, s.batch_size, s.input_size}, 1);
  pass.operands.hidden = uniform(state, 1);
  if (s.cell == Cell::kLstm) pass.operands.cell = uniform(state, 1);
  pass.operands.weights = uniform({layout.num_elements}, bound);
  pass.upstream.output = uniform({s.num_steps, s.batch_size, s.num_directions * s.hidden_size}, 0.05);
  return pass;
}

void run(const RnnPlan& plan, const ScratchPass& pass) {
  const RnnOutputs outputs = plan.forward(pass.operands);
  if (plan.shape().passes == Passes::kForward) return;
  plan.backward(pass.operands, outputs, pass.upstream, WeightGradient::kWanted);
}

double host_seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The device is kept waiting until the host has queued the whole pass.
double device_milliseconds(const RnnPlan& plan, const ScratchPass& pass, double seconds_to_queue) {
  at::cuda::CUDAEvent start(cudaEventDefault), end(cudaEventDefault);
  at::cuda::sleep(static_cast<int64_t>(1.5 * seconds_to_queue * kCyclesPerSecond));
  start.record();
  run(plan, pass);
  end.record();
  end.synchronize();
  return start.elapsed_time(end);
}

double median_milliseconds(const RnnPlan& plan, const ScratchPass& pass) {
  double seconds_to_queue = 0;
  for (int i = 0; i < kNumWarmUps; ++i) seconds_to_queue = host_seconds([&] { run(plan, pass); });
  at::cuda::getCurrentCUDAStream().synchronize();
  std::vector<double> times;
  for (int i = 0; i < kNumTimed; ++i) times.push_back(device_milliseconds(plan, pass, seconds_to_queue));
  return median(times);
}

}  // namespace

CudnnPlatform current_platform() {
  const size_t version = cudnnGetVersion();
  return {.gpu = at::cuda::getCurrentDeviceProperties()->name,
          .driver = survey_gpus().driver_version,
          .cudnn = fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100)};
}

MeasureAlgorithm measure_on_gpu(const RnnShape& shape, const WeightLayout& layout, at::Device device) {
  auto scratch = std::make_shared<std::optional<ScratchPass>>();  // drawn when first asked
  return [=](CudnnAlgorithm algorithm) -> std::optional<double> {
    if (!*scratch) *scratch = random_pass(shape, layout, device);
    const ScratchPass& pass = **scratch;
    try {
      return median_milliseconds(RnnPlan(shape, algorithm, {}, pass.operands.weights, layout), pass);
    } catch (const UserError& error) {
      if (error.exit_code() != ExitCode::kUsage) throw;
      return std::nullopt;  // cuDNN has refused
    }
  };
}

}  // namespace rnnlab
