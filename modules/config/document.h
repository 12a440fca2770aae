// One configuration file with the overrides of the command line laid over it; every value knows its place. What is
// malformed goes to Findings. Which keys exist and what they may hold is the schema's business (config/schema.h).
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
  // A regular file of at most 1 MiB that holds one YAML document: a map, UTF-8, without anchors, tags or merge keys.
  static Document from_file(const std::string& path, Findings& findings);

  // The same rules for text; `source` names it in messages.
  static Document from_text(std::string_view text, const std::string& source, Findings& findings);

  // "training.epochs=3". The key is dotted; the value is YAML: [lists], {maps} and "quoted text" as in a file, anything
  // else is one plain value as it stands, `#` and `: ` included, nothing or `null` is null. It replaces the whole value
  // of the key, also where that is a list or a map. Later overrides win.
  void apply_override(std::string_view assignment, Findings& findings);

  const Value& root() const { return root_; }
  const std::string& source() const { return source_; }

  // False where the file could not be read as YAML: then root() holds the overrides alone.
  bool is_whole() const { return wholeness_ == Wholeness::kWhole; }

  struct Override {
    std::string key;
    int argument;  // 1 for the first
  };
  const std::vector<Override>& overrides() const { return overrides_; }

  // The same source and overrides with another tree.
  Document with_root(Value root) const;

 private:
  enum class Wholeness { kWhole, kOverridesOnly };

  Document(std::string source, Value root, Wholeness wholeness)
      : source_(std::move(source)), root_(std::move(root)), wholeness_(wholeness) {}

  std::string source_;
  Value root_;
  Wholeness wholeness_;
  std::vector<Override> overrides_;
  int num_overrides_ = 0;  // malformed ones count too
};

// Where the value of each key stands that the document sets, by dotted key.
std::map<std::string, Place> places_of_keys(const Document& document);

// A message that begins with a key, "layer: cudnn needs a CUDA GPU", with the place in front where that key is set.
std::string with_place(const std::string& message, const std::map<std::string, Place>& places);

// Puts `value` at a dotted key below the map `root`, making maps on the way. A value in the way that is neither a map
// nor nothing is a finding at `value`'s place.
void assign(Value& root, std::string_view dotted_key, const Place& key_place, Value value, Findings& findings);

}  // namespace rnnlab::config
