// A comparison as JSON and as CSV, for programs.
#pragma once

#include <optional>
#include <string>

#include "results/comparison.h"
#include "results/epoch_matrices.h"
#include "results/held_equal.h"

namespace rnnlab {

// A comparison as CSV (RFC 4180), one line a group: numbers in full precision, absent ones empty, several reasons or
// warnings in one field with "; " between them.

std::string comparison_csv(const Comparison& comparison);

// A comparison as JSON with its schema version: everything that `Comparison` holds, under the same names, and what was
// asked for beyond it.

// Each is a field of its name, or no field.
struct ComparisonAdditions {
  std::optional<HeldEqual> held_equal = std::nullopt;
  std::optional<EpochMatrices> epoch_matrices = std::nullopt;
};

std::string comparison_json(const Comparison& comparison, const ComparisonAdditions& additions = {});

}  // namespace rnnlab
