// SPDX-License-Identifier: Apache-2.0
// Finds out which process this is among those that train one run together, from its launcher's environment variables:
// rnnlab's own command (devices: 4), torchrun, srun or mpirun. This file does not connect to anything. It also has the
// settings and the errors of runs of several processes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/config/enum_names.h"
#include "base/config/schema.h"
#include "base/error.h"

namespace rnnlab {

enum class Launcher { kRnnlab, kTorchrun, kSlurm, kMpi };
RNNLAB_ENUM_NAMES(Launcher, {kRnnlab, "rnnlab"}, {kTorchrun, "torchrun"}, {kSlurm, "srun"}, {kMpi, "mpirun"});

struct Launch {
  Launcher launcher = Launcher::kRnnlab;
  int64_t rank = 0;        // from 0; the first writes the run's files
  int64_t size = 1;        // of all processes
  int64_t local_rank = 0;  // among those on this host
  bool is_one_host = true;
  // The address of the store to which all ranks connect. Rank 0 is the server of the store, unless the launcher is.
  std::string address;
  int64_t port = 0;
  bool launcher_hosts_store = false;
  // Distinguishes this job from another job with the same port, and from its own attempt before a restart, because both
  // may have left keys in the store.
  std::string attempt;
  // Only processes that have it are believed in the store (signed_store.h); "" if the launcher has set none. Messages
  // and records must not contain it.
  std::string secret;
};

// The launcher, or a user for all ranks, sets this variable.
inline constexpr const char* kSecretVariable = "RNNLAB_LAUNCH_SECRET";

// Returns 64 random hexadecimal digits. Throws UserError kDevice.
std::string random_secret();

inline constexpr const char* kLoopback = "127.0.0.1";
inline constexpr int64_t kLastPort = 65'535;

// Returns whether this process holds the store.
bool holds_store(const Launch& launch);

// Returns the value of an environment variable, or nothing.
using ReadVariable = std::function<std::optional<std::string>(const std::string&)>;

// Returns nothing if no launcher started this process, or if it is the only process. Throws UserError kUsage, which
// names the variables, if variables are missing, contradict each other, or do not contain a number in range.
std::optional<Launch> launch_of(const ReadVariable& variable);
std::optional<Launch> launch_of_this_process();

// Call this function if launch_of() throws. Returns true if this process is surely not rank 0; rank 0 finds the same
// fault and reports it.
bool is_certainly_not_rank_0(const ReadVariable& variable);
std::optional<std::string> variable_of_this_process(const std::string& name);

// Another rank ended the run; the error has that rank's exit code and message.
class RankFailed : public UserError {
 public:
  using UserError::UserError;
};

// Another process of the run reports this failure to the user, so this process only ends with its exit code.
class ReportedElsewhere : public UserError {
 public:
  using UserError::UserError;
};

// The same, if this process cannot know whether the other process still runs (Ranks::is_cut_off).
class ReportedBeyondNetwork : public ReportedElsewhere {
 public:
  using ReportedElsewhere::ReportedElsewhere;
};

// How gradients travel between GPUs. kAuto: kAllReduce. kAllReduce: NCCL's, also between CPUs (Gloo's).
// kSymmetricMemory: LibTorch's kernels that read the memory of other GPUs of the same host.
enum class ExchangeKind { kAuto, kAllReduce, kSymmetricMemory };
RNNLAB_ENUM_NAMES(ExchangeKind, {kAuto, "auto"}, {kAllReduce, "all_reduce"}, {kSymmetricMemory, "symmetric_memory"});

// Holds the settings under `distributed:` in an experiment file: how long the processes of one run wait for each other,
// and how they exchange gradients. The settings change the training only by rounding.
struct DistributedSettings {
  double timeout = 30;
  double start_timeout = 120;
  ExchangeKind exchange = ExchangeKind::kAuto;
  std::optional<bool> overlap;           // empty: on GPUs
  std::optional<int64_t> piece_bytes;    // empty: by layers
  std::optional<int64_t> channels;       // empty: kUsualChannels
  std::optional<std::string> interface;  // empty: the one by which the address of rank 0 is reached

  // NCCL needs fewer than these for full speed over NVLink with registered memory. More would take SMs from kernels.
  static constexpr int64_t kUsualChannels = 16;

  static const config::Schema<DistributedSettings>& schema();
};

}  // namespace rnnlab
