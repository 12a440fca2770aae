#include "bench/throttling.h"

#include <fmt/format.h>

#include "base/text.h"

namespace rnnlab {

std::vector<std::string> throttling(const GpuSurvey& survey) {
  std::vector<std::string> found;
  for (size_t i = 0; i < survey.gpus.size(); ++i) {
    const GpuInfo& gpu = survey.gpus[i];
    if (!gpu.throttle_reasons.empty())
      found.push_back(fmt::format("GPU {} ({}) was THROTTLED: {} (SM clock {} of {} MHz)", i, gpu.name,
                                  join(gpu.throttle_reasons, ", "), gpu.sm_clock_mhz, gpu.max_sm_clock_mhz));
  }
  return found;
}

}  // namespace rnnlab
