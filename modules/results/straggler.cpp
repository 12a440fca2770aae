#include "results/straggler.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "results/statistics.h"

namespace rnnlab {
namespace {

using Quotient = std::function<std::optional<double>(const EpochRow&)>;

std::optional<double> quotient_of(const std::optional<double>& numerator, const std::optional<double>& denominator) {
  if (!numerator || !denominator || *denominator <= 0) return std::nullopt;
  const double quotient = *numerator / *denominator;
  return std::isfinite(quotient) ? std::optional(quotient) : std::nullopt;
}

std::optional<double> median_quotient(std::span<const EpochRow> rows, const Quotient& quotient) {
  std::vector<double> quotients;
  for (const EpochRow& row : rows)
    if (const auto one = quotient(row); one && !row.warmup) quotients.push_back(*one);
  return quotients.empty() ? std::nullopt : std::optional(median(quotients));
}

}  // namespace

std::optional<double> slowest_over_fastest(std::span<const EpochRow> rows) {
  return median_quotient(
      rows, [](const EpochRow& row) { return quotient_of(row.slowest_process_seconds, row.fastest_process_seconds); });
}

std::optional<double> exchange_share(std::span<const EpochRow> rows) {
  return median_quotient(rows,
                         [](const EpochRow& row) { return quotient_of(row.exchange_seconds, row.train_seconds); });
}

std::vector<Warning> straggler_warnings(std::span<const EpochRow> rows) {
  constexpr double kMost = 1.05, kPercent = 100;
  const auto quotient = slowest_over_fastest(rows);
  if (!quotient || *quotient <= kMost) return {};
  return {{warning::kStraggler,
           fmt::format("straggler: the slowest process of an epoch computes {:.0f} % longer than the fastest (median), "
                       "and the others wait for it; look what else its CPUs or its GPU do",
                       kPercent * (*quotient - 1))}};
}

}  // namespace rnnlab
