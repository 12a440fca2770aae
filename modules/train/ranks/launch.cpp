// SPDX-License-Identifier: Apache-2.0
#include "train/ranks/launch.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/numbers.h"
#include "base/random.h"
#include "base/sha256.h"
#include "base/text.h"

namespace rnnlab {
namespace {

constexpr const char* kParentProcess = "(parent process)";  // not a variable, but read like one
constexpr int64_t kMostRanks = 65'536;

// The names of a launcher's environment variables.
struct Names {
  Launcher launcher;
  const char *rank, *size, *local_rank, *local_size;
};

constexpr Names kOwnNames = {Launcher::kRnnlab, "RNNLAB_RANK", "RNNLAB_SIZE", "RNNLAB_RANK", "RNNLAB_SIZE"};
constexpr Names kTorchrunNames = {Launcher::kTorchrun, "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
constexpr Names kOpenMpiNames = {Launcher::kMpi, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                                 "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"};
constexpr Names kMpichNames = {Launcher::kMpi, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"};
// Slurm has a variable for the number of nodes instead of the local size.
constexpr Names kSlurmNames = {Launcher::kSlurm, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", nullptr};

int64_t number_of(const ReadVariable& variable, const char* name, int64_t least, int64_t most) {
  const auto text = variable(name);
  if (!text)
    throw_error(ExitCode::kUsage, "the environment variable {} is missing, but related variables are set", name);
  const auto number = parse_int64(*text);
  if (!number || *number < least || *number > most)
    throw_error(ExitCode::kUsage, "the environment variable {}: got {}, expected a number from {} to {}", name,
                in_quotes(*text), least, most);
  return *number;
}

// The message does not have the value, because it may be a secret with a mistake.
std::string secret_in(const ReadVariable& variable) {
  constexpr size_t kLeastBytes = 16, kMostBytes = 1024;
  const auto secret = variable(kSecretVariable);
  if (!secret) return "";
  if (secret->size() < kLeastBytes || secret->size() > kMostBytes)
    throw_error(ExitCode::kUsage,
                "the environment variable {} has {} bytes, expected {} to {}: set the same random text for all "
                "processes, such as the output of `openssl rand -hex 32`, or unset it",
                kSecretVariable, secret->size(), kLeastBytes, kMostBytes);
  return *secret;
}

Launch launch_by(const Names& names, const ReadVariable& variable) {
  Launch launch;
  launch.launcher = names.launcher;
  launch.size = number_of(variable, names.size, 1, kMostRanks);
  launch.rank = number_of(variable, names.rank, 0, launch.size - 1);
  if (names.local_size != nullptr)
    launch.is_one_host = number_of(variable, names.local_size, 1, launch.size) == launch.size;
  launch.local_rank = number_of(variable, names.local_rank, 0, launch.size - 1);
  launch.secret = secret_in(variable);
  return launch;
}

// Several jobs on a host usually get different ports; if two get the same port, the second job fails with an error that
// says so. The ports are below those that Linux assigns to connections automatically.
int64_t port_of_job(const std::string& job) {
  constexpr uint64_t kFirst = 15'000, kCount = 10'000;
  return static_cast<int64_t>(kFirst + fnv1a(job) % kCount);
}

void set_port(Launch& launch, const ReadVariable& variable) {
  launch.port =
      variable("MASTER_PORT") ? number_of(variable, "MASTER_PORT", 1, kLastPort) : port_of_job(launch.attempt);
}

// The launcher gives no address; if all processes are on one host, MASTER_ADDR is not needed.
void set_address(Launch& launch, const ReadVariable& variable) {
  const auto address = variable("MASTER_ADDR");
  if (!address && !launch.is_one_host)
    throw_error(ExitCode::kUsage,
                "{} started processes on several hosts, but the address of rank 0 is unknown: set MASTER_ADDR to its "
                "host (mpirun -x MASTER_ADDR=HOST)",
                config::name_of(launch.launcher));
  launch.address = launch.is_one_host ? kLoopback : *address;  // rank 0 then listens there
  set_port(launch, variable);
}

Launch own_launch(const ReadVariable& variable) {
  Launch launch = launch_by(kOwnNames, variable);
  launch.address = kLoopback;
  launch.port = number_of(variable, "RNNLAB_STORE_PORT", 1, kLastPort);
  launch.launcher_hosts_store = true;
  return launch;
}

Launch torchrun_launch(const ReadVariable& variable) {
  Launch launch = launch_by(kTorchrunNames, variable);
  const auto address = variable("MASTER_ADDR");
  if (!address) throw_error(ExitCode::kUsage, "the environment variable MASTER_ADDR is missing, but RANK is set");
  launch.port = number_of(variable, "MASTER_PORT", 1, kLastPort);
  launch.launcher_hosts_store = variable("TORCHELASTIC_USE_AGENT_STORE") == "True";
  launch.address = launch.is_one_host && !launch.launcher_hosts_store ? kLoopback : *address;
  launch.attempt = variable("TORCHELASTIC_RESTART_COUNT").value_or("");
  return launch;
}

// The first host of "node[1-3],other" is "node1".
std::string first_host(const std::string& list) {
  const size_t bracket = list.find('['), comma = list.find(',');
  if (bracket == std::string::npos || comma < bracket) return list.substr(0, comma);
  const size_t end = list.find_first_of(",-]", bracket);
  return list.substr(0, bracket) + list.substr(bracket + 1, end - bracket - 1);
}

Launch slurm_launch(const ReadVariable& variable) {
  Launch launch = launch_by(kSlurmNames, variable);
  launch.is_one_host = variable("SLURM_STEP_NUM_NODES").value_or("1") == "1";
  for (const char* name : {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"})
    launch.attempt += variable(name).value_or("0") + ".";
  if (launch.is_one_host || variable("MASTER_ADDR")) {
    set_address(launch, variable);
    return launch;
  }
  launch.address = first_host(variable("SLURM_STEP_NODELIST").value_or(""));
  if (launch.address.empty())
    throw_error(ExitCode::kUsage, "the environment variable SLURM_STEP_NODELIST is missing, but SLURM_PROCID is set");
  set_port(launch, variable);
  return launch;
}

// Open MPI gives each job a name. MPICH does not, but all its processes on one host have the same parent.
std::string job_of_mpi(const ReadVariable& variable) {
  for (const char* name : {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"})
    if (const auto job = variable(name)) return *job;
  return variable(kParentProcess).value_or("");
}

Launch mpi_launch(const Names& names, const ReadVariable& variable) {
  Launch launch = launch_by(names, variable);
  launch.attempt = job_of_mpi(variable);
  set_address(launch, variable);
  return launch;
}

// A batch script without srun also has SLURM_PROCID, but it is a single process.
bool is_slurm_step(const ReadVariable& variable) {
  return variable("SLURM_STEP_ID") && variable("SLURM_STEP_NUM_TASKS").value_or("1") != "1";
}

bool is_any_set(const ReadVariable& variable, const std::vector<const char*>& names) {
  return std::ranges::any_of(names, [&](const char* name) { return variable(name).has_value(); });
}

}  // namespace

bool holds_store(const Launch& launch) { return launch.rank == 0 && !launch.launcher_hosts_store; }

std::optional<Launch> launch_of(const ReadVariable& variable) {
  if (is_any_set(variable, {"RNNLAB_RANK", "RNNLAB_SIZE", "RNNLAB_STORE_PORT"})) return own_launch(variable);
  if (is_any_set(variable, {"RANK", "WORLD_SIZE", "LOCAL_RANK"})) {
    const Launch launch = torchrun_launch(variable);
    return launch.size == 1 ? std::nullopt : std::optional(launch);
  }
  if (is_slurm_step(variable)) return slurm_launch(variable);
  for (const Names& names : {kOpenMpiNames, kMpichNames})
    if (variable(names.size).value_or("1") != "1") return mpi_launch(names, variable);
  return std::nullopt;
}

bool is_certainly_not_rank_0(const ReadVariable& variable) {
  for (const Names& names : {kOwnNames, kTorchrunNames, kSlurmNames, kOpenMpiNames, kMpichNames}) {
    const auto rank = parse_int64(variable(names.rank).value_or(""));
    const auto size = parse_int64(variable(names.size).value_or("")).value_or(kMostRanks);
    if (rank) return *rank >= 1 && *rank < size;
  }
  return false;
}

std::optional<std::string> variable_of_this_process(const std::string& name) {
  if (name == kParentProcess) return std::to_string(::getppid());
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::optional<Launch> launch_of_this_process() { return launch_of(variable_of_this_process); }

namespace {

bool is_interface_name(const std::string& name) {
  constexpr size_t kMostBytes = 15;  // Linux's IFNAMSIZ - 1
  const auto is_in_name = [](char c) { return c > ' ' && c <= '~' && c != '/' && c != ','; };
  return !name.empty() && name.size() <= kMostBytes && std::ranges::all_of(name, is_in_name);
}

config::Schema<DistributedSettings> make_distributed_schema() {
  using Settings = DistributedSettings;
  constexpr double kShortest = 1, kLongest = 86'400;
  constexpr int64_t kLeastPiece = 1024, kMostPiece = int64_t{1} << 30, kMostChannels = 64;
  config::Schema<Settings> s("How processes that train one run wait for each other and exchange gradients");
  s.field("timeout", &Settings::timeout,
          "time without an answer of another process, in a step, after which the run ends")
      .unit("seconds")
      .between(kShortest, kLongest);
  s.field("start_timeout", &Settings::start_timeout,
          "time without an answer of another process, at the start, after which the run ends")
      .unit("seconds")
      .between(kShortest, kLongest);
  s.field("exchange", &Settings::exchange,
          "how gradients are added up: auto is all_reduce, NCCL's between GPUs and Gloo's between CPUs; "
          "symmetric_memory is LibTorch's for GPUs of one host, whose interface may change");
  s.field("overlap", &Settings::overlap,
          "send gradients of upper layers while lower layers compute; without a value: on GPUs, except with "
          "training.shards");
  s.field("piece_bytes", &Settings::piece_bytes,
          "with overlap, the least bytes of gradients that are sent together; without a value: by layers")
      .between(kLeastPiece, kMostPiece);
  s.field("channels", &Settings::channels,
          "on GPUs, the most channels of NCCL, each of which takes an SM from other kernels; without a value: 16")
      .between(1, kMostChannels);
  s.field("interface", &Settings::interface,
          "the network interface by which this host's processes connect to others, such as eth0; without a value: the "
          "one by which MASTER_ADDR is reached, or GLOO_SOCKET_IFNAME and NCCL_SOCKET_IFNAME")
      .where("the name of a network interface, such as eth0", is_interface_name);
  return s;
}

}  // namespace

std::string random_secret() {
  std::array<std::byte, 32> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw_error(ExitCode::kDevice, "the system gives no random bytes for the secret of a launch: {}",
                std::strerror(errno));
  return to_hex(bytes);
}

const config::Schema<DistributedSettings>& DistributedSettings::schema() {
  static const config::Schema<DistributedSettings> schema = make_distributed_schema();
  return schema;
}

}  // namespace rnnlab
