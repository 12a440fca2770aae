// SPDX-License-Identifier: Apache-2.0
// Describes the environment of a measurement as `environment.json` records it: build, libraries, variables that change
// kernels, process, machine and GPUs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/system/files.h"
#include "base/system/gpu_info.h"
#include "base/system/machine.h"
#include "base/system/warning.h"

namespace rnnlab {

// Describes how this program was built, as far as it affects times, and the revision of its sources.
struct BuildInfo {
  std::string type;      // CMake's: "Release"
  std::string compiler;  // "gcc 12.2.0"
  bool optimized = false;
  bool assertions = false;   // NDEBUG is not set
  std::string sanitizer;     // "AddressSanitizer" or ""
  std::string git_revision;  // of the sources, 40 hex digits, or "unknown" outside a git checkout
  bool git_dirty = false;    // the sources differ from that revision

  RNNLAB_FIELDS(type, compiler, optimized, assertions, sanitizer, git_revision, git_dirty)
};

// Describes the running program.
BuildInfo build_info();

// Returns the kind of build, which must be equal between compared runs: "Release", or "Debug, not optimised,
// AddressSanitizer".
std::string build_kind(const BuildInfo& build);

// Returns why times of this build are not valid, or nothing if they are valid.
std::optional<Warning> build_warning(const BuildInfo& build);

// These are the variables of the environment that the computing libraries read. The variables may select different
// kernels, a different number of threads or a different allocator. Only variables with the names of these libraries are
// read, and paths in their values are cut to the last name.
using Variables = std::map<std::string, std::string>;

// Reads the variables of this process, or of `environment`: "NAME=VALUE" texts, ending in a null pointer.
Variables kernel_variables();
Variables kernel_variables(const char* const* environment);

// Returns whether times with different values of this variable are not comparable. False for variables that select a
// device, that set the number of threads (which is compared by its effect), or that only describe an installation.
bool changes_kernels(std::string_view name);

// Returns the variables that change kernels and differ between two sets, with the values of the first set:
// "MKL_CBWR=AVX2, no OMP_PROC_BIND"; "" if none differs.
std::string differing_variables(const Variables& first, const Variables& second);
// Returns the corresponding text for variables that do not change kernels.
std::string differing_neutral_variables(const Variables& first, const Variables& second);

// Returns the variables that change kernels: "MKL_CBWR=AVX2, OMP_PROC_BIND=true".
std::string variables_text(const Variables& variables);

// Describes how the operating system runs this process, as far as it affects times, and identifies the program.
struct ProcessFacts {
  int64_t nice = 0;                  // from -20 to 19: a process with a larger value has a lower priority
  bool is_traced = false;            // a debugger or a tracer is attached
  bool has_random_addresses = true;  // otherwise memory has the same layout in each process
  std::string program_id = "";       // identifies the program and its libraries as linked; "" if unknown

  RNNLAB_FIELDS(nice, is_traced, has_random_addresses, program_id)
};

ProcessFacts process_facts();

// Warns if system calls of this process wait for a tracer, or if its memory has a fixed layout, so that its times vary
// less than those of other processes.
std::vector<Warning> warnings(const ProcessFacts& facts);

// Returns whether the text of /proc/self/status has the number of a process that traces this process.
bool is_traced_by(const std::string& status);

// An environment holds everything that affects the times of a run and is not in its settings: machine, build,
// libraries, and other users of the machine when the run started. It is stored as environment.json. Collect it before
// the first CUDA call, because afterwards the program itself is among the users of the GPU. Later environments of one
// process (in a sweep) contain the other users that the first environment found.

// Holds versions that only the caller knows, because this module does not use LibTorch. A version that does not apply
// is "".
struct SoftwareVersions {
  std::string rnnlab;
  std::string libtorch;  // the loaded version
  std::string cuda;
  std::string cudnn;
  std::string libtorch_commit = {};  // of its sources, 40 hex digits
  std::string program = {};          // the program that trained the run: "PyTorch 2.11.0"; "": rnnlab

  RNNLAB_FIELDS(rnnlab, libtorch, cuda, cudnn, since<3>(libtorch_commit), where_given(program))
};

// Returns a text such as "LibTorch 2.11.0, CUDA 13.0, cuDNN not loaded".
std::string versions_text(const SoftwareVersions& software);

// Holds the instruction sets that the libraries use on this CPU, in the libraries' own words and under all limits that
// are set for them; "" if a library does not report its instruction set.
struct InstructionSets {
  std::string aten;
  std::string onednn;
  std::string mkl;

  friend bool operator==(const InstructionSets&, const InstructionSets&) = default;

