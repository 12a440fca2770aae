// SPDX-License-Identifier: Apache-2.0
#include "runs/devices.h"

#include <ATen/detail/CUDAHooksInterface.h>
#include <torch/cuda.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/file_handles.h"
#include "base/numbers.h"
#include "base/text.h"
#include "layers/device/cuda_library.h"
#include "layers/device/gpu_device.h"
#include "results/environment.h"
#include "runs/failure.h"
#include "train/loop/determinism.h"
#include "train/loop/kernels/optimizer.h"
#include "train/ranks/local_store.h"

namespace rnnlab {
namespace {

constexpr std::string_view kCudaPrefix = "cuda:";

int64_t cuda_index(std::string_view name) {
  if (!name.starts_with(kCudaPrefix)) return 0;
  return parse_int64(name.substr(kCudaPrefix.size())).value();
}

// If the machine has a GPU that LibTorch does not find, librnnlab_cuda.so is missing.
std::string missing_gpu_reason() {
  const std::string fault = why_no_cuda_library();
  const bool is_fault = !fault.empty() && !survey_gpus().gpus.empty();
  return "LibTorch finds no CUDA GPU" + (is_fault ? fmt::format(" ({})", fault) : "");
}

std::string available_gpus(int64_t count) {
  if (count == 0) return driver_fault_here().value_or(missing_gpu_reason());
  if (count == 1) return "this machine has one, cuda:0";
  return fmt::format("this machine has {}, cuda:0 to cuda:{}", count, count - 1);
}

}  // namespace

std::string device_error(const std::string& name) {
  if (name == "cpu" || name == "auto") return "";
  // NOLINTNEXTLINE(bugprone-signed-char-misuse): LibTorch counts devices in int8, which is a number here
  const auto count = static_cast<int64_t>(torch::cuda::device_count());
  if (cuda_index(name) < count) return "";
  return fmt::format("device: got {}, but {}; use device=cpu, or see `rnnlab info`", name, available_gpus(count));
}

c10::Device resolve_device(const std::string& name) {
  if (const std::string reason = device_error(name); !reason.empty()) throw_error(ExitCode::kDevice, "{}", reason);
  const bool is_auto_without_gpu = name == "auto" && torch::cuda::device_count() == 0;
  if (name == "cpu" || is_auto_without_gpu) return c10::Device(c10::kCPU);
  return c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(cuda_index(name)));
}

std::optional<std::string> driver_fault_here() {
  const auto& hooks = at::detail::getCUDAHooks();
  return hooks.hasCUDART() ? driver_fault(survey_gpus(), hooks.versionCUDART()) : std::nullopt;
}

std::vector<std::string> device_notes(const std::string& name, c10::Device device) {
  if (name != "auto" || !device.is_cpu()) return {};
  const auto fault = driver_fault_here();
  if (!fault) return {};
  return {"device: auto chose the CPU: " + *fault};
}

GpuSurvey survey_of(const std::string& uuids) {
  if (uuids.empty()) return {};
  GpuSurvey survey = survey_gpus();
  const std::vector<std::string> wanted = split(uuids, ',');
  const auto is_other = [&](const GpuInfo& gpu) { return std::ranges::find(wanted, gpu.uuid) == wanted.end(); };
  if (!std::ranges::all_of(survey.gpus, is_other)) std::erase_if(survey.gpus, is_other);
  return survey;
}

std::string uuid_of(c10::Device device) { return device.is_cuda() ? uuid_of_gpu(device) : ""; }

std::string device_label(c10::Device device) {
  if (device.is_cpu()) return "cpu";
  return device.index() <= 0 ? "cuda" : fmt::format("cuda{}", static_cast<int>(device.index()));
}

