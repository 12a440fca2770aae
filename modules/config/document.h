// One configuration file with the overrides of the command line applied. Every value carries its place. Malformed text
// is added to Findings. The schema (config/schema.h) decides which keys exist and which values they accept.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/value.h"

namespace rnnlab::config {

class Document {
 public:
  // Reads a regular file of at most 1 MiB with one YAML document: a map, UTF-8, without anchors, tags and merge keys.
  static Document from_file(const std::string& path, Findings& findings);

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

}  // namespace rnnlab::config
