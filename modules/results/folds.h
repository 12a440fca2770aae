// SPDX-License-Identifier: Apache-2.0
// The folds of a back-test (data.folds): runs of equal settings on different parts of the data. Their values are
// combined as a mean over folds, in which each fold counts once, however many runs it has.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/fields.h"
#include "results/quality.h"
#include "results/run_record.h"

namespace rnnlab {

inline constexpr const char* kFoldKey = "data.fold";

// Returns the fold of the run, from 1; nothing if it is of no back-test.
std::optional<int64_t> fold_of(const RunRecord& run);

// Returns how many folds the back-test of the run has; 0 if it is of none.
int64_t num_folds(const RunRecord& run);

bool has_folds(const std::vector<RunRecord>& runs);

// The runs of one fold.
struct FoldValue {
  int64_t fold = 0;
  std::vector<int64_t> seeds;
  double mean = 0;  // of the metric, over the runs of the fold

  RNNLAB_FIELDS(fold, seeds, mean)
};

struct RunValue {
  const RunRecord* run = nullptr;
  double value = 0;
};

// Returns the folds of the runs in ascending order; none for runs without folds.
std::vector<FoldValue> values_of_folds(const std::vector<RunValue>& values);

// Returns the mean over the folds for each seed that has all of these folds.
std::vector<double> means_of_seeds(const std::vector<RunValue>& values, const std::vector<FoldValue>& folds);

// Returns the baselines that each of the folds has, with the mean over the folds of each metric that all of them have.
std::vector<Baseline> baselines_over_folds(const std::vector<RunValue>& values);

}  // namespace rnnlab
