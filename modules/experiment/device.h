// Defines the `device:` key: its permitted values, and the LibTorch device that a value means on this machine. Whether
// a layer runs on that device is left to the layer.
#pragma once

#include <c10/core/Device.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "recurrent/layer_kind.h"
#include "system/gpu_info.h"

namespace rnnlab {

// Returns whether `text` is `auto`, `cpu`, `cuda` or `cuda:N`.
bool is_device_name(std::string_view text);

Processor processor_of(c10::Device device);

// `auto` is the first GPU, or the CPU if there is no GPU; `cuda` is `cuda:0`. Throws UserError kDevice if this machine
// lacks the GPU; the message lists its GPUs. Requires is_device_name(name).
c10::Device resolve_device(const std::string& name);

// Returns NVML's survey of the GPU that the device is. The survey has all GPUs if the GPU cannot be identified (parts
// of a GPU, MIG), and none for a CPU.
GpuSurvey survey_of(c10::Device device);

// Returns the message with which resolve_device(name) would throw; "" if it would not throw.
std::string why_no_device(const std::string& name);

// Returns a note for the run if `auto` chose the CPU although the machine has a GPU; else nothing.
std::vector<std::string> notes_on_device(const std::string& name, c10::Device device);

// Returns the driver's fault (gpu_info.h) for the CUDA version of this build; nothing if there is none.
std::optional<std::string> driver_fault_here();

// Returns "cpu", "cuda", or for example "cuda1" for the second GPU; the label can be part of a folder's name.
std::string device_label(c10::Device device);

}  // namespace rnnlab
