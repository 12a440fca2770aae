// SPDX-License-Identifier: Apache-2.0
#include "results/environment.h"

#include <elf.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <set>

#include "base/folder.h"
#include "base/numbers.h"
#include "base/sha256.h"
#include "base/system/json_fields.h"
#include "base/text.h"
#include "results/run_folder.h"
#include "results_git_revision.h"  // made by git_revision.cmake at every build

namespace rnnlab {
namespace {

#ifdef __OPTIMIZE__
constexpr bool kOptimized = true;
#else
constexpr bool kOptimized = false;
#endif

#ifdef NDEBUG
constexpr bool kAssertions = false;
#else
constexpr bool kAssertions = true;
#endif

#if defined(__SANITIZE_ADDRESS__)
constexpr const char* kSanitizer = "AddressSanitizer";
#elif defined(__SANITIZE_THREAD__)
constexpr const char* kSanitizer = "ThreadSanitizer";
#else
constexpr const char* kSanitizer = "";
#endif

#ifdef __clang__
constexpr const char* kCompiler = "clang";
#else
constexpr const char* kCompiler = "gcc";
#endif

// Returns what makes the build slow; empty if the build is fit for timing.
std::vector<std::string> slow_traits(const BuildInfo& build) {
  std::vector<std::string> traits;
  if (!build.optimized) traits.emplace_back("not optimised");
  if (build.assertions) traits.emplace_back("assertions on");
  if (!build.sanitizer.empty()) traits.push_back(build.sanitizer);
  return traits;
}

}  // namespace

BuildInfo build_info() {
  return {.type = RNNLAB_BUILD_TYPE,
          .compiler = fmt::format("{} {}", kCompiler, __VERSION__),
          .optimized = kOptimized,
          .assertions = kAssertions,
          .sanitizer = kSanitizer,
          .git_revision = kGitRevision,
          .git_dirty = kGitDirty};
}

std::string build_kind(const BuildInfo& build) {
  std::vector<std::string> parts = slow_traits(build);
  parts.insert(parts.begin(), build.type);
  return join(parts, ", ");
}

std::optional<Warning> build_warning(const BuildInfo& build) {
  if (slow_traits(build).empty()) return std::nullopt;
  return Warning{warning::kSlowBuild,
                 fmt::format("THIS BUILD IS NOT FOR TIMING ({}): build with the preset 'release' before you trust any "
                             "number",
                             build_kind(build))};
}

namespace {

constexpr std::array<std::string_view, 21> kPrefixes = {
    "OMP_",   "GOMP_",    "KMP_",  "MKL_",    "ONEDNN_",        "DNNL_",      "ATEN_",
    "TORCH_", "PYTORCH_", "CUDA_", "CUBLAS_", "CUBLASLT_",      "CUDNN_",     "NVIDIA_",
    "NCCL_",  "XLA_",     "JAX_",  "MALLOC_", "GLIBC_TUNABLES", "LD_PRELOAD", "LD_AUDIT"};

// These variables select a device, set the number of threads (which is compared by its effect), describe the image of a
// container, or are not read by a run on one device.
constexpr std::array<std::string_view, 23> kWithoutEffect = {"CUDA_VISIBLE_DEVICES",
                                                             "CUDA_DEVICE_ORDER",
                                                             "CUDA_HOME",
                                                             "CUDA_PATH",
                                                             "CUDA_ROOT",
                                                             "CUDA_VERSION",
                                                             "CUDA_CACHE_PATH",
                                                             "CUDA_CACHE_MAXSIZE",
                                                             "CUDA_CACHE_DISABLE",
                                                             "CUDNN_VERSION",
                                                             "NVIDIA_VISIBLE_DEVICES",
                                                             "NVIDIA_DRIVER_CAPABILITIES",
                                                             "NVIDIA_REQUIRE_CUDA",
                                                             "NVIDIA_PRODUCT_NAME",
                                                             "NVIDIA_CUDA_END_OF_LIFE",
                                                             "OMP_NUM_THREADS",
                                                             "MKL_NUM_THREADS",
                                                             "OMP_DISPLAY_ENV",
                                                             "TORCH_HOME",
                                                             "TORCH_CUDA_ARCH_LIST",
                                                             "PYTORCH_VERSION",
                                                             "PYTORCH_BUILD_VERSION",
                                                             "PYTORCH_BUILD_NUMBER"};

// A variable with such a word in its name is not a setting, although it may have a library's prefix: NVIDIA_API_KEY.
constexpr std::array<std::string_view, 5> kSecretWords = {"KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"};

bool is_secret(std::string_view name) {
  return std::ranges::any_of(kSecretWords, [&](std::string_view word) { return name.find(word) != name.npos; });
}

bool is_of_a_library(std::string_view name) {
  return std::ranges::any_of(kPrefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

// A list of files contains one path after another without quotes, so each path is cut separately.
std::string without_folders_of_list(std::string_view value) {
  std::string text, word;
  const auto end_word = [&] { text += word.find('/') == std::string::npos ? word : last_name(word); };
  for (const char c : value) {
    if (c != ':' && c != ' ' && c != ',' && c != ';') {
      word += c;
      continue;
    }
    end_word();
    word.clear();
    text += c;
  }
  end_word();
  return text;
}

std::string differing(const Variables& first, const Variables& second, bool (*counts)(std::string_view)) {
  std::set<std::string> names;
  for (const Variables* all : {&first, &second})
    for (const auto& [name, value] : *all) names.insert(name);
  std::vector<std::string> found;
  for (const std::string& name : names) {
    const auto own = first.find(name), other = second.find(name);
    const bool is_equal = own != first.end() && other != second.end() && own->second == other->second;
    if (is_equal || !counts(name)) continue;
    found.push_back(own == first.end() ? "no " + name : name + "=" + own->second);
  }
  return join(found, ", ");
}

bool has_no_effect(std::string_view name) { return !changes_kernels(name); }

}  // namespace

Variables kernel_variables() { return kernel_variables(environ); }

Variables kernel_variables(const char* const* environment) {
  Variables found;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view text = *environment;
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = text.substr(0, equals);
    if (is_of_a_library(name) && !is_secret(name))
      found.emplace(on_one_line(name), on_one_line(without_folders_of_list(text.substr(equals + 1))));
  }
  return found;
}

bool changes_kernels(std::string_view name) {
  return !name.starts_with("NCCL_") && std::ranges::find(kWithoutEffect, name) == kWithoutEffect.end();
}

std::string differing_variables(const Variables& first, const Variables& second) {
  return differing(first, second, changes_kernels);
}

std::string differing_neutral_variables(const Variables& first, const Variables& second) {
  return differing(first, second, has_no_effect);
}

std::string variables_text(const Variables& variables) { return differing_variables(variables, {}); }

namespace {

bool has_random_addresses() {
  constexpr unsigned long kAsk = 0xffffffff;
  const int persona = ::personality(kAsk);
  const bool is_switched_off = persona != -1 && (persona & ADDR_NO_RANDOMIZE) != 0;
  return !is_switched_off && !system_text("/proc/sys/kernel/randomize_va_space").starts_with('0');
}

// Notes are padded to whole words (System V ABI, "Note Section").
size_t padded(size_t size) {
  constexpr size_t kWord = 4;
  return (size + kWord - 1) / kWord * kWord;
}

// The linker writes a note with a hash of the linked files.
void add_build_id(std::string_view notes, std::string& ids) {
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    const auto& header = *reinterpret_cast<const ElfW(Nhdr)*>(notes.data());
    const size_t begin = sizeof(header) + padded(header.n_namesz), end = begin + padded(header.n_descsz);
    if (end > notes.size()) return;
    if (header.n_type == NT_GNU_BUILD_ID) ids += notes.substr(begin, header.n_descsz);
    notes.remove_prefix(end);
  }
}

// The program does not have a name here, and its libraries have their names. The library for CUDA is left out, because
// it is loaded only if there is a GPU.
bool is_own(std::string_view name) {
  return name.empty() || (name.find("librnnlab_") != name.npos && name.find("librnnlab_cuda") == name.npos);
}

int add_own_object(dl_phdr_info* object, size_t, void* ids) {
  if (!is_own(object->dlpi_name)) return 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object->dlpi_phdr[i];
    if (header.p_type != PT_NOTE) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the system gives the address as a number
    const auto* notes = reinterpret_cast<const char*>(object->dlpi_addr + header.p_vaddr);
    add_build_id({notes, header.p_memsz}, *static_cast<std::string*>(ids));
  }
  return 0;
}

std::string program_id() {
  constexpr size_t kDigits = 16;
  std::string ids;
  ::dl_iterate_phdr(add_own_object, &ids);
  return ids.empty() ? "" : Sha256().update(ids).hex().substr(0, kDigits);
}

}  // namespace

