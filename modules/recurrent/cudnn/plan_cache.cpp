#include "recurrent/cudnn/plan_cache.h"

#include <algorithm>

#include "base/error.h"
#include "recurrent/cudnn/algorithm_timing.h"
#include "recurrent/cudnn/capture.h"
#include "recurrent/cudnn_algorithm.h"

namespace rnnlab {
namespace {

std::string why_fastest(const MeasuredAlgorithm& measured) {
  std::string times;
  for (const auto& [algorithm, milliseconds] : measured.milliseconds)
    times += fmt::format("{}{} {:.3g} ms", times.empty() ? "" : ", ", words_for(algorithm), milliseconds);
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
