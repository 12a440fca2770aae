// SPDX-License-Identifier: Apache-2.0
#include "base/system/json_fields.h"

#include "base/sha256.h"

namespace rnnlab {
namespace {

std::string place_of_byte(const std::string& text, size_t byte) {
  const std::string_view before = std::string_view(text).substr(0, byte == 0 ? 0 : byte - 1);
  const size_t line_begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return fmt::format("{}:{}", std::ranges::count(before, '\n') + 1, before.size() - line_begin + 1);
}

// The parser alone would accept the last of two equal keys silently, and any depth and width that fits into memory.
class StrictObjects {
 public:
  explicit StrictObjects(const std::string& file) : file_(file) {}

  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    constexpr int kMostLevels = 100;
    if (depth > kMostLevels) throw_error(ExitCode::kData, "{}: nested in more than {} levels", file_, kMostLevels);
    if (event == Json::parse_event_t::object_start) open_.emplace_back();
    if (event == Json::parse_event_t::object_end) open_.pop_back();
    if (event != Json::parse_event_t::key) return true;
    const auto key = parsed.get<std::string>();
    if (!open_.back().insert(key).second)
      throw_error(ExitCode::kData, "{}: the key {} occurs twice", file_, in_quotes(key));
    // Each key is compared with all keys before it, so their number is limited.
    constexpr size_t kMostKeys = 4096;
    if (open_.back().size() > kMostKeys)
      throw_error(ExitCode::kData, "{}: more than {} keys in one object", file_, kMostKeys);
    return true;
  }

 private:
  const std::string& file_;
  std::vector<std::set<std::string>> open_;
};

[[noreturn]] void throw_no_json(const std::string& text, size_t byte, const std::string& file) {
  throw_error(ExitCode::kData, "{}:{}: not valid JSON: the file is damaged or was cut off", file,
              place_of_byte(text, byte));
}

}  // namespace

Json parse_json(const std::string& text, const std::string& file) {
  // The parser would treat a zero byte as the end of the text.
  if (const size_t zero = text.find('\0'); zero != std::string::npos) throw_no_json(text, zero + 1, file);
  try {
    return Json::parse(text, StrictObjects(file));
  } catch (const Json::parse_error& error) {
    throw_no_json(text, error.byte, file);
  } catch (const Json::exception&) {
    throw_error(ExitCode::kData, "{}: a number in it does not fit into 64 bits", file);
  }
}

int64_t version_of(const Json& json, const std::string& file, int64_t first) {
  const JsonPlace whole{json, file, ""};
  if (!json.is_object()) whole.throw_unexpected("an object");
  const auto version = json.find("schema_version");
  if (version == json.end()) throw_error(ExitCode::kData, "{}: schema_version is missing", file);
  const bool is_known = version->is_number_integer() && *version >= first && *version <= kFileVersion;
  if (!is_known)
    throw_error(ExitCode::kData,
                "{}: schema_version is {}, expected {} to {}: a different version of rnnlab wrote it; use that "
                "version, or train again",
                file, shown(*version), first, kFileVersion);
  return version->get<int64_t>();
}

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