bool is_traced_by(const std::string& status) { return parse_int64(value_of_key(status, "TracerPid")).value_or(0) > 0; }

ProcessFacts process_facts() {
  return {.nice = ::getpriority(PRIO_PROCESS, 0),
          .is_traced = is_traced_by(system_text("/proc/self/status")),
          .has_random_addresses = has_random_addresses(),
          .program_id = program_id()};
}

std::vector<Warning> warnings(const ProcessFacts& facts) {
  std::vector<Warning> found;
  if (facts.is_traced)
    found.emplace_back(warning::kDebugged,
                       "a debugger or a tracer follows this process: each system call waits for it");
  if (!facts.has_random_addresses)
    found.emplace_back(
        warning::kFixedAddresses,
        "addresses are not random: memory has the same layout in each process, so repeats differ less than usual");
  return found;
}

namespace {

std::string name_of_gpu(const GpuInfo& gpu, size_t index) { return fmt::format("GPU {} ({})", index, gpu.name); }

std::vector<Warning> gpu_warnings(const GpuInfo& gpu, size_t index) {
  constexpr int64_t kBusyPercent = 10;
  std::vector<Warning> found;
  const std::string name = name_of_gpu(gpu, index);
  if (!gpu.compute_pids.empty())
    found.emplace_back(
        warning::kGpuShared,
        fmt::format("{} IS SHARED: {} on it at the start (pid {}), so its times are not reliable", name,
                    counted(std::ssize(gpu.compute_pids), "other process"), fmt::join(gpu.compute_pids, ", ")));
  else if (gpu.utilization_percent >= kBusyPercent)
    found.emplace_back(warning::kGpuBusy,
                       fmt::format("{} IS BUSY: {} % in use at the start by a process that is not visible from here",
                                   name, gpu.utilization_percent));
  if (const auto throttling = throttling_warning(gpu, index, "IS")) found.push_back(*throttling);
  return found;
}

// After the first CUDA call this process is among those that keep the GPU busy, and in a container it cannot
// distinguish its own process from others. So the other processes are those of the first survey.
const GpuSurvey& first_survey() {
  static const GpuSurvey first = survey_gpus();
  return first;
}

GpuSurvey survey_gpus_with_first_occupancy() {
  const GpuSurvey& first = first_survey();
  GpuSurvey survey = survey_gpus();
  for (size_t i = 0; i < std::min(survey.gpus.size(), first.gpus.size()); ++i) {
    survey.gpus[i].compute_pids = first.gpus[i].compute_pids;
    survey.gpus[i].utilization_percent = first.gpus[i].utilization_percent;
  }
  return survey;
}

constexpr const char* kThreadsKey = "training.num_threads (in a benchmark num_threads)";

bool has_too_many_threads(const Environment& environment) {
  return environment.cpu.usable_cpus > 0 && environment.num_threads > environment.cpu.usable_cpus;
}

// Threads that share their CPUs with other work wait for each other at every operation.
std::string remedy_of_a_busy_cpu(const Environment& environment) {
  if (has_too_many_threads(environment))
    return ", perhaps the threads of this program's previous run, which are more than the CPUs";
  return environment.num_threads > 1 ? fmt::format("; fewer threads may be faster: set {}", kThreadsKey) : "";
}

// The load average counts threads that run or wait for a CPU. A previous run on all CPUs leaves a load average of about
// their number.
std::optional<Warning> queue_warning(const CpuInfo& cpu) {
  constexpr double kRounding = 0.5;
  const bool is_long = !cpu.load_average.empty() && cpu.logical_cpus > 0 &&
                       cpu.load_average[0] > static_cast<double>(cpu.logical_cpus) + kRounding;
  if (!is_long) return std::nullopt;
  return Warning{warning::kHighLoad,
                 fmt::format("the load average at the start was {:.1f} on {}: threads waited for CPUs",
                             cpu.load_average[0], counted(cpu.logical_cpus, "CPU"))};
}

}  // namespace

