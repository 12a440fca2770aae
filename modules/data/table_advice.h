// How to train on a CSV table: the lines of an experiment that run as they are, and what stands in the way. Guessed
// from the columns; the target is the last column that can be one.
#pragma once

#include <string>
#include <vector>

#include "data/column_profile.h"

namespace rnnlab {

struct TableAdvice {
  std::vector<std::string> yaml;  // empty where no column can be a target, or an input
  std::vector<std::string> hints;
};

// `path` is as the user wrote it; `columns` are all columns of `table`.
TableAdvice advise(const std::string& path, const Table& table, const std::vector<ColumnProfile>& columns);

}  // namespace rnnlab
