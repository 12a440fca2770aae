// Who measured what, on what: build, libraries, variables that change kernels, process, machine and GPUs, as
// `environment.json` has them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "system/file_version.h"
#include "system/gpu_info.h"
#include "system/machine.h"
#include "system/warning.h"

namespace rnnlab {

// How this program was built, as far as it bears on its times, and from which sources.

struct BuildInfo {
  std::string type;      // CMake's: "Release"
  std::string compiler;  // "gcc 12.2.0"
  bool optimized = false;
  bool assertions = false;   // NDEBUG is not set
  std::string sanitizer;     // "AddressSanitizer" or ""
  std::string git_revision;  // of the sources, 40 hex digits, or "unknown" outside a git checkout
  bool git_dirty = false;    // the sources differ from that revision

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("type", self.type);
    field("compiler", self.compiler);
    field("optimized", self.optimized);
    field("assertions", self.assertions);
    field("sanitizer", self.sanitizer);
    field("git_revision", self.git_revision);
    field("git_dirty", self.git_dirty);
  }
};

// Of the running program.
BuildInfo build_info();

// What must be equal between compared runs: "Release", or "Debug, not optimised, AddressSanitizer".
std::string build_kind(const BuildInfo& build);

// Why times of this build mean nothing, or nothing when they do.
std::optional<Warning> build_warning(const BuildInfo& build);

// The variables of the environment that the libraries which do the work read: they may pick other kernels, other
// threads or another allocator. Only variables with the names of these libraries are looked at, and paths in values are
// cut to their last names.

using Variables = std::map<std::string, std::string>;

// Of this process, or of `environment`: "NAME=VALUE" texts, ending in a null pointer.
Variables kernel_variables();
Variables kernel_variables(const char* const* environment);

// Whether times with another value are not comparable. Those that pick a device, say how many threads there are, which
// is compared by its effect, or only describe an installation do not count.
bool changes_kernels(std::string_view name);

// Those that change kernels, where two sets differ: "MKL_CBWR=AVX2, no OMP_PROC_BIND" of the first; "" where none does.
std::string differing_variables(const Variables& of, const Variables& beside);
// The same of those that do not change kernels.
std::string differing_notes(const Variables& of, const Variables& beside);

// "MKL_CBWR=AVX2, OMP_PROC_BIND=true": those that change kernels.
std::string variables_text(const Variables& variables);

// How the operating system runs this process, as far as it bears on its times, and which program it is.

struct ProcessFacts {
  int64_t nice = 0;                  // from -20 to 19: processes with a larger value give way to others
  bool is_traced = false;            // a debugger or a tracer follows it
  bool has_random_addresses = true;  // without, memory lies alike in each process
  std::string program_id = "";       // of the program and its libraries as linked; "" if unknown

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("nice", self.nice);
    field("is_traced", self.is_traced);
    field("has_random_addresses", self.has_random_addresses);
    field("program_id", self.program_id);
  }
};

ProcessFacts process_facts();

// What makes its times unlike those of other processes, or more alike than they are.
std::vector<Warning> warnings(const ProcessFacts& facts);

// The text of /proc/self/status has the number of a process that traces this one.
bool is_traced_by(const std::string& status);

// Everything about a run that is not in its settings but bears on its times: machine, build, libraries, and who else
// was using the machine when it started. Kept as environment.json. Collect it before the first CUDA call: afterwards
// the program itself is among the users of the GPU. Later ones in one process (a sweep's) keep what the first saw of
// others.

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

// "LibTorch 2.11.0, CUDA 13.0, cuDNN not loaded".
std::string versions_text(const SoftwareVersions& software);

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
  std::optional<Variables> variables;   // environment.h; nothing in files that do not tell
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

// Of what write_environment writes, by which run_record.h knows it again.
std::string environment_sha256(const Environment& environment);

// `run_folder`/environment.json. write: UserError kDevice. read: UserError kData naming the file and the key.
void write_environment(const std::filesystem::path& run_folder, const Environment& environment);
Environment read_environment(const std::filesystem::path& run_folder);

}  // namespace rnnlab
