#include "recurrent/cudnn/algorithm_choice.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <exception>

#include "base/error.h"

namespace rnnlab {
namespace {

struct Survey {
  MeasuredAlgorithm measured;
  std::exception_ptr out_of_memory;  // of an algorithm that is missing for it; else null
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
    throw_error(ExitCode::kUsage, "cuDNN {} runs none of its algorithms on {} for {}; use layer: fused", platform.cudnn,
                platform.gpu, text_of(shape));
  if (!out_of_memory) cache.add(key, measured);
  return measured;
}

}  // namespace rnnlab
