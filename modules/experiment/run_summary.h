// A run's summary: what is known when the training begins, and what its end adds, whether it ends well or diverges.
#pragma once

#include <string>
#include <vector>

#include "experiment/earlier_part.h"
#include "experiment/prepared_run.h"
#include "experiment/run_experiment.h"

namespace rnnlab {

Summary begin_summary(const PreparedRun& run, const EarlierPart& earlier, const RunRequest& request);

// rows: of all parts. stop_reason: the ending in words.
void finish_summary(Summary& summary, const PreparedRun& run, const std::vector<EpochRow>& rows,
                    const EarlierPart& earlier, RunEnding ending, const std::string& stop_reason);

// What became of training.cuda_graph; nothing where it is off.
std::vector<std::string> graph_notes(const PreparedRun& run);

}  // namespace rnnlab
