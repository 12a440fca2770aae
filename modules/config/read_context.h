// What one reading of a document shares: the document, where complaints go, and which keys already have one.
#pragma once

#include <string>
#include <vector>

#include "config/document.h"
#include "config/findings.h"
#include "config/spec.h"

namespace rnnlab::config {

class ReadContext {
 public:
  ReadContext(const Document& document, const StructSpec& root, Findings& findings)
      : document_(document), root_(root), findings_(findings) {}

  const Document& document() const { return document_; }
  const StructSpec& root() const { return root_; }
  Findings& findings() { return findings_; }

  // Rules that name the dotted key stay silent from now on: its value is not what the user meant.
  void mark_wrong(const std::string& key) { wrong_keys_.push_back(key); }

  // Whether the key, a group that it is in, or a key below it is marked.
  bool is_wrong(const std::string& key) const;

 private:
  const Document& document_;
  const StructSpec& root_;
  Findings& findings_;
  std::vector<std::string> wrong_keys_;
};

}  // namespace rnnlab::config