namespace {

// The processes of one launcher may train several runs one after another, so each run has its own name.
int64_t g_num_runs_joined = 0;
std::string name_of_next_run() { return fmt::format("run{}", g_num_runs_joined); }

constexpr const char* kOnlyRun = "run0";  // name in processes that are started for one run

void require_agreement(const Experiment& experiment, const Launch& launch) {
  const bool is_any = experiment.devices.value_or(kAllGpus) == kAllGpus;
  if (!is_any && *experiment.devices != launch.size)
    throw_error(ExitCode::kUsage,
                "devices: got {}, but {} started {}: remove devices, or start that number of processes",
                *experiment.devices, config::name_of(launch.launcher), counted(launch.size, "process"));
}

// The variable lets ranks share a GPU, for example to try two processes on a machine with one GPU.
bool shares_gpus() { return std::getenv("RNNLAB_SHARE_GPUS") != nullptr; }

int64_t num_gpus_here() { return static_cast<int64_t>(torch::cuda::device_count()); }

std::string too_few_gpus(int64_t num_processes) {
  return fmt::format(
      "devices: {} need a GPU each, but this machine has {}: use fewer devices, or device: cpu (RNNLAB_SHARE_GPUS=1 "
      "lets them share a GPU, for tests only: the speed means nothing)",
      counted(num_processes, "process"), num_gpus_here());
}

// A launcher may make only one GPU visible to each process, so the index wraps around.
c10::Device gpu_of_rank(const Launch& launch) {
  const int64_t num_gpus = num_gpus_here(), index = launch.local_rank;
  if (index >= num_gpus && num_gpus > 1 && !shares_gpus())
    throw_error(ExitCode::kDevice, "{}", too_few_gpus(index + 1));
  return {c10::kCUDA, static_cast<c10::DeviceIndex>(index % num_gpus)};
}

// Returns whether two ranks have the same GPU; throws if that is not permitted.
bool are_shared(const std::vector<std::string>& uuids) {
  for (size_t i = 0; i < uuids.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      if (uuids[i] != uuids[j]) continue;
      if (shares_gpus()) return true;
      throw_error(ExitCode::kDevice, "{}; ranks {} and {} would both train on {}", too_few_gpus(std::ssize(uuids)), j,
                  i, uuids[i]);
    }
  return false;
}

// `cuda` is the first GPU, and each further process then takes the next.
void require_first_gpu(const Experiment& experiment, c10::Device device, int64_t num_processes) {
  if (device.is_cpu() || device.index() == 0) return;
  throw_error(ExitCode::kUsage, "device: {} is one GPU, but {} need one each: use device: cuda", experiment.device,
              counted(num_processes, "process"));
}

void require_exchange(const Experiment& experiment, c10::Device device, int64_t num_ranks) {
  if (experiment.distributed.exchange != ExchangeKind::kSymmetricMemory) return;
  if (device.is_cpu())
    throw_error(ExitCode::kUsage,
                "distributed.exchange: symmetric_memory is for GPUs, but device: {} is a CPU here; use all_reduce",
                experiment.device);
  if (experiment.training.shards)
    throw_error(ExitCode::kUsage,
                "distributed.exchange: symmetric_memory cannot add up training.shards in their order; use all_reduce");
  if (num_ranks > kernels::kMostSummed)
    throw_error(
        ExitCode::kUsage,
        "distributed.exchange: symmetric_memory is for at most {} processes, but this run has {}; use all_reduce",
        kernels::kMostSummed, num_ranks);
}

void require_shards_for(const Experiment& experiment, int64_t num_processes) {
  const int64_t shards = experiment.training.shards.value_or(num_processes);
  if (shards % num_processes == 0) return;
  throw_error(ExitCode::kUsage,
              "training.shards: {} cannot be divided among {}: use a number of devices that divides it", shards,
              counted(num_processes, "process"));
}

}  // namespace

const std::optional<Launch>& this_launch() {
  static const std::optional<Launch> launch = launch_of_this_process();
  return launch;
}

void refuse_launcher(const std::string& what, const std::string& why) {
  if (!this_launch()) return;
  throw_error(ExitCode::kUsage, "{}: {} started {}{}", what, config::name_of(this_launch()->launcher),
              counted(this_launch()->size, "process"), why);
}

bool is_first_process() { return !this_launch() || this_launch()->rank == 0; }

