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

// Whether this process must start others for this experiment, because no launcher has.
bool needs_ranks(const Experiment& experiment);

// Starts `experiment.devices` processes of `program` with these arguments, which train one run. `on_line` gets the
// lines of the first one. Returns the exit code of the first that failed. UserError as run_children.
ExitCode start_ranks(const Experiment& experiment, const std::string& program,
                     const std::vector<std::string>& arguments, const std::function<void(const std::string&)>& on_line);

// Joins the others, as one of those that a launcher started; null where this process trains alone. UserError kUsage
// where `devices` and the launcher contradict each other, or the device is not one for several processes yet.
std::unique_ptr<Ranks> join_ranks(const Experiment& experiment);

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
