#include "experiment/run_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/random_name.h"
#include "base/text.h"
#include "experiment/read_experiment.h"
#include "results/row_seal.h"
#include "results/work_settings.h"

namespace rnnlab {
namespace {

// One that was cut short has a row, but is none.
int64_t num_whole_epochs(const PreparedRun& run, const std::vector<EpochRow>& rows) {
  const int64_t steps_per_epoch = std::max<int64_t>(run.trainer.plan().steps_per_epoch, 1);
  return std::min<int64_t>(std::ssize(rows), run.trainer.state().step / steps_per_epoch);
}

// Drawn once by each process.
const std::string& process_name() {
  static const std::string name = random_name();
  return name;
}

}  // namespace

Summary begin_summary(const PreparedRun& run, const EarlierPart& earlier, const RunRequest& request) {
  const Experiment& e = run.experiment;
  Summary summary;
  summary.name = e.name;
  summary.device = e.device;
  summary.layer = implementation_label(e);
  summary.precision = config::name_of(e.precision);
  summary.seed = e.seed;
  summary.path = run.path.path;
  summary.path_notes = run.path.notes;
  for (const auto& notes : {run.notes, earlier.notes})
    summary.path_notes.insert(summary.path_notes.end(), notes.begin(), notes.end());
  summary.warnings = warnings(run.environment);
  for (const std::string& text : run.memory_warnings) add_once(summary.warnings, {warning::kLittleMemory, text});
  for (const auto& list : {earlier.earlier_warnings, earlier.warnings})
    for (const Warning& warning : list) add_once(summary.warnings, warning);
  if (e.checkpoint.save && e.checkpoint.every_steps)
    summary.warnings.emplace_back(warning::kCopiesInEpochs,
                                  "checkpoint.every_steps: epoch times include copies of the state");
  if (request.trace_steps)
    summary.warnings.emplace_back(warning::kTraced, "traced (--trace): the times include the tracing");
  summary.identity = run.identity;
  summary.settings_sha256 = settings_sha256(effective_settings(e));
  summary.environment_sha256 = environment_sha256(run.environment);
  summary.turn = request.turn;
  summary.turn.process = process_name();
  return summary;
}

void finish_summary(Summary& summary, const PreparedRun& run, const std::vector<EpochRow>& rows,
                    const EarlierPart& earlier, RunEnding ending, const std::string& stop_reason) {
  summary.epochs = num_whole_epochs(run, rows);
  summary.ending = ending;
  summary.stop_reason = stop_reason;
  summary.final_metrics = final_metrics(rows);
  summary.epoch_time = epoch_time(rows);
  summary.rows_sha256 = rows_sha256(rows);
  summary.fit_seconds = run.trainer.run_seconds();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - run.began;
  summary.total_seconds = earlier.seconds + seconds.count();
  summary.was_resumed = earlier.seconds > 0;
  if (run.experiment.training.cuda_graph) summary.has_graphs = run.trainer.why_no_graphs().empty();
}

std::vector<std::string> graph_notes(const PreparedRun& run) {
  if (!run.experiment.training.cuda_graph) return {};
  const std::string& reason = run.trainer.why_no_graphs();
  if (reason.empty()) return {"every step is one CUDA graph (training.cuda_graph)"};
  return {fmt::format("the steps run one by one, without CUDA graphs: {}", reason)};
}

}  // namespace rnnlab
