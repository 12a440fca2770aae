#include "results/run_copy.h"

#include <algorithm>
#include <cmath>

namespace rnnlab {
namespace {

bool is_same_number(const std::optional<double>& a, const std::optional<double>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return *a == *b || (std::isnan(*a) && std::isnan(*b));
}

bool is_same_row(const EpochRow& a, const EpochRow& b) {
  return std::ranges::all_of(epoch_columns(), [&](const EpochColumn& column) {
    return is_same_number(number_in(a, column), number_in(b, column));
  });
}

}  // namespace

bool is_copy(const RunRecord& a, const RunRecord& b) {
  if (a.environment.start_time != b.environment.start_time) return false;
  if (a.summary.turn.process != b.summary.turn.process) return false;
  const bool rows_tell = !a.summary.turn.process.empty() && !a.rows.empty();
  if (!rows_tell && a.config != b.config) return false;
  return std::ranges::equal(a.rows, b.rows, is_same_row);
}

}  // namespace rnnlab
