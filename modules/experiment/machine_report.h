// What this machine and this build can do, for `rnnlab info`: hardware, libraries, devices, and for each layer what it
// cannot do. Nothing is timed and no GPU is woken beyond counting.
#pragma once

#include <string>
#include <vector>

#include "recurrent/gpu_support.h"
#include "results/environment.h"

namespace rnnlab {

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
