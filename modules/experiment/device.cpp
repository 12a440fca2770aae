#include "experiment/device.h"

#include <ATen/detail/CUDAHooksInterface.h>
#include <torch/cuda.h>

#include <algorithm>

#include "base/error.h"
#include "base/numbers.h"
#include "gpu/cuda_library.h"
#include "recurrent/device/gpu_device.h"

namespace rnnlab {
namespace {

constexpr std::string_view kCudaPrefix = "cuda:";

int64_t cuda_index(std::string_view name) {
  if (!name.starts_with(kCudaPrefix)) return 0;
  return parse_int64(name.substr(kCudaPrefix.size())).value();
}

// If the machine has a GPU that LibTorch does not find, librnnlab_cuda.so is missing.
std::string why_no_gpu() {
  const std::string fault = why_no_cuda_library();
  const bool is_fault = !fault.empty() && !survey_gpus().gpus.empty();
  return "LibTorch sees no CUDA GPU here" + (is_fault ? fmt::format(" ({})", fault) : "");
}

std::string available_gpus(int64_t count) {
  if (count == 0) return driver_fault_here().value_or(why_no_gpu());
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

std::string why_no_device(const std::string& name) {
  if (name == "cpu" || name == "auto") return "";
  const auto count = static_cast<int64_t>(torch::cuda::device_count());
  if (cuda_index(name) < count) return "";
  return fmt::format("device: got {}, but {}; use device=cpu, or see `rnnlab info`", name, available_gpus(count));
}

Processor processor_of(c10::Device device) { return device.is_cpu() ? Processor::kCpu : Processor::kGpu; }

c10::Device resolve_device(const std::string& name) {
  if (const std::string reason = why_no_device(name); !reason.empty()) throw_error(ExitCode::kDevice, "{}", reason);
  const bool is_auto_without_gpu = name == "auto" && torch::cuda::device_count() == 0;
  if (name == "cpu" || is_auto_without_gpu) return c10::Device(c10::kCPU);
  return c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(cuda_index(name)));
}

std::optional<std::string> driver_fault_here() {
  const auto& hooks = at::detail::getCUDAHooks();
  return hooks.hasCUDART() ? driver_fault(survey_gpus(), hooks.versionCUDART()) : std::nullopt;
}

std::vector<std::string> notes_on_device(const std::string& name, c10::Device device) {
  if (name != "auto" || !device.is_cpu()) return {};
  const auto fault = driver_fault_here();
  if (!fault) return {};
  return {"device: auto chose the CPU: " + *fault};
}

GpuSurvey survey_of(c10::Device device) {
  if (device.is_cpu()) return {};
  GpuSurvey survey = survey_gpus();
  const std::string uuid = uuid_of_gpu(device);
  const bool is_known = std::ranges::find(survey.gpus, uuid, &GpuInfo::uuid) != survey.gpus.end();
  if (is_known) std::erase_if(survey.gpus, [&](const GpuInfo& gpu) { return gpu.uuid != uuid; });
  return survey;
}

std::string device_label(c10::Device device) {
  if (device.is_cpu()) return "cpu";
  return device.index() <= 0 ? "cuda" : fmt::format("cuda{}", static_cast<int>(device.index()));
}

}  // namespace rnnlab
