#include "results/comparison_json.h"

#include "results/json_fields.h"

namespace rnnlab {

std::string comparison_json(const Comparison& comparison) { return json_text(to_json(comparison)); }

}  // namespace rnnlab
