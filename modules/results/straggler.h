// Whether the processes of a run waited for one of them: they make each update together, so the slowest sets the pace.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "results/epoch_row.h"
#include "results/warning.h"

namespace rnnlab {

// The median over the epochs that count of the slowest process's seconds over the fastest's, outside of the exchange.
// Nothing of a run of one process.
std::optional<double> slowest_over_fastest(std::span<const EpochRow> rows);

// The median over the epochs that count of the part of train_seconds that the slowest process spent in the exchange,
// and nothing hid. Nothing where it was not measured.
std::optional<double> exchange_share(std::span<const EpochRow> rows);

// That the slowest is more than 5 % slower than the fastest.
std::vector<Warning> straggler_warnings(std::span<const EpochRow> rows);

}  // namespace rnnlab
