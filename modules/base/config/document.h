// SPDX-License-Identifier: Apache-2.0
// One configuration file with the overrides of the command line applied. Every value carries its place. Malformed text
// is added to Findings. The schema (base/config/schema.h) decides which keys exist and which values they accept.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/config/value.h"

namespace rnnlab::config {

// A file that names another one by `base: other.yaml` has the keys of both, and its own values where both have a key.
// Maps are merged, except `sweep`, which replaces that of the base; null takes a key out. The path counts from the
// folder of the file. The other file has no base.
inline constexpr std::string_view kBaseKey = "base";
inline constexpr std::string_view kSweepKey = "sweep";  // base/config/sweep.h

class Document {
 public:
  // Reads a regular file of at most 1 MiB with one YAML document: a map, UTF-8, without anchors, tags and merge keys.
  // A base is refused, because a file such as config.yaml of a run may come from a stranger.
  static Document from_file(const std::string& path, Findings& findings);

  // Reads an experiment file. If it has a base, adds the keys of that file; each value keeps the place where it was
  // written.
  static Document from_file_with_base(const std::string& path, Findings& findings);

  // Reads `text` by the same rules as from_file; `source` names the text in messages.
  static Document from_text(std::string_view text, const std::string& source, Findings& findings);

  // Applies an override such as "training.epochs=3". The key is dotted; the value is YAML: [lists], {maps} and "quoted
  // text" as in a file. An empty value, `~` and `null` are null. Every other value is one plain value, including any
  // `#` and `: `. The override replaces the whole value of the key, even if this value is a list or a map. A later
  // override replaces an earlier override of the same key.
  void apply_override(std::string_view assignment, Findings& findings);

  const Value& root() const { return root_; }
  const std::string& source() const { return source_; }

  // Returns false if the file could not be read as YAML: then root() holds the overrides alone.
  bool is_whole() const { return wholeness_ == Wholeness::kWhole; }

  struct Override {
    std::string key;
    int argument;  // 1 for the first argument
  };
  const std::vector<Override>& overrides() const { return overrides_; }

  // Returns a document with the same source and overrides, and with `root` as its tree.
  Document with_root(Value root) const;

 private:
  enum class Wholeness { kWhole, kOverridesOnly };

  static Document read_file(const std::string& path, Findings& findings);
  void refuse_base(Findings& findings);
  void add_base(Findings& findings);

  Document(std::string source, Value root, Wholeness wholeness)
      : source_(std::move(source)), root_(std::move(root)), wholeness_(wholeness) {}

  std::string source_;
  Value root_;
  Wholeness wholeness_;
  std::vector<Override> overrides_;
  int num_overrides_ = 0;  // malformed overrides count too
};

// Returns, by dotted key, the place of the value of each key that the document sets.
std::map<std::string, Place> places_of_keys(const Document& document);

// Returns a message that begins with a key, such as "layer: cudnn needs a CUDA GPU", with the place of this key in
// front if the document sets the key.
std::string with_place(const std::string& message, const std::map<std::string, Place>& places);

// Sets the value of a dotted key below the map `root`, and creates maps as needed. If a part of the key has a value
// that is neither a map nor null, a finding at `key_place` is added.
void assign(Value& root, std::string_view dotted_key, const Place& key_place, Value value, Findings& findings);

// The functions below convert YAML text to a Value tree with yaml-cpp's event parser. The rules are stricter than YAML:
// one document; no anchors, aliases, tags, merge keys or duplicate keys; every key a text; bounded depth and size.
// Nothing is expanded, so a small file cannot become large. First they check that the file is text, and they convert
// byte positions to the lines and columns that an editor shows.

// Returns the bytes of a regular file of at most kMaxFileBytes. For every other file it adds a finding and returns
// nullopt. It never blocks on a pipe.
std::optional<std::string> read_source(const std::string& path, Findings& findings);

// Maps bytes of a text to lines and columns. The text may be destroyed afterwards.
class LineMap {
 public:
  LineMap(std::string_view text, std::string source);

  // Returns the place of the byte at `offset`, counted from 0.
  Place place_at(size_t offset) const;

  // Returns the place of byte `column` of line `line`, both from 0; only the source if one of them is negative.
  Place place(int line, int column) const;

 private:
  std::string source_;
  std::vector<size_t> line_starts_;
  std::vector<uint32_t> code_points_before_;  // code points that begin before each byte
};

// Returns whether `text` is UTF-8 without control characters except tabs and line ends. If not, the first invalid byte
// and the first control character are findings.
bool is_clean_text(std::string_view text, const LineMap& lines, Findings& findings);

// A character that looks like one of YAML's own, such as a no-break space before a value, and what to do about it.
struct LookalikeAt {
  size_t offset = 0;
  std::string message;
};

// Returns the first such character of `text`, which is UTF-8, outside of quotes and comments (lookalikes.cpp).
std::optional<LookalikeAt> first_lookalike(std::string_view text);

inline constexpr size_t kMaxFileBytes = 1 << 20;
inline constexpr size_t kMaxValues = 10000;
inline constexpr size_t kMaxDepth = 32;

// Returns the place of byte `column` of line `line`, both from 0; both are -1 if the position is not known.
using PlaceOf = std::function<Place(int line, int column)>;

// Returns nullopt, and adds a finding, if the text is not valid YAML; a null value if the text is empty.
std::optional<Value> parse_yaml(std::string_view text, const PlaceOf& place_of, Findings& findings);

}  // namespace rnnlab::config
