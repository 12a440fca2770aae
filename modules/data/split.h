// Which samples train and which validate, where no files say so. Works on the numbers of rows; order and permutation
// are pure functions of the request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/data_settings.h"
#include "data/dataset.h"

namespace rnnlab {

// What data.split comes to for tables and arrays: auto is ordered for windows, which overlap, else random.
Split resolved_split(const DataSettings& settings);

struct SplitRequest {
  Split how = Split::kOrdered;       // not kAutomatic
  std::optional<int64_t> num_valid;  // 0: no validation
  double valid_fraction = 0.1;       // where num_valid is not set
  int64_t seed = 1;                  // of a random split
};

struct RowSplit {
  std::vector<int64_t> train;  // in their order for an ordered split, in that of the permutation for a random one
  std::vector<int64_t> valid;
};

// Validation gets the last rows (kOrdered), or those that the permutation of the seed puts last (kRandom): not all, and
// at least one unless num_valid is 0. UserError kData where there are too few; `origin` names the data.
RowSplit split_rows(int64_t num_rows, const SplitRequest& request, const std::string& origin);

Samples take(const Samples& samples, const std::vector<int64_t>& rows);

// The first `count` samples, or all where it is not set. UserError kData where there are fewer; `key` is the setting.
Samples take_first(const Samples& samples, std::optional<int64_t> count, const std::string& key,
                   const std::string& origin);

}  // namespace rnnlab
