// Which process this is among those that train one run together, as its launcher says in the environment: rnnlab's own
// command (devices: 4), torchrun, srun or mpirun. Nothing here connects to anything.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace rnnlab {

enum class Launcher { kRnnlab, kTorchrun, kSlurm, kMpi };

struct Launch {
  Launcher launcher = Launcher::kRnnlab;
  int64_t rank = 0;        // from 0; the first writes the run's files
  int64_t size = 1;        // of all processes
  int64_t local_rank = 0;  // among those on this host
  bool is_one_host = true;
  // Where the store is that all connect to. Rank 0 is its server, unless its launcher is.
  std::string address;
  int64_t port = 0;
  bool launcher_hosts_store = false;
  // Tells this job from another one that got the same port, and from its own attempt before a restart: either may have
  // left keys in the store.
  std::string attempt;
};

// The value of an environment variable, or nothing.
using ReadVariable = std::function<std::optional<std::string>(const std::string&)>;

// Nothing where this process was started by itself, or as the only one. UserError kUsage naming variables that are
// missing, contradict each other, or hold no number in range.
std::optional<Launch> launch_of(const ReadVariable& variable);
std::optional<Launch> launch_of_this_process();

// Where launch_of fails: whether this is another process than rank 0, which finds the same fault and tells it.
bool is_surely_not_first(const ReadVariable& variable);
std::optional<std::string> variable_of_this_process(const std::string& name);

// "torchrun"
std::string name_of(Launcher launcher);

}  // namespace rnnlab