std::optional<Warning> throttling_warning(const GpuInfo& gpu, size_t index, std::string_view verb) {
  if (gpu.throttle_reasons.empty()) return std::nullopt;
  return Warning{warning::kGpuThrottled,
                 fmt::format("{} {} THROTTLED: {} (SM clock {} of {} MHz)", name_of_gpu(gpu, index), verb,
                             join(gpu.throttle_reasons, ", "), gpu.sm_clock_mhz, gpu.max_sm_clock_mhz)};
}

void remember_gpu_occupancy() { first_survey(); }

std::string versions_text(const SoftwareVersions& software) {
  return fmt::format("LibTorch {}, CUDA {}, cuDNN {}", software.libtorch,
                     software.cuda.empty() ? "not loaded" : software.cuda,
                     software.cudnn.empty() ? "not loaded" : software.cudnn);
}

std::string gpu_model(const GpuSurvey& survey) {
  std::map<std::string, int> counts;
  for (const GpuInfo& gpu : survey.gpus) ++counts[gpu.name];
  std::vector<std::string> models;
  for (const auto& [name, count] : counts) models.push_back(count == 1 ? name : fmt::format("{} x {}", count, name));
  return join(models, ", ");
}

std::string model_of_gpu(const GpuSurvey& survey, std::string_view uuid) {
  const auto found = std::ranges::find(survey.gpus, uuid, &GpuInfo::uuid);
  return found == survey.gpus.end() ? "" : found->name;
}

