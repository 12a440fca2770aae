// SPDX-License-Identifier: Apache-2.0
// The metrics of classes and of binary targets that need the outputs for a whole part.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "results/metrics.h"

namespace rnnlab {
namespace {

constexpr MetricRange kShareRange = {Better::kLarger, 0, 1, 1};

// How many targets are of a class, are predicted as it, and both.
struct ClassCounts {
  double of_class = 0, as_class = 0, right = 0;
};

size_t num_classes(const PartScores& part) {
  return part.task == MetricTask::kBinary ? 2 : static_cast<size_t>(part.num_outputs);
}

bool is_known(const PartScores& part, size_t row) {
  return part.task == MetricTask::kBinary ? !std::isnan(part.targets[row]) : part.classes[row] >= 0;
}

size_t class_of(const PartScores& part, size_t row) {
  if (part.task == MetricTask::kBinary) return part.targets[row] >= 0.5 ? 1 : 0;
  return static_cast<size_t>(part.classes[row]);
}

// Of equal scores the first class is the answer, as for the accuracy.
size_t predicted_class(const PartScores& part, size_t row) {
  if (part.task == MetricTask::kBinary) return part.outputs[row] > 0 ? 1 : 0;
  const auto scores = part.row_of_outputs(row);
  return static_cast<size_t>(std::ranges::max_element(scores) - scores.begin());
}

std::vector<ClassCounts> count_classes(const PartScores& part) {
  std::vector<ClassCounts> counts(num_classes(part));
  for (size_t row = 0; row < part.num_rows(); ++row) {
    if (!is_known(part, row)) continue;
    const size_t target = class_of(part, row), predicted = predicted_class(part, row);
    ++counts[target].of_class;
    ++counts[predicted].as_class;
    if (target == predicted) ++counts[target].right;
  }
  return counts;
}

constexpr const char* kSeveralBinary = "it is not defined for several binary targets";

bool has_several_binary(const PartScores& part) { return part.task == MetricTask::kBinary && part.num_outputs > 1; }

// Returns the mean over the classes for which `whole` is not 0.
template <class Share, class Whole>
MetricResult mean_over_classes(const PartScores& part, Share share, Whole whole) {
  if (has_several_binary(part)) return MetricResult::undefined(kSeveralBinary);
  double sum = 0, count = 0;
  for (const ClassCounts& one : count_classes(part)) {
    if (whole(one) == 0) continue;
    sum += share(one) / whole(one);
    ++count;
  }
  return {sum / count};
}

// A class that neither a target nor a prediction has does not count. A class that only predictions have has an F1 of 0.
MetricResult macro_f1(const PartScores& part) {
  return mean_over_classes(
      part, [](const ClassCounts& one) { return 2 * one.right; },
      [](const ClassCounts& one) { return one.of_class + one.as_class; });
}

MetricResult balanced_accuracy(const PartScores& part) {
  return mean_over_classes(
      part, [](const ClassCounts& one) { return one.right; }, [](const ClassCounts& one) { return one.of_class; });
}

// A score of a row, and whether its target is of the class.
struct Scored {
  double score;
  bool is_positive;
};

// The probability that a row of the class has a higher score than another row; equal scores count half (Mann and
// Whitney 1947). `what` is "of class 3 (from 0)" or "1".
MetricResult area_under_curve(std::vector<Scored> rows, const std::string& what) {
  std::ranges::sort(rows, {}, &Scored::score);
  double wins = 0, negatives = 0, positives = 0;
  for (auto first = rows.begin(); first != rows.end();) {
    const auto last = std::find_if(first, rows.end(), [&](const Scored& row) { return row.score != first->score; });
    const auto equal_positives = static_cast<double>(std::count_if(first, last, std::mem_fn(&Scored::is_positive)));
    const double equal_negatives = static_cast<double>(last - first) - equal_positives;
    wins += equal_positives * (negatives + equal_negatives / 2);
    negatives += equal_negatives;
    positives += equal_positives;
    first = last;
  }
  if (positives == 0) return MetricResult::undefined(fmt::format("no target is {}", what));
  if (negatives == 0) return MetricResult::undefined(fmt::format("all targets are {}", what));
  return {wins / (positives * negatives)};
}

// The logarithms of the sums of the exponentials of a row's logits.
struct LogSums {
  size_t largest;  // the class of the largest logit
  double of_all, of_others;
};

LogSums log_sums(std::span<const double> logits) {
  const auto largest = static_cast<size_t>(std::ranges::max_element(logits) - logits.begin());
  double next = -std::numeric_limits<double>::infinity(), sum = 0;
  for (size_t i = 0; i < logits.size(); ++i)
    if (i != largest) next = std::max(next, logits[i]);
  for (size_t i = 0; i < logits.size(); ++i)
    if (i != largest) sum += std::exp(logits[i] - next);
  const double of_others = next + std::log(sum);
  return {largest, logits[largest] + std::log1p(std::exp(of_others - logits[largest])), of_others};
}

// Returns log(p / (1 - p)) for the probability p of a class, which orders rows as p does and does not round to equal
// values near 0 and 1. All classes but the likeliest have a p of at most 1/2.
double log_odds(std::span<const double> logits, const LogSums& sums, size_t a_class) {
  if (a_class == sums.largest) return logits[a_class] - sums.of_others;
  const double log_p = logits[a_class] - sums.of_all;
  return log_p - std::log1p(-std::exp(log_p));
}

std::vector<Scored> scores_of_class(const PartScores& part, const std::vector<LogSums>& sums, size_t a_class) {
  std::vector<Scored> rows;
  for (size_t row = 0; row < part.num_rows(); ++row)
    if (is_known(part, row))
      rows.push_back({log_odds(part.row_of_outputs(row), sums[row], a_class), class_of(part, row) == a_class});
  return rows;
}

std::vector<Scored> scores_of_target(const PartScores& part, size_t target) {
  std::vector<Scored> rows;
  for (size_t i = target; i < part.targets.size(); i += part.width())
    if (!std::isnan(part.targets[i])) rows.push_back({part.outputs[i], part.targets[i] >= 0.5});
  return rows;
}

// Of each class against the others, or of each binary target (Fawcett, An introduction to ROC analysis, 2006).
MetricResult roc_auc(const PartScores& part) {
  if (part.task == MetricTask::kBinary)
    return mean_over_outputs(part, [&](size_t i) {
      const std::string which = part.width() == 1 ? "" : fmt::format(" in column {} (from 0)", i);
      return area_under_curve(scores_of_target(part, i), "1" + which);
    });
  std::vector<LogSums> sums;
  for (size_t row = 0; row < part.num_rows(); ++row) sums.push_back(log_sums(part.row_of_outputs(row)));
  return mean_over_outputs(part, [&](size_t i) {
    return area_under_curve(scores_of_class(part, sums, i), fmt::format("of class {} (from 0)", i));
  });
}

std::vector<MetricInfo> list_of_classes() {
  using enum MetricTask;
  using enum NumberKind;
  return {
      {"macro_f1", "macro F1", "mean of the F1 of all classes", kShare, kShareRange, {kClasses, kBinary}, macro_f1},
      {"balanced_accuracy",
       "bal acc",
       "mean of the recall of all classes",
       kShare,
       kShareRange,
       {kClasses, kBinary},
       balanced_accuracy},
      {"roc_auc", "ROC-AUC", "area under the ROC curve", kShare, kShareRange, {kClasses, kBinary}, roc_auc},
  };
}

}  // namespace

std::span<const MetricInfo> class_metrics() {
  static const std::vector<MetricInfo> list = list_of_classes();
  return list;
}

}  // namespace rnnlab
