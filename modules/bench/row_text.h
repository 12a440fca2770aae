// The parts of a row's key as people read them: what all rows share is said once, what differs makes a column.
#pragma once

#include <string>
#include <vector>

#include "bench/report.h"

namespace rnnlab {

struct KeyColumn {
  const char* heading;                 // "H"
  std::string (*text)(const RowKey&);  // "" for what is usual
  const char* usual = "";              // that, where it has to be said
};

// device, mode, precision, cell, cuDNN's algorithm, I, H, B, T, L, D; the layer is not among them. Usual are the
// algorithm auto, I where it is H, and D 1.
const std::vector<KeyColumn>& key_columns();

// The columns in which not all of `rows` are equal.
std::vector<KeyColumn> varying_columns(const std::vector<BenchRow>& rows);

// "cuda graph fp32 lstm H 512 B 64 T 100": of the columns that do not vary. "" where there are no rows.
std::string shared_text(const std::vector<BenchRow>& rows);

// "12.81" or "1281" for four digits: all digits of whole numbers, and never an exponent.
std::string significant(double value, int digits);

// "naive" where no column varies, else "naive H 256 B 32".
std::string row_label(const RowKey& key, const std::vector<KeyColumn>& varying);

}  // namespace rnnlab
