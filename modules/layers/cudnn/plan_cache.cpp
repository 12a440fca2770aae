// SPDX-License-Identifier: Apache-2.0
#include "layers/cudnn/plan_cache.h"

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/Sleep.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <string_view>

#include "base/error.h"
#include "base/folder.h"
#include "base/statistics.h"
#include "base/system/files.h"
#include "base/system/gpu_info.h"
#include "layers/cells/cell.h"
#include "layers/execution_path.h"

namespace rnnlab {

namespace {

using nlohmann::json;

constexpr int kFormat = 1;
constexpr int64_t kMaxCacheBytes = 16 << 20;

std::optional<CudnnAlgorithm> algorithm_named(std::string_view name) {
  for (const auto& [algorithm, its_name] : config::EnumNames<CudnnAlgorithm>::kNames)
    if (its_name == name && algorithm != CudnnAlgorithm::kAuto) return algorithm;
  return std::nullopt;
}

std::optional<MeasuredAlgorithm> measured_in(const json& entry) {
  const auto algorithm = algorithm_named(entry.at("algorithm").get<std::string>());
  if (!algorithm) return std::nullopt;
  MeasuredAlgorithm measured = {*algorithm, {}};
  for (const auto& [name, milliseconds] : entry.at("milliseconds").items())
    if (const auto timed = algorithm_named(name)) measured.milliseconds[*timed] = milliseconds.get<double>();
  return measured;
}

json entry_of(const MeasuredAlgorithm& measured) {
  json milliseconds = json::object();
  for (const auto& [algorithm, time] : measured.milliseconds) milliseconds[config::name_of(algorithm)] = time;
  return {{"algorithm", config::name_of(measured.algorithm)}, {"milliseconds", milliseconds}};
}

json empty_cache() { return {{"format", kFormat}, {"shapes", json::object()}}; }

json read_cache(const std::filesystem::path& file) {
  const json cache = json::parse(read_file(file, kMaxCacheBytes));
  return cache.at("format") == kFormat && cache.at("shapes").is_object() ? cache : empty_cache();
}

json read_cache_or_empty(const std::filesystem::path& file) {
  try {
    return read_cache(file);
  } catch (const std::exception&) {
    return empty_cache();
  }
}

}  // namespace

std::optional<MeasuredAlgorithm> AlgorithmCache::find(const std::string& key) const try {
  if (file_.empty()) return std::nullopt;
  const json shapes = read_cache(file_).at("shapes");
  return shapes.contains(key) ? measured_in(shapes.at(key)) : std::nullopt;
} catch (const std::exception&) {
  return std::nullopt;
}

void AlgorithmCache::add(const std::string& key, const MeasuredAlgorithm& measured) const try {
  if (file_.empty()) return;
  std::filesystem::create_directories(file_.parent_path());
  json cache = read_cache_or_empty(file_);
  cache["shapes"][key] = entry_of(measured);
  write_file_atomically(file_, cache.dump(1) + "\n");
} catch (const std::exception&) {
  return;  // the next run measures again
}

std::filesystem::path algorithm_cache_file() {
  const std::filesystem::path folder = cache_folder();
  return folder.empty() ? folder : folder / "cudnn_algorithms.json";
}

namespace {

struct Survey {
  MeasuredAlgorithm measured;
  std::exception_ptr out_of_memory;  // the error of an algorithm that lacked memory; else null
};

void measure_one(Survey& survey, CudnnAlgorithm algorithm, const MeasureAlgorithm& measure) try {
  if (const auto milliseconds = measure(algorithm)) survey.measured.milliseconds[algorithm] = *milliseconds;
} catch (const c10::OutOfMemoryError&) {
  survey.out_of_memory = std::current_exception();
}

Survey measure_all(const MeasureAlgorithm& measure) {
  Survey survey;
  for (const auto& [algorithm, name] : config::EnumNames<CudnnAlgorithm>::kNames)
    if (algorithm != CudnnAlgorithm::kAuto) measure_one(survey, algorithm, measure);
  const auto& times = survey.measured.milliseconds;
  const auto by_time = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto fastest = std::ranges::min_element(times, by_time);
  if (fastest != times.end()) survey.measured.algorithm = fastest->first;
  return survey;
}

}  // namespace

std::string algorithm_key(const CudnnPlatform& platform, const RnnShape& shape) {
  return fmt::format("{}, driver {}, cuDNN {}: {}, {}", platform.gpu, platform.driver, platform.cudnn, text_of(shape),
                     shape.passes == Passes::kForward ? "forward" : "forward and backward");
}

MeasuredAlgorithm choose_algorithm(const CudnnPlatform& platform, const RnnShape& shape, const AlgorithmCache& cache,
                                   const MeasureAlgorithm& measure) {
  const std::string key = algorithm_key(platform, shape);
  if (const auto known = cache.find(key)) return *known;
  const auto [measured, out_of_memory] = measure_all(measure);
  if (measured.milliseconds.empty() && out_of_memory) std::rethrow_exception(out_of_memory);
  if (measured.milliseconds.empty())
    throw_error(ExitCode::kUsage, "cuDNN {} cannot run any of its algorithms on {} for {}; use layer: fused",
                platform.cudnn, platform.gpu, text_of(shape));
  if (!out_of_memory) cache.add(key, measured);
  return measured;
}

namespace {

constexpr int kNumWarmUps = 3, kNumTimed = 7;
constexpr double kCyclesPerSecond = 2e9;  // more than a GPU has, so the wait is long enough

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
  if (has_cell_state(s.cell)) pass.operands.cell = uniform(state, 1);
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

// The device sleeps until the host has queued the whole pass, so that the host's time is not measured.
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
  auto scratch = std::make_shared<std::optional<ScratchPass>>();  // made at the first measurement
  return [=](CudnnAlgorithm algorithm) -> std::optional<double> {
    if (!*scratch) *scratch = random_pass(shape, layout, device);
    const ScratchPass& pass = **scratch;
    try {
      return median_milliseconds(RnnPlan(shape, algorithm, {}, pass.operands.weights, layout), pass);
    } catch (const UserError& error) {
      if (error.exit_code() != ExitCode::kUsage) throw;
      return std::nullopt;  // cuDNN rejected the algorithm
    }
  };
}

namespace {

std::string why_fastest(const MeasuredAlgorithm& measured) {
  std::string times;
  for (const auto& [algorithm, milliseconds] : measured.milliseconds)
    times += fmt::format("{}{} {:.3g} ms", times.empty() ? "" : ", ", algorithm_text(algorithm), milliseconds);
  return fmt::format("cudnn_algorithm: auto measured, a pass on the device: {}", times);
}

[[noreturn]] void refuse_capture(const RnnShape& shape, const at::Tensor& lengths) {
  if (lengths.defined())
    throw_error(ExitCode::kUsage,
                "layer: cudnn cannot run {} inside a CUDA graph: the sequences have lengths of their own, and a graph "
                "would keep those of one batch",
                text_of(shape));
  throw_error(ExitCode::kUsage,
              "layer: cudnn has not run {} before the CUDA graph that is captured now; run a step of this shape first",
              text_of(shape));
}

}  // namespace

PlannedPass PlanCache::find_or_make(const RnnShape& shape, const at::Tensor& lengths, const at::Tensor& weights,
                                    const WeightLayout& layout) {
  const auto is_wanted = [&](const PlannedPass& pass) { return pass.plan->shape() == shape; };
  const auto found = std::ranges::find_if(passes_, is_wanted);
  if (!lengths.defined() && found != passes_.end()) return *found;
  if (is_capturing()) refuse_capture(shape, lengths);
  if (lengths.defined()) return make_varied(shape, lengths, weights, layout);
  passes_.push_back(make_whole(shape, weights, layout));
  return passes_.back();
}

PlannedPass PlanCache::make_whole(const RnnShape& shape, const at::Tensor& weights, const WeightLayout& layout) const {
  CudnnAlgorithm algorithm = wanted_;
  std::string why;
  if (wanted_ == CudnnAlgorithm::kAuto) {
    const auto measured = choose_algorithm(current_platform(), shape, AlgorithmCache(algorithm_cache_file()),
                                           measure_on_gpu(shape, layout, weights.device()));
    algorithm = measured.algorithm;
    why = why_fastest(measured);
  }
  return {std::make_shared<const RnnPlan>(shape, algorithm, at::Tensor(), weights, layout), why};
}

PlannedPass PlanCache::make_varied(const RnnShape& shape, const at::Tensor& lengths, const at::Tensor& weights,
                                   const WeightLayout& layout) const {
  const std::string why = wanted_ == CudnnAlgorithm::kStandard
                              ? ""
                              : "cuDNN runs sequences with lengths of their own by its standard algorithm only";
  return {std::make_shared<const RnnPlan>(shape, CudnnAlgorithm::kStandard, lengths, weights, layout), why};
}

}  // namespace rnnlab
