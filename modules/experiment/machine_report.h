// What this machine and this build can do, for `rnnlab info`: hardware, libraries, devices, and for each layer what it
// cannot do. Nothing is timed and no GPU is woken beyond counting.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "recurrent/gpu_support.h"
#include "results/environment.h"

namespace rnnlab {

// Which instruction sets the libraries use on this CPU: asked of the libraries themselves, because variables, the
// number of the CPU and the libraries' own rules all have a say.

// Found at the first call, in some tens of milliseconds, and the same for the life of the process, as the libraries'
// own choice is. Not for several threads at once.
InstructionSets instruction_sets();

// The words between "info,cpu,isa:" and the end of its line in what oneDNN prints when it is made to talk.
std::string isa_in_verbose(std::string_view text);

// The versions of the libraries that do the work, for environment.json and `rnnlab info`: those that are loaded, where
// they can differ from those that were compiled against.

SoftwareVersions software_versions();

// With the instruction sets that they use (machine_report.h).
Libraries libraries();

struct LayerReport {
  std::string name;
  std::string computes;               // how, on each device
  std::vector<std::string> refusals;  // the options that it cannot do

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("name", self.name);
    field("computes", self.computes);
    field("refusals", self.refusals);
  }
};

struct GpuReport {
  std::string name;
  std::string compute_capability;
  bool has_own_kernels = false;

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("name", self.name);
    field("compute_capability", self.compute_capability);
    field("has_own_kernels", self.has_own_kernels);
  }
};

struct MachineReport {
  Environment environment;
  std::vector<std::string> devices;  // "cpu", "cuda:0": what `device:` may be here
  std::string cpu_kernels;           // the vector instructions that LibTorch's own kernels use
  std::vector<std::string> precisions;
  std::string own_kernels;  // for which GPUs this build has code: "code for 8.0 and 9.0, PTX for 9.0"
  std::vector<GpuReport> gpus;
  std::vector<LayerReport> layers;
  std::vector<Warning> warnings;

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("environment", self.environment);
    field("devices", self.devices);
    field("cpu_kernels", self.cpu_kernels);
    field("precisions", self.precisions);
    field("own_kernels", self.own_kernels);
    field("gpus", self.gpus);
    field("layers", self.layers);
    field("warnings", self.warnings);
  }
};

// What every layer cannot do: on any machine, and on these GPUs.
std::vector<LayerReport> layer_reports(const std::vector<Gpu>& gpus);

// As NVML tells of them, which wakes none.
std::vector<Gpu> gpus_of(const GpuSurvey& survey);

MachineReport make_machine_report(const std::vector<std::string>& command_line);

std::string machine_report_text(const MachineReport& report);
std::string machine_report_json(const MachineReport& report);

}  // namespace rnnlab
