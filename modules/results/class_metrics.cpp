// SPDX-License-Identifier: Apache-2.0
// The metrics of classes and of binary targets that need the outputs for a whole part.
#include <algorithm>
#include <cmath>
#include <cstdint>
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
  };
}

}  // namespace

std::span<const MetricInfo> class_metrics() {
  static const std::vector<MetricInfo> list = list_of_classes();
  return list;
}

}  // namespace rnnlab
