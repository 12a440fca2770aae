#include "results/seal.h"

#include <algorithm>

#include "base/sha256.h"
#include "results/json_fields.h"

namespace rnnlab {
namespace {

std::string seal_of(std::string_view before) {
  return fmt::format("  \"{}\": \"{}\"\n}}\n", kSealKey, Sha256().update(before).hex());
}

}  // namespace

std::string sealed_text(const Json& object) {
  std::string text = json_text(object);
  text.replace(text.size() - 3, 3, ",\n");  // "\n}\n"
  return text + seal_of(text);
}

bool has_fitting_seal(std::string_view text) {
  static const size_t kSealBytes = seal_of("").size();
  const size_t num_before = text.size() - std::min(text.size(), kSealBytes);
  return text.substr(num_before) == seal_of(text.substr(0, num_before));
}

}  // namespace rnnlab
