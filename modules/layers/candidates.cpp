// SPDX-License-Identifier: Apache-2.0
#include "layers/candidates.h"

#include <algorithm>
#include <functional>

namespace rnnlab {

std::vector<LayerKind> candidates(const RecurrentOptions& options, Precision precision,
                                  std::optional<Processor> processor) {
  std::vector<LayerKind> kinds = layer_kinds();
  std::erase_if(kinds, [&](LayerKind kind) {
    const auto is_less_precise = info_of(kind).is_less_precise;
    return why_unsupported(kind, {.options = options, .precision = precision, .processor = processor}) ||
           (is_less_precise != nullptr && is_less_precise(options, precision));
  });
  std::ranges::sort(kinds, std::ranges::greater(), [](LayerKind kind) { return info_of(kind).speed_rank; });
  return kinds;
}

}  // namespace rnnlab
