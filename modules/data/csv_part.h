// The columns that an experiment asks of a CSV file, typed and held against its task, before they are split and scaled.
// Rows keep the numbers that they have in the file, so that messages can name lines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/csv_samples.h"
#include "data/data_settings.h"
#include "data/dataset.h"
#include "data/readers/csv_columns.h"

namespace rnnlab {

struct CsvPart {
  Table table;
  std::vector<NumericColumn> features;  // NaN where a value is missing and the policy is kDrop or kMean
  std::vector<NumericColumn> targets;   // for regression and binary
  std::vector<int64_t> classes;         // for classification: indices into labels
  std::vector<std::string> labels;

  std::vector<int64_t> complete_rows() const;  // those without NaN
  int64_t num_missing() const;                 // cells; a series' target is among its features too
};

// As data.task says; auto is regression for a series and classification for rows that stand alone.
Task csv_task(const DataSettings& settings);

// `like` is the training part, whose columns and labels a validation file must have; none for the training part itself.
// UserError kData: no such column, a cell that is no number (by line), a number beyond float32, a binary target outside
// 0 to 1.
CsvPart read_csv_part(Table table, const DataSettings& settings, const CsvPart* like);

// Fills what is missing by each column's mean over `rows` of `train`. UserError kData where a column has no value
// there.
void fill_with_means(CsvPart& part, const CsvPart& train, const std::vector<int64_t>& rows);

}  // namespace rnnlab