  RNNLAB_FIELDS(aten, onednn, mkl)
};

// Holds what the computing libraries report about themselves.
struct Libraries {
  SoftwareVersions versions;
  InstructionSets instruction_sets;
};

// Describes the machine of one of the processes that trained the run together. Texts are "" if they are unknown.
struct RankInfo {
  std::string host;  // its name
  std::string machine_id;
  std::string cpu;                     // model
  std::string gpu;                     // model; "" if the process trained on a CPU
  std::string gpu_uuid;                // as above
  std::string driver_version;          // of the GPUs
  std::vector<Warning> warnings = {};  // about this machine when the run began

  friend bool operator==(const RankInfo&, const RankInfo&) = default;

  RNNLAB_FIELDS(host, machine_id, cpu, where_given(gpu), where_given(gpu_uuid), where_given(driver_version),
                where_given(warnings))
};

// Describes the processes that trained the run together.
struct RanksInfo {
  int64_t num_processes = 0;
  int64_t num_hosts = 0;
  std::string exchange;             // the engine that adds up their gradients: "gloo", "nccl", "symmetric_memory"
  std::vector<RankInfo> each = {};  // by rank; empty in files that do not record it

  friend bool operator==(const RanksInfo&, const RanksInfo&) = default;

  RNNLAB_FIELDS(num_processes, num_hosts, exchange, where_given(each))
};

// Returns the models of the processors on which the ranks train, each once, sorted: "NVIDIA H200", "NVIDIA T4".
std::vector<std::string> processors_of(const RanksInfo& ranks);

struct Environment {
  int64_t schema_version = kFileVersion;
  std::string start_time;  // "2026-11-21T02:59:51Z"
  std::vector<std::string> command_line;
  int64_t num_threads = 0;  // threads of the CPU kernels
  HostInfo host;
  CpuInfo cpu;
  GpuSurvey nvidia;
  BuildInfo build;
  SoftwareVersions software;
  InstructionSets instruction_sets;
  std::optional<Variables> variables;   // nothing in files that do not record them
  std::optional<ProcessFacts> process;  // nothing in files that do not record it
  std::string used_gpus = {};           // UUIDs of the GPUs in use, with commas; "" without GPUs and in old files
  std::optional<RanksInfo> ranks = std::nullopt;  // nothing for a process that trains alone

  RNNLAB_FIELDS(schema_version, start_time, command_line, num_threads, host, cpu, nvidia, build, software,
                since<3>(instruction_sets), since<3>(variables), since<3>(process), where_given(used_gpus),
                where_given(ranks))
};

// Warns about a GPU whose clocks are held down; the sentence has `verb`, "IS" or "was".
std::optional<Warning> throttling_warning(const GpuInfo& gpu, size_t index, std::string_view verb);

// Remembers which other processes use the GPUs. The first call of this function or of collect_environment() counts.
// Call it before this process, or another one of its run, opens a GPU.
void remember_gpu_occupancy();

// Collects the environment in a tenth of a second.
Environment collect_environment(std::vector<std::string> command_line, int64_t num_threads, Libraries libraries);

// Returns the GPU models of the machine, for Identity: "NVIDIA H200", "2 x NVIDIA H200", "".
std::string gpu_model(const GpuSurvey& survey);

// Returns the model of the GPU with this UUID; "" if it is not in the survey.
std::string model_of_gpu(const GpuSurvey& survey, std::string_view uuid);

// Returns the model of any one of the GPUs: "NVIDIA H200". If the models differ, returns all of them, "NVIDIA H200 or
// NVIDIA T4", because CUDA numbers GPUs differently than NVML does.
std::string model_of_one_gpu(const GpuSurvey& survey);

// Describes the machine of this process for the other processes of its run. `environment.used_gpus` must be set.
RankInfo describe_rank(const Environment& environment);

// Sets `environment.ranks` and `environment.used_gpus`. `texts` are those that text_of() returns, by rank.
void record_ranks(Environment& environment, const std::vector<std::string>& texts, std::string exchange);

// Returns a text for record_ranks() on a different machine.
std::string text_of(const RankInfo& rank);

// Warns about reasons to doubt times of a run that started in this environment: a debug build, other processes on the
// GPU or the CPU, more threads than CPUs, a long queue for the CPUs, throttled clocks; on the machine of each rank.
std::vector<Warning> warnings(const Environment& environment);

// Returns the hash of the text that write_environment writes. run_record.h compares it with the file.
std::string environment_sha256(const Environment& environment);

// Write and read `run_folder`/environment.json. write_environment throws UserError kDevice. read_environment throws
// UserError kData with the file and the key.
void write_environment(const std::filesystem::path& run_folder, const Environment& environment);
Environment read_environment(const std::filesystem::path& run_folder);

}  // namespace rnnlab
