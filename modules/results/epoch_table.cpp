#include "results/epoch_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/numbers.h"
#include "results/table.h"

namespace rnnlab {
namespace {

std::string cell_text(const EpochRow& row, const EpochColumn& column) {
  const auto value = number_in(row, column);
  if (!value) return "-";
  if (column.name == "peak_memory_bytes") return format_bytes(static_cast<int64_t>(*value));
  return fmt::format(fmt::runtime(column.format), *value);
}

size_t width_of(const EpochColumn& column) {
  constexpr size_t kWidestUsualNumber = 7;
  return column.name == "epoch" ? column.heading.size() : std::max(column.heading.size(), kWidestUsualNumber);
}

}  // namespace

EpochTable::EpochTable(const EpochRow& first) {
  for (const EpochColumn& column : epoch_columns())
    if (!column.heading.empty() && number_in(first, column)) columns_.push_back(column);
}

std::string EpochTable::header() const {
  std::string header;
  for (const EpochColumn& column : columns_) {
    if (!header.empty()) header += "  ";
    header += padded(std::string(column.heading), width_of(column), Align::kRight);
  }
  return header;
}

std::string EpochTable::line(const EpochRow& row) const {
  std::string line;
  for (const EpochColumn& column : columns_) {
    if (!line.empty()) line += "  ";
    line += padded(cell_text(row, column), width_of(column), Align::kRight);
  }
  return row.warmup ? line + "  (warm-up)" : line;
}

}  // namespace rnnlab
