#include "recurrent/cudnn/algorithm_choice.h"

#include <algorithm>

#include "base/error.h"

namespace rnnlab {
namespace {

MeasuredAlgorithm measure_all(const MeasureAlgorithm& measure) {
  MeasuredAlgorithm measured;
  for (const auto& [algorithm, name] : config::EnumNames<CudnnAlgorithm>::kNames) {
    if (algorithm == CudnnAlgorithm::kAuto) continue;
    if (const auto milliseconds = measure(algorithm)) measured.milliseconds[algorithm] = *milliseconds;
  }
  const auto by_time = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto fastest = std::ranges::min_element(measured.milliseconds, by_time);
  if (fastest != measured.milliseconds.end()) measured.algorithm = fastest->first;
  return measured;
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
  const MeasuredAlgorithm measured = measure_all(measure);
  if (measured.milliseconds.empty())
    throw_error(ExitCode::kUsage, "cuDNN {} runs none of its algorithms on {} for {}; use layer: fused", platform.cudnn,
                platform.gpu, text_of(shape));
  cache.add(key, measured);
  return measured;
}

}  // namespace rnnlab
