// SPDX-License-Identifier: Apache-2.0
// Chooses a learning rate from the losses of steps whose rate rises from step to step, the range test of Smith 2017
// ("Cyclical Learning Rates for Training Neural Networks", arXiv 1506.01186). The smoothing, the end of the test and
// the tenth of the best rate are ideas of fastai's learning-rate finder. These functions train nothing:
// Trainer::try_rates makes the steps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rnnlab {

inline constexpr double kLowestRate = 1e-6;
inline constexpr double kHighestRate = 10.0;
inline constexpr int64_t kRatesPerDecade = 14;

// Returns the rates from kLowestRate to kHighestRate, each with the same ratio to the one before; one for each step.
std::vector<double> rates_to_try();

struct RatePoint {
  double learning_rate = 0;
  double loss = 0;           // of the batch before the update; NaN if the loss or a gradient is not finite
  double smoothed_loss = 0;  // an exponential average, with the correction of its bias (Kingma and Ba 2015)

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("learning_rate", self.learning_rate);
    field("loss", self.loss);
    field("smoothed_loss", self.smoothed_loss);
  }
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

}  // namespace rnnlab
