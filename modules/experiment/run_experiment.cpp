#include "experiment/run_experiment.h"

#include <ctime>

#include "experiment/device.h"
#include "experiment/prepared_run.h"
#include "experiment/run_ranks.h"
#include "experiment/scaling_estimate.h"
#include "experiment/train_run.h"
#include "results/run_folder.h"
#include "system/locks.h"

namespace rnnlab {
namespace {

std::filesystem::path make_folder(const PreparedRun& run, const RunRequest& request) {
  if (!request.folder.empty()) {
    make_folders(request.folder);
    return request.folder;
  }
  const std::string layer(implementation_name(run.experiment));
  return create_run_folder(request.out, {run.experiment.name, device_label(run.device), layer, std::time(nullptr)});
}

RunOutcome run_prepared(const Experiment& experiment, const RunRequest& request, Logger& logger, Ranks* ranks) {
  std::optional<StopDeadline> deadline(std::in_place, words_before_first_step(Beginning::kNew, request, logger));
  connect_gpus(ranks, experiment);
  PreparedRun run(with_ranks(experiment, ranks), request.command_line, WeightsFrom::kExperiment, request.auto_layers,
                  ranks);
  if (ranks != nullptr) require_same_run(*ranks, run);
  note_exchange(run);
  if (ranks != nullptr) run.environment.ranks = ranks_info(*ranks, run.environment.host);
  deadline.reset();
  throw_if_asked_to_stop(Beginning::kNew);
  if (ranks != nullptr && !ranks->is_first()) return train_beside_first(run, request);
  const auto folder = make_folder(run, request);
  const FolderLock lock(folder, WhenTaken::kRefuse);
  if (!lock.warning().empty()) logger.warn(lock.warning());
  if (request.on_folder) request.on_folder(folder);
  return train_run(run, folder, {}, request, logger);
}

}  // namespace

RunOutcome run_experiment(const Experiment& experiment, const RunRequest& request, Logger& logger) {
  RNNLAB_INVARIANT(!needs_ranks(experiment), "a run of several processes in one");
  told_once([] { throw_if_asked_to_stop(Beginning::kNew); });
  const std::unique_ptr<Ranks> ranks = join_ranks(experiment);
  return as_rank(ranks.get(), [&] { return run_prepared(experiment, request, logger, ranks.get()); });
}

}  // namespace rnnlab