int64_t num_devices(const Experiment& experiment) {
  const int64_t wanted = experiment.devices.value_or(1);
  if (wanted != kAllGpus) return wanted;
  if (resolve_device(experiment.device).is_cuda()) return num_gpus_here();
  throw_error(ExitCode::kUsage, "devices: all counts GPUs, but device: {} is a CPU here; set the number of processes",
              experiment.device);
}

void require_devices(const Experiment& experiment) {
  const c10::Device device = resolve_device(experiment.device);
  const int64_t size = this_launch() ? this_launch()->size : num_devices(experiment);
  if (size <= 1) return;
  require_first_gpu(experiment, device, size);
  require_exchange(experiment, device, size);
  require_shards_for(experiment, size);
  if (device.is_cpu() || this_launch() || size <= num_gpus_here() || shares_gpus()) return;
  throw_error(ExitCode::kDevice, "{}", too_few_gpus(size));
}

bool needs_ranks(const Experiment& experiment) { return !this_launch() && num_devices(experiment) > 1; }

c10::Device device_of_process(const Experiment& experiment) {
  const c10::Device device = resolve_device(experiment.device);
  const auto& launch = this_launch();
  if (device.is_cpu() || !launch) return device;
  require_first_gpu(experiment, device, launch->size);
  return gpu_of_rank(*launch);
}

ExitCode run_processes(const Experiment& experiment, const std::string& program,
                       const std::vector<std::string>& arguments, const MustEnd& must_end) {
  const auto print = [](const std::string& line) {
    fmt::print("{}\n", line);
    std::fflush(stdout);
  };
  if (!needs_ranks(experiment)) return run_child(program, arguments, print, must_end);
  require_devices(experiment);
  const int64_t size = num_devices(experiment);
  require_handles(kHandlesOfProcess + size * kHandlesOfPeer, fmt::format("devices: {} processes", size));
  LocalStore store;
  std::vector<ChildRequest> requests;
  for (int64_t rank = 0; rank < size; ++rank)
    requests.push_back(
        {arguments,
         {fmt::format("RNNLAB_RANK={}", rank), fmt::format("RNNLAB_SIZE={}", size),
          fmt::format("RNNLAB_STORE_PORT={}", store.port()), fmt::format("{}={}", kSecretVariable, store.secret())}});
  const auto on_failure = [&](size_t rank, ExitCode exit_code, const std::string& text) {
    const std::string how =
        text.empty() ? fmt::format("it ended with exit code {}", static_cast<int>(exit_code)) : text;
    store.post_failure(kOnlyRun, static_cast<int64_t>(rank), exit_code, how);
  };
  const EndOfChildren end = run_together(program, requests, print, on_failure, must_end);
  // A rank may have reported the failure before a signal ended it.
  if (!end.reason.empty() && !store.is_report_claimed(kOnlyRun)) throw_error(end.exit_code, "{}", end.reason);
  return end.exit_code;
}

std::shared_ptr<Ranks> join_ranks(const Experiment& experiment) {
  const auto& launch = this_launch();
  if (!launch) return {&sole_rank(), [](Ranks*) {}};  // which lives as long as the process
  report_once(
      [&] {
        require_agreement(experiment, *launch);
        require_shards_for(experiment, launch->size);
        static_cast<void>(device_of_process(experiment));
      },
      experiment.distributed.interface);
  const auto milliseconds = [](double seconds) {
    return std::chrono::milliseconds(static_cast<int64_t>(1000 * seconds));
  };
  const RanksOptions options = {.timeout = milliseconds(experiment.distributed.timeout),
                                .start_timeout = milliseconds(experiment.distributed.start_timeout),
                                .name = name_of_next_run(),
                                .interface = experiment.distributed.interface};
  ++g_num_runs_joined;
  return connect_ranks(*launch, options);
}