std::string model_of_one_gpu(const GpuSurvey& survey) {
  std::vector<std::string> models;
  for (const GpuInfo& gpu : survey.gpus) add_once(models, gpu.name);
  return join_with_or(models);
}

Environment collect_environment(std::vector<std::string> command_line, int64_t num_threads, Libraries libraries) {
  return {.start_time = fmt::format("{:%Y-%m-%dT%H:%M:%S}Z", fmt::gmtime(std::time(nullptr))),
          .command_line = std::move(command_line),
          .num_threads = num_threads,
          .host = host_info(),
          .cpu = cpu_info(),
          .nvidia = survey_gpus_with_first_occupancy(),
          .build = build_info(),
          .software = std::move(libraries.versions),
          .instruction_sets = std::move(libraries.instruction_sets),
          .variables = kernel_variables(),
          .process = process_facts()};
}

namespace {

std::string processor_of(const RankInfo& rank) { return rank.gpu_uuid.empty() ? rank.cpu : rank.gpu; }

// Returns whether a process before this one has the same host, whose warnings it has reported.
bool is_on_a_known_machine(const std::vector<RankInfo>& ranks, size_t rank) {
  return std::any_of(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(rank), [&](const RankInfo& other) {
    return other.host == ranks[rank].host && other.machine_id == ranks[rank].machine_id;
  });
}

// Rank 0's own warnings are left out.
std::vector<Warning> warnings(const RanksInfo& ranks) {
  std::vector<Warning> found;
  const std::vector<std::string> processors = processors_of(ranks);
  if (processors.size() > 1)
    found.emplace_back(warning::kUnequalProcessors,
                       fmt::format("the processes of this run train on different processors ({}): all of them wait for "
                                   "the slowest",
                                   join(processors, ", ")));
  for (size_t rank = 1; rank < ranks.each.size(); ++rank) {
    if (is_on_a_known_machine(ranks.each, rank)) continue;
    for (const Warning& one : ranks.each[rank].warnings)
      found.emplace_back(one.kind, fmt::format("on the host of rank {}: {}", rank, one.text));
  }
  return found;
}

int64_t number_of_hosts(const std::vector<RankInfo>& ranks) {
  int64_t count = 0;
  for (size_t rank = 0; rank < ranks.size(); ++rank) count += is_on_a_known_machine(ranks, rank) ? 0 : 1;
  return count;
}

}  // namespace

