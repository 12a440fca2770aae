#include "results/comparison_json.h"

#include "results/json_fields.h"

namespace rnnlab {

std::string comparison_json(const Comparison& comparison, const ComparisonAdditions& additions) {
  Json json = to_json(comparison);
  if (additions.held_equal) json["held_equal"] = to_json(*additions.held_equal);
  if (additions.epoch_matrices) json["epoch_matrices"] = to_json(*additions.epoch_matrices);
  return json_text(json);
}

}  // namespace rnnlab
