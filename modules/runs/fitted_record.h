// SPDX-License-Identifier: Apache-2.0
// The facts about its data that a trained model needs, in the form in which checkpoints and files of models store them
// beside the settings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "data/dataset.h"
#include "runs/experiment.h"

namespace rnnlab {

struct ShapeRecord {
  std::string task;
  int64_t input_size = 0;
  int64_t sequence_length = 0;
  int64_t num_outputs = 0;
  bool has_lengths = false;
  std::optional<bool> target_per_step;  // written if it is true

  RNNLAB_FIELDS(task, input_size, sequence_length, num_outputs, has_lengths, where_given(target_per_step))
};

struct ColumnMean {
  std::string name;
  double mean = 0;

  RNNLAB_FIELDS(name, mean)
};

struct FittedRecord {
  ShapeRecord shape;
  std::vector<std::string> vocabulary;
  bool vocabulary_is_hex = false;  // set if tokens are bytes that are not valid UTF-8, as JSON requires
  std::vector<ColumnScale> target_scales;
  std::string normalization;
  std::vector<ColumnScale> feature_scales;
  std::vector<ColumnMean> column_means;
  std::vector<CategoryColumn> categories;
  std::optional<std::string> time;
  std::optional<bool> is_day_first;
  std::vector<SeriesScales> series_scales;

  RNNLAB_FIELDS(shape, vocabulary, vocabulary_is_hex, target_scales, normalization, feature_scales, column_means,
                where_given(categories), where_given(time), where_given(is_day_first), where_given(series_scales))
};

FittedRecord to_record(const FittedData& data);

// Throws UserError kCheckpoint, with `file`, for facts that contradict each other or the experiment.
FittedData from_record(const FittedRecord& record, const Experiment& experiment, const std::string& file);

// Reads the settings as they were saved beside the facts, in the form of config.yaml. Throws UserError kCheckpoint with
// `file` and the first finding.
Experiment experiment_from_text(const std::string& text, const std::string& file);

}  // namespace rnnlab
