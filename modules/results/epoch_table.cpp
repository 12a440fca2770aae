#include "results/epoch_table.h"

#include <fmt/format.h>

#include "results/table.h"

namespace rnnlab {
namespace {

// The cells of a line, each by `cell_of`, to the right of their columns.
template <class CellOf>
std::string line_of(const std::vector<EpochColumn>& columns, const CellOf& cell_of) {
  std::string line;
  for (const EpochColumn& column : columns) {
    if (!line.empty()) line += "  ";
    line += padded(cell_of(column), console_width(column), Align::kRight);
  }
  return line;
}

}  // namespace

EpochTable::EpochTable(const EpochRow& first) {
  for (const EpochColumn& column : epoch_columns())
    if (!column.heading.empty() && number_in(first, column)) columns_.push_back(column);
}

std::string EpochTable::header() const {
  return line_of(columns_, [](const EpochColumn& column) { return std::string(column.heading); });
}

std::string EpochTable::line(const EpochRow& row, const std::string& mark) const {
  const std::string line = line_of(columns_, [&](const EpochColumn& column) {
    const auto value = number_in(row, column);
    return value ? console_text(column, *value) : "-";
  });
  if (!mark.empty()) return fmt::format("{}  ({})", line, mark);
  return row.warmup ? line + "  (warm-up)" : line;
}

}  // namespace rnnlab
