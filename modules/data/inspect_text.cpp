// A text, its unit guessed.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "data/data_settings.h"
#include "data/inspect_formats.h"

namespace rnnlab {
namespace {

using Json = nlohmann::ordered_json;
using Path = std::filesystem::path;

constexpr size_t kTextShown = 200;

// Without the last line of a longer file: the head may end within a character.
std::string whole_lines(const std::string& head) {
  return head.size() < kHeadBytes ? head : head.substr(0, head.find_last_of('\n') + 1);
}

}  // namespace

void add_vocabulary(Json& json, const std::vector<std::string>& vocabulary) {
  constexpr size_t kTokensShown = 256;
  json["vocabulary_size"] = vocabulary.size();
  for (size_t i = 0; i < std::min(vocabulary.size(), kTokensShown); ++i)
    json["vocabulary"].push_back(in_quotes(vocabulary[i]));
}

Json describe_text(const Path& path, const std::string& head) {
  const TextUnit unit = is_valid_utf8(whole_lines(head)) ? TextUnit::kCodePoint : TextUnit::kByte;
  const Text text = read_text(path, unit);
  Json json;
  json["format"] = "text";
  json["tokens"] = config::name_of(unit);
  json["length"] = text.tokens.size();
  add_vocabulary(json, text.vocabulary);
  json["begins"] = in_quotes(head, kTextShown);
  json["yaml"] = {"data:",
                  "  source: text",
                  "  path: " + yaml_text(path.string()),
                  fmt::format("  tokens: {}", config::name_of(unit)),
                  "  sequence_length: 50",
                  "model:",
                  "  kind: language_model"};
  return json;
}

}  // namespace rnnlab
