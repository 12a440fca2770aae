// SPDX-License-Identifier: Apache-2.0
// The scales of the columns of a table: those of all rows of the training part, and
// scales that a series or a window has of its own (data.scale_by), in place of those of all rows of the training part.
// They suit series of different sizes, and series whose level moves away from that of the training part. Predictions
// and metrics undo them, through Samples::target_bases and target_units. A scale by window is that of Kim and others,
// Reversible instance normalization (ICLR 2022), without the weights that are learned there.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/csv_part.h"
#include "data/scaling.h"

namespace rnnlab {

// The scaling of each column of features and of targets; of targets that are changes, that of each output.
struct CsvScalings {
  std::vector<Scaling> features;
  std::vector<Scaling> targets;
};

// Returns the scalings of the columns for these rows, which are those of the training part. A column of data.static is
// scaled over the series, of which each counts once.
CsvScalings fit_scalings(const CsvPart& part, const std::vector<int64_t>& rows, const DataSettings& settings,
                         Normalization how);

// Returns the scalings that training fitted.
CsvScalings scalings_of(const FittedData& fitted, const CsvPart& part, const DataSettings& settings);

// Returns the columns with their scalings, in this order.
Columns scaled(const std::vector<NumericColumn>& columns, const std::vector<Scaling>& scalings);

class LocalScales {
 public:
  LocalScales() = default;  // data.scale_by: file

  // Fits the scales of the series to these rows, which are those of the training part. `file` are the scalings of the
  // features, which stay those of columns of data.known, data.static and others that are not measured.
  static LocalScales fit(const CsvPart& part, const std::vector<int64_t>& rows, const std::vector<Scaling>& file,
                         const DataSettings& settings, Normalization how);

  // Returns the scales that training fitted.
  static LocalScales of(const FittedData& fitted, const DataSettings& settings);

  // Returns them for a checkpoint: first those of the whole training part, then those of each series.
  std::vector<SeriesScales> saved() const;

  bool are_those_of_file() const { return by_ == ScaleBy::kFile; }

  // Returns the inputs (N, T, F) of the windows. `file` are the scalings of all features of the part.
  at::Tensor inputs_of(const CsvPart& part, const Windows& windows, const std::vector<Scaling>& file) const;

  // Returns the scaling of a target, by its place, in a window.
  Scaling of_target(const CsvPart& part, const Windows& windows, size_t sample, size_t target) const;

  // Returns a note on series that training did not have, or "".
  std::string note_on_unknown(const CsvPart& part) const;

 private:
  const SeriesScales& of_series(const std::string& name) const;
  std::optional<size_t> place_of(const std::string& feature) const;  // nothing if it has the scaling of the file
  void scale_windows(const CsvPart& part, const Windows& windows, const at::Tensor& inputs) const;

  ScaleBy by_ = ScaleBy::kFile;
  Normalization how_ = Normalization::kNone;
  SeriesScales whole_;                          // of the training part
  std::map<std::string, SeriesScales> series_;  // with data.group
};

}  // namespace rnnlab
