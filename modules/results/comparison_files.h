// Writes a comparison as JSON and as CSV, for programs.
#pragma once

#include <optional>
#include <string>

#include "results/comparison.h"
#include "results/epoch_matrices.h"
#include "results/held_equal.h"

namespace rnnlab {

// Returns a comparison as CSV (RFC 4180) with one line for each group. Numbers have full precision, absent numbers are
// empty fields, and several reasons or warnings share one field with "; " between them.
std::string comparison_csv(const Comparison& comparison);

// Each member that is present becomes a field of the same name.
struct ComparisonAdditions {
  std::optional<HeldEqual> held_equal = std::nullopt;
  std::optional<EpochMatrices> epoch_matrices = std::nullopt;
};

// Returns a comparison as JSON with its schema version: all fields of `Comparison` under the same names, and the
// requested additions.
std::string comparison_json(const Comparison& comparison, const ComparisonAdditions& additions = {});

}  // namespace rnnlab