namespace {

constexpr char kEndOfLine = '\n', kEndOfName = '\t';

std::string lines_of(const SharedFacts& facts) {
  std::string text;
  for (const auto& [name, value] : facts) text += name + kEndOfName + value + kEndOfLine;
  return text;
}

using FactsByName = std::map<std::string, std::string>;

FactsByName facts_in(const std::string& text) {
  FactsByName facts;
  for (const std::string& line : split(text, kEndOfLine)) {
    const size_t end = line.find(kEndOfName);
    if (end != std::string::npos) facts.emplace(line.substr(0, end), line.substr(end + 1));
  }
  return facts;
}

std::string value_in(const FactsByName& facts, const std::string& name) {
  const auto found = facts.find(name);
  return found == facts.end() ? "no value" : in_quotes(found->second);
}

// Returns the first name, in the order of `facts`, whose value differs, or else one that only other ranks have.
std::string first_difference(const SharedFacts& facts, const FactsByName& first, const FactsByName& other) {
  for (const auto& [name, value] : facts)
    if (value_in(first, name) != value_in(other, name)) return name;
  const auto only_other = [&](const auto& fact) { return !first.contains(fact.first); };
  const auto found = std::ranges::find_if(other, only_other);
  return found == other.end() ? "" : found->first;
}

}  // namespace

SharedFacts equal_settings(const Experiment& experiment) {
  auto settings = effective_settings(experiment);
  settings.erase("distributed.interface");  // may differ from host to host
  return {settings.begin(), settings.end()};
}

void require_equal_facts(Ranks& ranks, const SharedFacts& facts) {
  const std::vector<std::string> texts = ranks.all_gather_texts(lines_of(facts));
  for (size_t rank = 1; rank < texts.size(); ++rank) {
    if (texts[rank] == texts[0]) continue;
    const FactsByName first = facts_in(texts[0]), other = facts_in(texts[rank]);
    const std::string name = first_difference(facts, first, other);
    throw_error(ExitCode::kUsage, "{} differs between the processes of this run: {} on rank 0, {} on rank {}", name,
                value_in(first, name), value_in(other, name), rank);
  }
}

namespace {

// Returns nothing on CPUs.
std::optional<GpuConnection> connection_of(Ranks& ranks, const Experiment& experiment) {
  const c10::Device device = device_of_process(experiment);
  const DistributedSettings& settings = experiment.distributed;
  require_exchange(experiment, device, ranks.size());
  if (device.is_cpu()) return std::nullopt;
  require_equal_facts(ranks, equal_settings(experiment));  // because they decide which messages there are
  remember_gpu_occupancy();  // before any rank opens its GPU: no rank does so until all have sent their texts
  return GpuConnection{.device = device,
                       .is_shared = are_shared(ranks.all_gather_texts(uuid_of_gpu(device))),
                       .exchange = settings.exchange,
                       .channels = settings.channels.value_or(DistributedSettings::kUsualChannels)};
}

}  // namespace

void connect_gpus(Ranks& ranks, const Experiment& experiment) {
  ranks.connect_gpus([&] { return connection_of(ranks, experiment); });
}

void report_once(const std::function<void()>& work, const std::optional<std::string>& interface) {
  if (!this_launch() || g_num_runs_joined > 0) return work();
  try {
    work();
  } catch (const ReportedElsewhere&) {
    throw;
  } catch (const UserError& failure) {
    write_error_file(failure.what());
    if (claim_report_before_joining(*this_launch(), name_of_next_run(), interface, failure)) throw;
    throw ReportedElsewhere(failure.exit_code(), failure.what());
  }
}

// Sums depend on the number of threads, so with shards this number must not depend on the number of processes. With
// GPUs, threads only prepare batches.
Experiment experiment_for_rank(Experiment experiment, const Ranks& ranks) {
  const int64_t num_parts = experiment.training.shards.value_or(ranks.size());
  if (experiment.devices == kAllGpus) experiment.devices = ranks.size();
  experiment.devices = ranks.one_each(experiment.devices);
  if (num_parts > 1 && !experiment.training.num_threads && device_of_process(experiment).is_cpu())
    experiment.training.num_threads = std::max<int64_t>(1, default_num_threads() / num_parts);
  return experiment;
}

}  // namespace rnnlab
