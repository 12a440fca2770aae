// A comparison as JSON with its schema version: everything that `Comparison` holds, under the same names, and what was
// asked for beyond it.
#pragma once

#include <optional>
#include <string>

#include "results/comparison.h"
#include "results/epoch_matrices.h"
#include "results/held_equal.h"

namespace rnnlab {

// Each is a field of its name, or no field.
struct ComparisonAdditions {
  std::optional<HeldEqual> held_equal = std::nullopt;
  std::optional<EpochMatrices> epoch_matrices = std::nullopt;
};

std::string comparison_json(const Comparison& comparison, const ComparisonAdditions& additions = {});

}  // namespace rnnlab
