// Rows and records with plain numbers, for tests.
#pragma once

#include <vector>

#include "results/epoch_row.h"

namespace rnnlab::testing {

inline EpochRow sample_row(int64_t epoch, double train_seconds) {
  return {.epoch = epoch,
          .train_loss = 0.5,
          .train_accuracy = 0.75,
          .valid_loss = 0.25,
          .valid_accuracy = 0.875,
          .learning_rate = 0.001,
          .gradient_norm = 1.5,
          .train_seconds = train_seconds,
          .valid_seconds = 0.125,
          .data_seconds = 0.0625,
          .samples_per_second = 120000 / train_seconds,
          .peak_memory_bytes = 1610612736};
}

inline std::vector<EpochRow> sample_rows(const std::vector<double>& train_seconds) {
  std::vector<EpochRow> rows;
  for (const double seconds : train_seconds) rows.push_back(sample_row(static_cast<int64_t>(rows.size()) + 1, seconds));
  return rows;
}

}  // namespace rnnlab::testing
