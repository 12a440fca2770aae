#include "checkpoint/sealed_json.h"

#include "base/sha256.h"
#include "checkpoint/failure.h"
#include "results/json_fields.h"

namespace rnnlab {
namespace {

std::string seal_of(std::string_view before) {
  return fmt::format("  \"seal\": \"{}\"\n}}\n", Sha256().update(before).hex());
}

}  // namespace

std::string sealed_text(const Json& object) {
  std::string text = json_text(object);
  text.replace(text.size() - 3, 3, ",\n");  // "\n}\n"
  return text + seal_of(text);
}

Json unsealed(const std::string& text, const std::string& file) {
  static const size_t kSealBytes = seal_of("").size();
  const std::string_view whole = text;
  const size_t num_before = whole.size() - std::min(whole.size(), kSealBytes);
  if (whole.substr(num_before) != seal_of(whole.substr(0, num_before)))
    refuse_checkpoint("{}: its seal, the SHA-256 in its last line, does not fit; the file is damaged or was cut off",
                      file);
  return reading_checkpoint([&] {
    Json object = parse_json(text, file);
    object.erase("seal");
    return object;
  });
}

}  // namespace rnnlab
