// Which row of a CSV file each sample's prediction is for, and why the other rows of the file have no sample. Rows are
// told by their number in the file and by the columns of data.id.
#pragma once

#include "data/csv_part.h"
#include "data/csv_samples.h"
#include "data/data_settings.h"
#include "data/load_for_inference.h"

namespace rnnlab {

// One row for each sample, in the order of the samples. The row of a window is that of its target, which may lie beyond
// the end of the file.
FileRows rows_of_samples(const CsvPart& part, const Windows& windows, const DataSettings& settings);

// Every row of the file in its order, then the rows beyond its end that are forecast. The samples are in the order of
// the file.
FileRows rows_of_file(const CsvPart& part, const Windows& windows, const DataSettings& settings);

}  // namespace rnnlab
