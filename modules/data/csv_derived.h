// SPDX-License-Identifier: Apache-2.0
// Inputs that are made of other columns. A column of data.known, such as a holiday or a price, has its values in the
// rows to be forecast as inputs of the rows before them; data.calendar gives each row the phase of its day, week or
// year, and data.calendar_ahead also those of rows to be forecast, whose dates are known. These inputs stand behind the
// columns themselves, by derived_names().
#pragma once

#include <map>
#include <string>
#include <vector>

#include "data/csv_part.h"
#include "data/scaling.h"

namespace rnnlab {

// Adds the inputs to the columns of features, whose missing values are filled; `means` are those of fill_missing(). An
// input is NaN where the file ends before its row, and a series says up to which row all are known. Throws UserError
// kData if the rows have no times for data.calendar.
void add_derived(CsvPart& part, const DataSettings& settings, const std::map<std::string, double>& means);

// Returns the scalings of these inputs: a known value has that of its column in any row, and a phase has none.
std::vector<Scaling> derived_scalings(const CsvPart& part, const std::vector<Scaling>& features,
                                      const DataSettings& settings);

}  // namespace rnnlab
