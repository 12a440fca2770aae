// SPDX-License-Identifier: Apache-2.0
// Finds a learning rate for an experiment: prepares a run as run_experiment does, trains steps with rates that rise
// from step to step, and suggests a rate (training/learning_rate_curve.h). Uses the optimiser of the experiment, but
// not its schedule and warm-up: the suggestion is the highest rate of a schedule. Makes no run folder and writes no
// file of a run; libraries may still store compiled kernels in their caches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiment/experiment.h"
#include "system/logger.h"
#include "training/learning_rate_curve.h"

namespace rnnlab {

struct RateSearch {
  std::string name = {};
  std::string label = {};  // of the case in a sweep; "" if there is only one case
  std::string device = {};
  std::string layer = {};
  std::string precision = {};
  std::string optimizer = {};
  int64_t batch_size = 0;
  int64_t batches_per_step = 1;
  bool diverged = false;  // the search ended because the loss rose too much or was not finite
  std::vector<RatePoint> steps = {};
  size_t lowest = 0;                      // index in `steps` of the lowest smoothed loss
  std::optional<double> suggestion = {};  // nothing if the losses do not show one
  std::string reason = {};                // of the suggestion, or why there is none

  // Returns the rate with the lowest smoothed loss.
  double best_learning_rate() const { return steps.at(lowest).learning_rate; }

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("name", self.name);
    field("case", self.label);
    field("device", self.device);
    field("layer", self.layer);
    field("precision", self.precision);
    field("optimizer", self.optimizer);
    field("batch_size", self.batch_size);
    field("batches_per_step", self.batches_per_step);
    field("suggestion", self.suggestion);
    field("reason", self.reason);
    field("best_learning_rate", self.best_learning_rate());
    field("diverged", self.diverged);
    field("steps", self.steps);
  }
};

// Logs the opening of the run (opening.h) without a folder. The experiment must be trained by one process. Throws the
// UserErrors of run_experiment, kDiverged only if the first loss is not finite.
RateSearch find_learning_rate(const Experiment& experiment, const std::vector<std::string>& command_line,
                              Logger& logger);

// Returns the lines that follow the log, for people: a curve of the loss, the suggestion, and the key to set.
std::string rate_search_text(const RateSearch& search);
std::string rate_search_json(const RateSearch& search);

}  // namespace rnnlab
