#include "checkpoint/manifest.h"

#include "checkpoint/failure.h"
#include "checkpoint/sealed_json.h"
#include "results/json_fields.h"

namespace rnnlab {

std::string manifest_text(const Manifest& manifest) { return sealed_text(to_json(manifest)); }

Manifest parse_manifest(const std::string& text, const std::string& file) {
  return reading_checkpoint([&] { return record_from<Manifest>(unsealed(text, file), file); });
}

}  // namespace rnnlab
