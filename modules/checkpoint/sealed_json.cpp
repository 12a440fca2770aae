#include "checkpoint/sealed_json.h"

#include "checkpoint/failure.h"
#include "results/json_fields.h"

namespace rnnlab {

Json unsealed(const std::string& text, const std::string& file) {
  if (!has_fitting_seal(text))
    refuse_checkpoint("{}: its seal, the SHA-256 in its last line, does not fit; the file is damaged or was cut off",
                      file);
  return reading_checkpoint([&] {
    Json object = parse_json(text, file);
    object.erase(kSealKey);
    return object;
  });
}

}  // namespace rnnlab
