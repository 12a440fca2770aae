// The rows of a training run as a table that grows line by line on the console: widths are fixed when it starts,
// columns that the run does not have are left out, warm-up epochs are marked.
#pragma once

#include <string>
#include <vector>

#include "results/epoch_row.h"

namespace rnnlab {

class EpochTable {
 public:
  // `first` decides which columns there are.
  explicit EpochTable(const EpochRow& first);

  std::string header() const;                                                 // without a line end, as the lines
  std::string line(const EpochRow& row, const std::string& mark = "") const;  // "(mark)" behind it, or "(warm-up)"

 private:
  std::vector<EpochColumn> columns_;
};

}  // namespace rnnlab
