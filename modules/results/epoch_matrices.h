// Arranges the training seconds and the train loss of each epoch and group as matrices, as a speed test prints them at
// its end: an epoch is a row, a group of runs is a column. A cell combines those runs of the group that finished the
// epoch: the geometric mean of their times, the median of their losses. Warm-up epochs are included and marked.
// Intervals and ratios are left out; comparison.h has them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/comparison.h"
#include "results/run_record.h"

namespace rnnlab {

// Each matrix has a row for each of `epochs`, with a cell for each of `labels`.
struct EpochMatrices {
  std::vector<std::string> labels;             // of the groups, in the comparison's order
  std::vector<int64_t> epochs;                 // epochs that at least one run finished, ascending
  std::vector<std::vector<int64_t>> num_runs;  // runs that finished the epoch
  std::vector<std::vector<bool>> is_warmup;    // in at least one run
  // A cell is absent if no run finished the epoch, and NaN if one of several runs diverged.
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

// Returns both matrices for a terminal, with the comparison's short labels as headings, and the meaning of the marks.
// `comparison` must be of the same runs.
std::string epoch_matrices_text(const EpochMatrices& matrices, const Comparison& comparison);

// Returns both matrices as CSV (RFC 4180), with one line for each group and each of its epochs. Every line contains the
// reasons to refuse or to doubt the comparison.
std::string epoch_matrices_csv(const EpochMatrices& matrices, const Comparison& comparison);

}  // namespace rnnlab
