// SPDX-License-Identifier: Apache-2.0
// Reports the abilities of this machine and this build for `rnnlab info`: hardware, libraries, devices, and the options
// that each layer does not support. Nothing is timed, and the GPUs are counted but not woken.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "layers/device/gpu_support.h"
#include "results/environment.h"

namespace rnnlab {

// Returns the instruction sets that the libraries use on this CPU. The libraries themselves are asked, because
// environment variables, the number of the CPU and the libraries' own rules all affect the choice. The first call takes
// some tens of milliseconds; the result stays the same for the life of the process, as the libraries' choice does.
// Several threads must not call this function at once.
InstructionSets instruction_sets();

// Returns the words between "info,cpu,isa:" and the end of its line in oneDNN's verbose output.
std::string isa_in_verbose(std::string_view text);

// Returns the versions of the libraries that do the work, for environment.json and `rnnlab info`: those of the loaded
// libraries if they can differ from those at compile time.
SoftwareVersions software_versions();

// Returns the libraries with the instruction sets that they use.
Libraries libraries();

struct LayerReport {
  std::string name;
  std::string computes;               // how it computes, on each device
  std::vector<std::string> refusals;  // the options that it does not support

  RNNLAB_FIELDS(name, computes, refusals)
};

struct GpuReport {
  std::string name;
  std::string compute_capability;
  bool has_own_kernels = false;

  RNNLAB_FIELDS(name, compute_capability, has_own_kernels)
};

struct MachineReport {
  Environment environment;
  std::vector<std::string> devices;  // "cpu", "cuda:0": the values of `device:` here
  std::string cpu_kernels;           // the vector instructions that LibTorch's own kernels use
  std::vector<std::string> precisions;
  std::string own_kernels;  // the GPUs for which this build has code: "code for 8.0 and 9.0, PTX for 9.0"
  std::vector<GpuReport> gpus;
  std::vector<LayerReport> layers;
  std::vector<Warning> warnings;

  RNNLAB_FIELDS(environment, devices, cpu_kernels, precisions, own_kernels, gpus, layers, warnings)
};

// Returns the options that each layer does not support, on any machine and on these GPUs.
std::vector<LayerReport> layer_reports(const std::vector<Gpu>& gpus);

// Converts NVML's survey, which does not wake a GPU.
std::vector<Gpu> gpus_of(const GpuSurvey& survey);

MachineReport make_machine_report(const std::vector<std::string>& command_line);

// Returns lines of at most `width` columns, at least 60, except those of the machine.
std::string machine_report_text(const MachineReport& report, size_t width = 118);
std::string machine_report_json(const MachineReport& report);

}  // namespace rnnlab
