// SPDX-License-Identifier: Apache-2.0
// Divides the metrics of an evaluation by class or by target: precision, recall and F1 of each class with the confusion
// matrix, and MAE and RMSE of each of several targets in its own units.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/system/terminal.h"
#include "data/dataset.h"

namespace rnnlab {

struct Predictions;  // predict.h

// A value is absent if its denominator is 0: nothing was predicted as the class, or nothing is of it.
struct ClassMetrics {
  std::string name;
  int64_t num_rows = 0;                            // samples, or steps with a target each, of the class
  std::optional<double> precision = std::nullopt;  // the part of the rows predicted as the class that are of it
  std::optional<double> recall = std::nullopt;     // the part of its rows that are predicted as it
  std::optional<double> f1 = std::nullopt;         // 2 precision recall / (precision + recall)
};

struct TargetErrors {
  std::string name;
  double mean_absolute_error = 0;
  double root_mean_squared_error = 0;
};

struct DetailedMetrics {
  std::vector<ClassMetrics> classes;            // empty unless the targets are classes
  std::vector<std::vector<int64_t>> confusion;  // [class of the target][predicted class]; empty above 1000 classes
  std::vector<TargetErrors> targets;            // empty unless there are several targets that are numbers
  std::string row = "sample";                   // what is counted: Predictions::row
};

// Returns whether predictions for such data have details: those of a language model, of a single number and of several
// binary targets have none.
bool has_detailed_metrics(const DataShape& shape);

// The predictions need targets, of which those that are missing have no part in any metric. A single binary target has
// the classes 0 and 1; several have no details.
DetailedMetrics detailed_metrics(const Predictions& predictions);

// Return a row for each class, or for the first 100 targets; empty tables without details.
TextTable class_table(const DetailedMetrics& metrics);
TextTable target_table(const DetailedMetrics& metrics);

// Returns tables for people; "" without details. More than 20 classes get no matrix.
std::string detailed_metrics_text(const DetailedMetrics& metrics);

// Adds "classes" and "confusion_matrix", or "targets", to the JSON of an evaluation.
void add_detailed_metrics(const DetailedMetrics& metrics, nlohmann::ordered_json& json);

}  // namespace rnnlab
