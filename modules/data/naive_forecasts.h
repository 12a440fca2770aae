// SPDX-License-Identifier: Apache-2.0
// Forecasts of a series that need no model: the last value, and the value one season before. A value that is missing is
// replaced by the latest one before it that is known, of the same series and for a season of the same place in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/csv_changes.h"
#include "data/csv_part.h"

namespace rnnlab {

// Returns the targets of these windows, in their frame if it is defined.
at::Tensor targets_in(const std::vector<NumericColumn>& targets, const std::vector<int64_t>& classes,
                      const Windows& windows, const CsvScalings& scalings, const TargetFrame& frame);

// Returns none without windows or targets. `frame` is as in targets_in(). A forecast is missing where no value before
// it is known.
std::vector<NaiveForecast> naive_forecasts(const CsvPart& part, const Windows& windows, const CsvScalings& scalings,
                                           const DataSettings& settings, const TargetFrame& frame);

// Returns for each target the mean absolute difference between rows of the training part that are data.season rows of a
// series apart, or one row without data.season: the error in the units of the targets by which Hyndman and Koehler,
// Another look at measures of forecast accuracy (2006), divide. `rows` are those of the training part, ascending. Pairs
// with a missing value, and pairs with a gap in time between them, do not count. Empty unless the targets are numbers
// of a series; NaN for a target without a pair.
std::vector<double> naive_errors(const CsvPart& part, const std::vector<int64_t>& rows, const DataSettings& settings);

// Returns why the forecasts do not have that of data.season, if they should.
std::optional<std::string> note_on_season(const CsvPart& part, const Windows& windows, const DataSettings& settings);

// Returns a note for each forecast that is missing for some of these targets, which are known.
std::vector<std::string> notes_on_missing(const std::vector<NaiveForecast>& forecasts, const at::Tensor& targets,
                                          const CsvPart& part);

}  // namespace rnnlab
