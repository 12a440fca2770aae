// SPDX-License-Identifier: Apache-2.0
// Converts structs to JSON and back by their lists of fields, with errors that name the file and the field, and seals
// files so that an edit can be detected.
#pragma once

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/config/enum_names.h"
#include "base/error.h"
#include "base/fields.h"
#include "base/numbers.h"
#include "base/system/files.h"
#include "base/text.h"

namespace rnnlab {

// RNNLAB_FIELDS (base/fields.h) is the one field list of a struct for both directions. Reading is strict: a missing,
// unknown, duplicate or mistyped key throws UserError kData with the file and the key. All kinds of files share one
// version number (files.h). Include this header only in .cpp files, because it includes nlohmann's header.

using Json = nlohmann::ordered_json;

inline bool is_given(const std::string& value) { return !value.empty(); }
template <class T>
bool is_given(const std::optional<T>& value) {
  return value.has_value();
}
template <class T>
bool is_given(const std::vector<T>& value) {
  return !value.empty();
}
template <class T>
bool is_given(const T&) {
  return true;
}

// ---- writing ----

template <HasFields T>
Json to_json(const T& value);

inline Json to_json(const std::string& value) { return value; }
inline Json to_json(bool value) { return value; }
inline Json to_json(int64_t value) { return value; }

// JSON has no numbers for nan and infinity, so they are written as strings.
inline Json to_json(double value) { return std::isfinite(value) ? Json(value) : Json(format_shortest(value)); }

template <config::NamedEnum T>
Json to_json(T value) {
  return std::string(config::name_of(value));
}

template <class T>
Json to_json(const std::map<std::string, T>& values);

template <class T>
Json to_json(const std::optional<T>& value) {
  return value ? to_json(*value) : Json(nullptr);
}

template <class T>
Json to_json(const std::vector<T>& values) {
  Json array = Json::array();
  for (const T& value : values) array.push_back(to_json(value));
  return array;
}

template <class T>
Json to_json(const std::map<std::string, T>& values) {
  Json object = Json::object();
  for (const auto& [key, value] : values) object[key] = to_json(value);
  return object;
}

template <HasFields T>
Json to_json(const T& value) {
  Json object = Json::object();
  value.visit_fields([&](const std::string& key, const auto& member, int64_t since) {
    if (since != kWhereGiven || is_given(member)) object[key] = to_json(member);
  });
  return object;
}

// The text is indented and ends with a line end; bytes that are not UTF-8 become U+FFFD.
inline std::string json_text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

// ---- reading ----

inline std::string shown(const Json& json) {
  return in_quotes(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

// Returns any text in a form that fits into a message.
inline std::string on_one_line(const std::string& text) {
  const std::string quoted = in_quotes(text);
  return quoted.substr(1, quoted.size() - 2);
}

// Refers to a JSON value, with its file, the file's version and the dotted key of the value.
struct JsonPlace {
  const Json& json;
  const std::string& file;
  std::string key;
  int64_t version = kFileVersion;

  [[noreturn]] void throw_unexpected(const char* wanted) const {
    throw_error(ExitCode::kData, "{}: {} is {}, expected {}", file, key.empty() ? "the whole" : key, shown(json),
                wanted);
  }
  JsonPlace at(const Json& part, const std::string& name) const {
    return {part, file, key.empty() ? name : key + "." + name, version};
  }
};

template <HasFields T>
void from_json(const JsonPlace& place, T& value);

inline void from_json(const JsonPlace& place, std::string& value) {
  if (!place.json.is_string()) place.throw_unexpected("a string");
  value = place.json.get<std::string>();
}

inline void from_json(const JsonPlace& place, bool& value) {
  if (!place.json.is_boolean()) place.throw_unexpected("true or false");
  value = place.json.get<bool>();
}

inline void from_json(const JsonPlace& place, int64_t& value) {
  constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  const bool fits =
      place.json.is_number_integer() && (!place.json.is_number_unsigned() || place.json.get<uint64_t>() <= kMost);
  if (!fits) place.throw_unexpected("a whole number");
  value = place.json.get<int64_t>();
}

inline void from_json(const JsonPlace& place, double& value) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Json& json = place.json;
  if (json == "nan" || json == "-nan") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (json == "inf" || json == "-inf") {
    value = json == "inf" ? kInfinity : -kInfinity;
  } else if (json.is_number()) {
    value = json.get<double>();
  } else {
    place.throw_unexpected("a number");
  }
}

template <config::NamedEnum T>
void from_json(const JsonPlace& place, T& value) {
  const auto named = place.json.is_string() ? config::from_name<T>(place.json.get<std::string>()) : std::nullopt;
  if (!named) place.throw_unexpected(join_with_or(config::names_of<T>()).c_str());
  value = *named;
}

template <class T>
void from_json(const JsonPlace& place, std::optional<T>& value) {
  value.reset();
  if (!place.json.is_null()) from_json(place, value.emplace());
}

template <class T>
void from_json(const JsonPlace& place, std::vector<T>& values) {
  if (!place.json.is_array()) place.throw_unexpected("a list");
  values.clear();
  for (const Json& part : place.json) {
    const JsonPlace place_of_part = place.at(part, std::to_string(values.size()));
    from_json(place_of_part, values.emplace_back());
  }
}

template <class T>
void from_json(const JsonPlace& place, std::map<std::string, T>& values) {
  if (!place.json.is_object()) place.throw_unexpected("an object");
  values.clear();
  for (const auto& [key, part] : place.json.items()) from_json(place.at(part, on_one_line(key)), values[key]);
}

template <HasFields T>
void from_json(const JsonPlace& place, T& value) {
  if (!place.json.is_object()) place.throw_unexpected("an object");
  std::vector<std::string> known;
  value.visit_fields([&](const std::string& key, auto& member, int64_t since) {
    if (place.version < since) return;
    known.push_back(key);
    const auto found = place.json.find(key);
    if (found == place.json.end() && since == kWhereGiven) return;
    if (found == place.json.end())
      throw_error(ExitCode::kData, "{}: {} is missing", place.file, place.at(place.json, key).key);
    from_json(place.at(*found, key), member);
  });
  for (const auto& [key, part] : place.json.items())
    if (std::ranges::find(known, key) == known.end())
      throw_error(ExitCode::kData, "{}: unknown key {}{}", place.file, in_quotes(place.at(part, key).key),
                  did_you_mean(key, known));
}

// Returns the JSON of a whole file. Throws UserError kData with `file:line:column`; also for a duplicate key, and for
// more than 100 levels or 4,096 keys in one object, which our files never have and which could exhaust the stack or
// take minutes.
Json parse_json(const std::string& text, const std::string& file);

// ---- files ----

// Writes the record atomically. Throws UserError kDevice.
template <HasFields T>
void write_record(const std::filesystem::path& path, const T& record) {
  write_file_atomically(path, json_text(to_json(record)));
}

// Returns the "schema_version" of a file's JSON. Throws UserError kData unless the JSON is an object and the version is
// between `first` and this program's.
int64_t version_of(const Json& json, const std::string& file, int64_t first);

// Returns the record in a file's JSON, of any version from `first_version`, the first of its kind, to this program's.
// Checks the version before anything else, so that the error for a file of a later version says so. Throws UserError
// kData.
template <HasFields T>
T record_from(const Json& json, const std::string& file, int64_t first_version = 1) {
  const JsonPlace whole{json, file, "", version_of(json, file, first_version)};
  T record;
  from_json(whole, record);
  record.schema_version = kFileVersion;
  return record;
}

// Reads a file that write_record wrote. Throws UserError kData.
template <HasFields T>
T read_record(const std::filesystem::path& path, int64_t first_version = 1, int64_t max_bytes = 1 << 22) {
  const std::string file = path.string();
  return record_from<T>(parse_json(read_file(path, max_bytes), file), file, first_version);
}

// A seal is the SHA-256 of all bytes before the last line of a small JSON file, in this last line: it detects a single
// changed, missing or added byte. A seal protects against damage and mistakes, not against forgery, because everyone
// who can write the file can seal it.
inline constexpr const char* kSealKey = "seal";

// Returns the members of `object`, which must not be empty, followed by "seal".
std::string sealed_text(const nlohmann::ordered_json& object);

// Returns whether the text of a whole file ends with the right seal of the text before it.
bool has_fitting_seal(std::string_view text);

}  // namespace rnnlab
