// The `device:` key: what it may say, and the LibTorch device that it means on this machine. Whether a layer runs there
// is the layer's affair.
#pragma once

#include <c10/core/Device.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "recurrent/layer_kind.h"
#include "system/gpu_info.h"

namespace rnnlab {

// Whether `text` is `auto`, `cpu`, `cuda` or `cuda:N`.
bool is_device_name(std::string_view text);

Processor processor_of(c10::Device device);

// `auto` is the first GPU, or the CPU where there is none; `cuda` is `cuda:0`.
// UserError kDevice when this machine has no such GPU, saying what it has. Requires is_device_name(name).
c10::Device resolve_device(const std::string& name);

// The GPU that a device is, as NVML sees it; all GPUs where it cannot be told (parts of a GPU, MIG), and none for a
// CPU.
GpuSurvey survey_of(c10::Device device);

// Why resolve_device(name) would throw; "" where it would not.
std::string why_no_device(const std::string& name);

// Why `auto` came to the CPU although the machine has a GPU, as a note for the run; nothing where nothing is odd.
std::vector<std::string> notes_on_device(const std::string& name, c10::Device device);

// The driver's fault (gpu_info.h) for this build's CUDA; nothing where it has none.
std::optional<std::string> driver_fault_here();

// "cpu" or "cuda"; "cuda1" for a second GPU: fit for a folder's name.
std::string device_label(c10::Device device);

}  // namespace rnnlab
