// A run that several processes train together (`devices`): which of them this one is, who starts them, and what they
// agree on before their first step.
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

// Of this process; read once. UserError kUsage as launch_of.
const std::optional<Launch>& launch_here();

// Whether this is the process of its run that writes files and tells what happens, as is one that trains alone.
bool is_first_here();

// Whether rnnlab started this process as one of several, and so reads its stdout and hands on signals.
bool has_parent_here();

// How many processes `devices` says, of those that this process would start. UserError kUsage where it says `all` and
// the device is no GPU.
int64_t num_devices(const Experiment& experiment);

// Whether this process must start others for this experiment, because no launcher has.
bool needs_ranks(const Experiment& experiment);

// Runs `program` with these arguments, in as many processes as `experiment.devices` says, which train one run. The rest
// is as of run_child; the exit code is that of the first that failed.
ExitCode run_processes(const Experiment& experiment, const std::string& program,
                       const std::vector<std::string>& arguments,
                       const std::function<void(const std::string&)>& on_line,
                       const std::function<bool()>& must_end = {});

// Joins the others, as one of those that a launcher started; null where this process trains alone. UserError kUsage
// where `devices` and the launcher contradict each other; kDevice where there are too few GPUs.
std::unique_ptr<Ranks> join_ranks(const Experiment& experiment);

// Where this process trains: of several on GPUs, each has one of its own. UserError kDevice where there are too few.
c10::Device device_here(const Experiment& experiment);

// After joining, where these train on GPUs: UserError kDevice on all of them where two would have the same one.
void connect_gpus(Ranks* ranks, const Experiment& experiment);

// Does `work`, which each process of a launcher does before it joins the others. If it fails, the others end with it,
// and ToldElsewhere is thrown in all processes but one. What fails after a run was joined is told by as_rank().
void told_once(const std::function<void()>& work);

// The exit code, for the end of main; or the end of the process at once if an operation with other ranks hangs.
ExitCode leave(ExitCode exit_code);

// `experiment` as one of the ranks runs it: with `devices`, and its part of the CPUs' threads.
Experiment with_ranks(Experiment experiment, const Ranks* ranks);

// All ranks train the same experiment, on the same data, from the same weights, by the same program. UserError kUsage
// on every rank, naming what differs, on which rank, and both values.
void require_same_run(Ranks& ranks, const PreparedRun& run);

// What environment.json tells of them, each on its host. Collective.
RanksInfo ranks_info(Ranks& ranks, const HostInfo& host);

// After every epoch, and at the steps whose state is saved, on all ranks: their weights have the same bits. UserError
// kInternal naming the first tensor that differs and the rank.
class WeightsObserver : public Observer {
 public:
  struct Steps {
    std::optional<int64_t> between_saves;
    bool are_traced = false;  // by the first rank, which queues them one by one then, so that all have to
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
