// Splits samples into training and validation if there are no separate files. It works on numbers of rows; order and
// permutation are pure functions of the request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/data_settings.h"
#include "data/dataset.h"

namespace rnnlab {

// Resolves data.split for tables and arrays: auto is ordered for windows, because they overlap, else random.
Split resolved_split(const DataSettings& settings);

struct SplitRequest {
  Split how = Split::kOrdered;       // not kAutomatic
  std::optional<int64_t> num_valid;  // 0: no validation
  double valid_fraction = 0.1;       // used if num_valid is not set
  int64_t seed = 1;                  // of a random split
};

struct RowSplit {
  std::vector<int64_t> train;  // ascending for an ordered split, permuted for a random split
  std::vector<int64_t> valid;
};

// Validation gets the last rows (kOrdered), or the last rows of the permutation of the seed (kRandom): not all rows,
// and at least one row unless num_valid is 0. Throws UserError kData for too few rows; `origin` is the name of the
// data.
RowSplit split_rows(int64_t num_rows, const SplitRequest& request, const std::string& origin);

Samples take(const Samples& samples, const std::vector<int64_t>& rows);

// Returns the first `count` samples; all if it is not set. Throws UserError kData if there are fewer; `key` is the
// setting.
Samples take_first(const Samples& samples, std::optional<int64_t> count, const std::string& key,
                   const std::string& origin);

}  // namespace rnnlab
