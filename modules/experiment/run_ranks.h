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

// Whether this process must start others for this experiment, because no launcher has.
bool needs_ranks(const Experiment& experiment);

// Runs `program` with these arguments, in as many processes as `experiment.devices` says, which train one run. The rest
// is as of run_child; the exit code is that of the first that failed.
ExitCode run_processes(const Experiment& experiment, const std::string& program,
                       const std::vector<std::string>& arguments,
                       const std::function<void(const std::string&)>& on_line,
                       const std::function<bool()>& must_end = {});

// Joins the others, as one of those that a launcher started; null where this process trains alone. UserError kUsage
// where `devices` and the launcher contradict each other, or the device is not one for several processes yet.
std::unique_ptr<Ranks> join_ranks(const Experiment& experiment);

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

// After every epoch, on all ranks: their weights have the same bits. UserError kInternal naming the first tensor that
// differs and the rank.
class WeightsObserver : public Observer {
 public:
  WeightsObserver(Ranks& ranks, const Trainer& trainer) : ranks_(ranks), trainer_(trainer) {}
  void on_epoch_end(const TrainingState& state, const EpochRow& row) override;

 private:
  Ranks& ranks_;
  const Trainer& trainer_;
};

}  // namespace rnnlab
