// A run that several processes train together (`devices`): the rank of this process, how the processes are started, and
// the checks that they make together before their first step.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "distributed/ranks.h"
#include "experiment/experiment.h"
#include "experiment/prepared_run.h"
#include "training/observer.h"

namespace rnnlab {

// Returns the launch of this process, which is read once. Throws UserError kUsage as launch_of does.
const std::optional<Launch>& launch_here();

// Returns whether this process of its run writes files and reports to the user; true if it trains alone.
bool is_first_here();

// Returns whether rnnlab started this process as one of several; then the parent reads its stdout and forwards signals.
bool has_parent_here();

// Returns the number of processes that `devices` asks for, among those that this process would start. Throws UserError
// kUsage if `devices` is `all` and the device is not a GPU.
int64_t num_devices(const Experiment& experiment);

// Returns whether this process must start others for this experiment, because no launcher has.
bool needs_ranks(const Experiment& experiment);

// Runs `program` with these arguments, in `experiment.devices` processes, which train one run. The other parameters are
// those of run_child; returns the exit code of the first process that failed.
ExitCode run_processes(const Experiment& experiment, const std::string& program,
                       const std::vector<std::string>& arguments,
                       const std::function<void(const std::string&)>& on_line,
                       const std::function<bool()>& must_end = {});

// Connects this process to the others that a launcher started; returns null if this process trains alone. Throws
// UserError kUsage if `devices` and the launcher contradict each other, kDevice if there are too few GPUs.
std::unique_ptr<Ranks> join_ranks(const Experiment& experiment);

// Returns the device of this process: each of several processes on GPUs has its own GPU. Throws UserError kDevice if
// there are too few.
c10::Device device_here(const Experiment& experiment);

// Call this function after joining; it connects the GPUs if the ranks train on GPUs. Throws UserError kDevice on all
// ranks if two have the same GPU.
void connect_gpus(Ranks* ranks, const Experiment& experiment);

// Runs `work`, which each process of a launcher does before it joins the others. If `work` fails, the other processes
// end too, and all processes but one throw ToldElsewhere. as_rank() reports failures after a run was joined.
void told_once(const std::function<void()>& work);

// Returns the exit code, for the end of main; or ends the process at once if an operation with other ranks does not
// end.
ExitCode leave(ExitCode exit_code);

// Returns the experiment that a rank runs: with `devices`, and with its part of the CPUs' threads.
Experiment with_ranks(Experiment experiment, const Ranks* ranks);

// Checks that all ranks train the same experiment, on the same data, from the same weights, with the same program.
// Throws UserError kUsage on every rank, with the difference, the rank, and both values.
void require_same_run(Ranks& ranks, const PreparedRun& run);

// Returns the ranks' entry in environment.json; `host` is the host of this rank. All ranks must call this function.
RanksInfo ranks_info(Ranks& ranks, const HostInfo& host);

// Checks after every epoch, and at the steps whose state is saved, that the weights of all ranks have the same bits.
// Throws UserError kInternal with the first tensor that differs and its rank.
class WeightsObserver : public Observer {
 public:
  struct Steps {
    std::optional<int64_t> between_saves;
    bool are_traced = false;  // by the first rank, which then queues them one by one, so all ranks must
  };

  WeightsObserver(Ranks& ranks, const Trainer& trainer, const Steps& steps)
      : ranks_(ranks), trainer_(trainer), steps_(steps) {}

  bool needs_sync_at(int64_t step) const override { return steps_.are_traced || is_saved(step); }
  void on_step(const StepProgress& progress) override;
  void on_epoch_end(const TrainingState& state, const EpochRow& row) override;

 private:
  bool is_saved(int64_t step) const { return steps_.between_saves && step % *steps_.between_saves == 0; }
  void compare(const std::string& when) const;

  Ranks& ranks_;
  const Trainer& trainer_;
  Steps steps_;
};

}  // namespace rnnlab
