// Everything about a run that is not in its settings but bears on its times: machine, build, libraries, and who else
// was using the machine when it started. Kept as environment.json. Collect it before the first CUDA call: afterwards
// the program itself is among the users of the GPU. Later ones in one process (a sweep's) keep what the first saw of
// others.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "results/build_info.h"
#include "results/file_version.h"
#include "results/gpu_info.h"
#include "results/kernel_variables.h"
#include "results/machine.h"
#include "results/process_facts.h"
#include "results/warning.h"

namespace rnnlab {

// What only the caller can know, for this module does without LibTorch. "" where it does not apply.
struct SoftwareVersions {
  std::string rnnlab;
  std::string libtorch;  // as loaded
  std::string cuda;
  std::string cudnn;
  std::string libtorch_commit = {};  // of its sources, 40 hex digits
  std::string program = {};          // that trained the run, "PyTorch 2.11.0"; "": rnnlab

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("rnnlab", self.rnnlab);
    field("libtorch", self.libtorch);
    field("cuda", self.cuda);
    field("cudnn", self.cudnn);
    field("libtorch_commit", self.libtorch_commit, 3);
    field("program", self.program, kWhereGiven);
  }
};

// The instruction sets that the libraries use on this CPU, in their own words and under all limits that are set for
// them; "" where one does not say.
struct InstructionSets {
  std::string aten;
  std::string onednn;
  std::string mkl;

  friend bool operator==(const InstructionSets&, const InstructionSets&) = default;

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("aten", self.aten);
    field("onednn", self.onednn);
    field("mkl", self.mkl);
  }
};

// What the libraries that do the work say of themselves.
struct Libraries {
  SoftwareVersions versions;
  InstructionSets instruction_sets;
};

// The processes that trained the run together.
struct RanksInfo {
  int64_t num_processes = 0;
  int64_t num_hosts = 0;
  std::string exchange;  // the engine by which they add up gradients: "gloo", "nccl"

  friend bool operator==(const RanksInfo&, const RanksInfo&) = default;

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("num_processes", self.num_processes);
    field("num_hosts", self.num_hosts);
    field("exchange", self.exchange);
  }
};

struct Environment {
  int64_t schema_version = kFileVersion;
  std::string start_time;  // "2026-11-21T02:59:51Z"
  std::vector<std::string> command_line;
  int64_t num_threads = 0;  // that the CPU kernels use
  HostInfo host;
  CpuInfo cpu;
  GpuSurvey nvidia;
  BuildInfo build;
  SoftwareVersions software;
  InstructionSets instruction_sets;
  std::optional<Variables> variables;   // kernel_variables.h; nothing in files that do not tell
  std::optional<ProcessFacts> process;  // nothing in files that do not tell
  std::string used_gpus =
      {};  // UUIDs of those that it computes on, with commas; "" without, and in files that do not tell
  std::optional<RanksInfo> ranks = std::nullopt;  // nothing of a process that trains alone

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("schema_version", self.schema_version);
    field("start_time", self.start_time);
    field("command_line", self.command_line);
    field("num_threads", self.num_threads);
    field("host", self.host);
    field("cpu", self.cpu);
    field("nvidia", self.nvidia);
    field("build", self.build);
    field("software", self.software);
    field("instruction_sets", self.instruction_sets, 3);
    field("variables", self.variables, 3);
    field("process", self.process, 3);
    field("used_gpus", self.used_gpus, kWhereGiven);
    field("ranks", self.ranks, kWhereGiven);
  }
};

// Takes a tenth of a second.
Environment collect_environment(std::vector<std::string> command_line, int64_t num_threads, Libraries libraries);

// The GPU models of the machine, for Identity: "NVIDIA H200", "2 x NVIDIA H200", "".
std::string gpu_model(const GpuSurvey& survey);

// The model of any one of them: "NVIDIA H200". Where they differ it names all, "NVIDIA H200 or NVIDIA T4", for CUDA
// does not number GPUs as NVML does.
std::string model_of_one_gpu(const GpuSurvey& survey);

// What makes times of a run started in this environment doubtful, to be said loudly: a debug build, others on the GPU
// or the CPU, more threads than CPUs, a long queue for the CPUs, clocks held down.
std::vector<Warning> warnings(const Environment& environment);

// Of what write_environment writes, by which changed_files.h knows it again.
std::string environment_sha256(const Environment& environment);

// `run_folder`/environment.json. write: UserError kDevice. read: UserError kData naming the file and the key.
void write_environment(const std::filesystem::path& run_folder, const Environment& environment);
Environment read_environment(const std::filesystem::path& run_folder);

}  // namespace rnnlab
