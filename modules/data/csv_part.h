// The columns that an experiment asks of a CSV file, typed and held against its task, before they are split and scaled.
// Rows keep the numbers that they have in the file, so that messages can name lines.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/csv_samples.h"
#include "data/data_settings.h"
#include "data/dataset.h"
#include "data/load_for_inference.h"
#include "data/readers/csv_columns.h"

namespace rnnlab {

// What another file must have to be read as the training part was.
struct CsvLayout {
  std::vector<std::string> features;  // columns, in order
  std::vector<std::string> labels;    // of the classes
};

struct CsvPart {
  Table table;
  std::vector<NumericColumn> features;  // NaN where a value is missing and the policy is kDrop or kMean
  std::vector<NumericColumn> targets;   // for regression and binary
  std::vector<int64_t> classes;         // for classification: indices into labels
  std::vector<std::string> labels;
  Targets wanted = Targets::kRequired;  // kWhereThere: a missing target is unknown, and the policy does not apply to it

  std::vector<int64_t> complete_rows() const;  // those that lack no feature and no required target
  CsvLayout layout() const;
  bool has_targets() const { return !targets.empty() || !classes.empty(); }
  int64_t num_missing() const;  // cells that the policy applies to; a series' target is among its features too
};

// As data.task says; auto is regression for a series and classification for rows that stand alone.
Task csv_task(const DataSettings& settings);

// `like` is the layout of the training part, which any other file must have; none for the training part itself. With
// Targets::kWhereThere a file may have none of the target columns.
// UserError kData: no such column (of data.id too), a cell that is no number (by line), a number beyond float32, a
// binary target outside 0 to 1.
CsvPart read_csv_part(Table table, const DataSettings& settings, const CsvLayout* like,
                      Targets wanted = Targets::kRequired);

// The mean of each column over the values that the file has in these rows, whatever the policy made of missing ones. A
// column without a value in these rows has no mean.
std::map<std::string, double> column_means(const CsvPart& part, const std::vector<int64_t>& rows);

// Fills what is missing by the means of the training part. UserError kData where a column has none.
void fill_with_means(CsvPart& part, const std::map<std::string, double>& means);

}  // namespace rnnlab