std::vector<std::string> processors_of(const RanksInfo& ranks) {
  std::set<std::string> processors;
  for (const RankInfo& rank : ranks.each) processors.insert(processor_of(rank));
  return {processors.begin(), processors.end()};
}

namespace {

// The management library does not know parts of a GPU (MIG) by their UUIDs.
std::string gpu_of(const Environment& environment) {
  std::string model = model_of_gpu(environment.nvidia, environment.used_gpus);
  if (model.empty()) model = model_of_one_gpu(environment.nvidia);
  return model.empty() ? "a GPU of unknown model" : model;
}

}  // namespace

RankInfo describe_rank(const Environment& environment) {
  return {.host = environment.host.hostname,
          .machine_id = environment.host.machine_id,
          .cpu = environment.cpu.model,
          .gpu = environment.used_gpus.empty() ? "" : gpu_of(environment),
          .gpu_uuid = environment.used_gpus,
          .driver_version = environment.nvidia.driver_version,
          .warnings = warnings(environment)};
}

std::string text_of(const RankInfo& rank) { return json_text(to_json(rank)); }

void record_ranks(Environment& environment, const std::vector<std::string>& texts, std::string exchange) {
  RanksInfo ranks{.num_processes = std::ssize(texts), .exchange = std::move(exchange)};
  std::vector<std::string> gpus;
  for (size_t rank = 0; rank < texts.size(); ++rank) {
    const std::string source = fmt::format("the description of rank {}", rank);
    const Json json = parse_json(texts[rank], source);
    from_json(JsonPlace{json, source, "", kFileVersion}, ranks.each.emplace_back());
    if (const std::string& gpu = ranks.each.back().gpu_uuid; !gpu.empty()) add_once(gpus, gpu);
  }
  ranks.num_hosts = number_of_hosts(ranks.each);
  environment.used_gpus = join(gpus, ",");
  environment.ranks = std::move(ranks);
}

std::vector<Warning> warnings(const Environment& environment) {
  std::vector<Warning> found;
  if (const auto build = build_warning(environment.build)) found.push_back(*build);
  if (has_too_many_threads(environment))
    found.emplace_back(
        warning::kMoreThreadsThanCpus,
        fmt::format(
            "MORE THREADS THAN CPUS: the process has {} for {}, so its threads wait for each other; set a lower "
            "{}",
            counted(environment.num_threads, "thread"), counted(environment.cpu.usable_cpus, "usable CPU"),
            kThreadsKey));
  if (disturbs(environment.cpu.busy_fraction, environment.cpu.usable_cpus, environment.num_threads))
    found.emplace_back(warning::kCpuBusy, fmt::format("THE CPU IS BUSY: other work took {:.0f} % of {} at the start{}",
                                                      100 * environment.cpu.busy_fraction,
                                                      counted(environment.cpu.usable_cpus, "usable CPU"),
                                                      remedy_of_a_busy_cpu(environment)));
  if (environment.process)
    for (Warning& warning : warnings(*environment.process)) found.push_back(std::move(warning));
  if (const auto queue = queue_warning(environment.cpu)) found.push_back(*queue);
  for (size_t i = 0; i < environment.nvidia.gpus.size(); ++i)
    for (Warning& warning : gpu_warnings(environment.nvidia.gpus[i], i)) found.push_back(std::move(warning));
  if (environment.ranks)
    for (Warning& warning : warnings(*environment.ranks)) found.push_back(std::move(warning));
  return found;
}

std::string environment_sha256(const Environment& environment) {
  return Sha256().update(json_text(to_json(environment))).hex();
}

void write_environment(const std::filesystem::path& run_folder, const Environment& environment) {
  write_record(run_folder / kEnvironmentFile, environment);
}

Environment read_environment(const std::filesystem::path& run_folder) {
  return read_record<Environment>(run_folder / kEnvironmentFile);
}

}  // namespace rnnlab
