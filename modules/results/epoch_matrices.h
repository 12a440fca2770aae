// Training seconds and train loss of each epoch and group, as a speed test prints them at its end: an epoch is a row, a
// group of runs is a column. A cell stands for the group's runs that finished the epoch: the geometric mean of their
// times, the median of their losses. Warm-up epochs are there and marked. There are no intervals and no ratios here;
// comparison.h has them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/comparison.h"
#include "results/run_record.h"

namespace rnnlab {

// Each matrix has a row for each of `epochs`, and in it a cell for each of `labels`.
struct EpochMatrices {
  std::vector<std::string> labels;             // of the groups, in the comparison's order
  std::vector<int64_t> epochs;                 // that some run finished, ascending
  std::vector<std::vector<int64_t>> num_runs;  // that finished the epoch
  std::vector<std::vector<bool>> is_warmup;    // in at least one of them
  // Absent where no run finished the epoch; not a number where one of several diverged.
  std::vector<std::vector<std::optional<double>>> train_seconds, train_loss;

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("labels", self.labels);
    field("epochs", self.epochs);
    field("num_runs", self.num_runs);
    field("is_warmup", self.is_warmup);
    field("train_seconds", self.train_seconds);
    field("train_loss", self.train_loss);
  }
};

EpochMatrices epoch_matrices(const std::vector<RunRecord>& runs);

// Both matrices for reading on a terminal, with the comparison's short labels as headings, then what the marks mean.
// `comparison` is of the same runs.
std::string epoch_matrices_text(const EpochMatrices& matrices, const Comparison& comparison);

// Both as CSV (RFC 4180), one line for each group and epoch that it has. What forbids the comparison, or makes it
// doubtful, is in every line.
std::string epoch_matrices_csv(const EpochMatrices& matrices, const Comparison& comparison);

}  // namespace rnnlab
