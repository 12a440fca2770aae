#include "experiment/device.h"

#include <torch/cuda.h>

#include "base/error.h"
#include "base/numbers.h"

namespace rnnlab {
namespace {

constexpr std::string_view kCudaPrefix = "cuda:";

int64_t cuda_index(std::string_view name) {
  if (!name.starts_with(kCudaPrefix)) return 0;
  return parse_int64(name.substr(kCudaPrefix.size())).value();
}

std::string available_gpus(int64_t count) {
  if (count == 0) return "LibTorch sees no CUDA GPU here";
  if (count == 1) return "this machine has one, cuda:0";
  return fmt::format("this machine has {}, cuda:0 to cuda:{}", count, count - 1);
}

}  // namespace

bool is_device_name(std::string_view text) {
  if (text == "auto" || text == "cpu" || text == "cuda") return true;
  if (!text.starts_with(kCudaPrefix)) return false;
  const auto index = parse_int64(text.substr(kCudaPrefix.size()));
  return index && *index >= 0 && *index < 128;
}

c10::Device resolve_device(const std::string& name) {
  if (name == "cpu") return c10::Device(c10::kCPU);
  const auto count = static_cast<int64_t>(torch::cuda::device_count());
  if (name == "auto" && count == 0) return c10::Device(c10::kCPU);
  const int64_t index = cuda_index(name);
  if (index >= count)
    throw_error(ExitCode::kDevice, "device: got {}, but {}; use device=cpu, or see `rnnlab info`", name,
                available_gpus(count));
  return c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(index));
}

std::string device_label(c10::Device device) {
  if (device.is_cpu()) return "cpu";
  return device.index() <= 0 ? "cuda" : fmt::format("cuda{}", static_cast<int>(device.index()));
}

}  // namespace rnnlab
