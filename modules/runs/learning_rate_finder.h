// SPDX-License-Identifier: Apache-2.0
// Finds a learning rate for an experiment: prepares a run as run_experiment does, trains steps with rates that rise
// from step to step, and chooses a rate from their losses. Uses the optimiser of the experiment, but not its schedule
// and warm-up: the suggestion is the highest rate of a schedule. Makes no run folder and writes no file of a run;
// libraries may still store compiled kernels in their caches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/system/logger.h"
#include "runs/experiment.h"

namespace rnnlab {

// ---- the choice of a rate ----

// Chooses a learning rate from the losses of steps whose rate rises from step to step, the range test of Smith 2017
// ("Cyclical Learning Rates for Training Neural Networks", arXiv 1506.01186). The smoothing, the end of the test and
// the tenth of the best rate are ideas of fastai's learning-rate finder. These functions train nothing:
// Trainer::try_rates makes the steps.

inline constexpr double kLowestRate = 1e-6;
inline constexpr double kHighestRate = 10.0;
inline constexpr int64_t kRatesPerDecade = 14;

// Returns the rates from kLowestRate to kHighestRate, each with the same ratio to the one before; one for each step.
std::vector<double> rates_to_try();

struct RatePoint {
  double learning_rate = 0;
  double loss = 0;           // of the batch before the update; NaN if the loss or a gradient is not finite
  double smoothed_loss = 0;  // an exponential average, with the correction of its bias (Kingma and Ba 2015)

  RNNLAB_FIELDS(learning_rate, loss, smoothed_loss)
};

class RateCurve {
 public:
  void add(double learning_rate, double loss);

  // Returns whether training has diverged: the last loss is not finite, or the smoothed loss is more than four times
  // its lowest value.
  bool has_diverged() const;

  // Returns the index of the point with the lowest smoothed loss. The first 20 points, whose average is of few losses,
  // count only if there are no others. The curve must have a point.
  size_t lowest() const { return lowest_; }

  const std::vector<RatePoint>& points() const { return points_; }

 private:
  std::vector<RatePoint> points_;
  double average_ = 0;  // without the correction
  double weight_ = 0;   // of the losses in average_
  size_t lowest_ = 0;
};

struct RateSuggestion {
  std::optional<double> learning_rate;  // two digits; nothing if the losses do not show one
  std::string reason;                   // a text such as "a tenth of 0.14, the rate with the lowest smoothed loss"
};

// Suggests a tenth of the rate with the lowest smoothed loss. Suggests nothing if the loss does not fall by more than
// the losses at the lowest rates, where little is learned, differ from batch to batch.
RateSuggestion suggest_rate(const RateCurve& curve);

// ---- the search ----

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

  RNNLAB_FIELDS(name, named("case", label), device, layer, precision, optimizer, batch_size, batches_per_step,
                suggestion, reason, named("best_learning_rate", best_learning_rate()), diverged, steps)
};

// Logs the opening of the run (opening.h) without a folder. The experiment must be trained by one process. Throws the
// UserErrors of run_experiment, kDiverged only if the first loss is not finite.
RateSearch find_learning_rate(const Experiment& experiment, const std::vector<std::string>& command_line,
                              Logger& logger);

// Returns the lines that follow the log, for people: a curve of the loss, the suggestion, and the key to set.
std::string rate_search_text(const RateSearch& search);
std::string rate_search_json(const RateSearch& search);

}  // namespace rnnlab
