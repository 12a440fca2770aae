// What a checkpoint consists of: the size and SHA-256 of each file, in a sealed JSON file beside them (sealed_json.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "results/file_version.h"

namespace rnnlab {

struct FileRecord {
  int64_t bytes = 0;
  std::string sha256;  // 64 lower-case digits

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("bytes", self.bytes);
    field("sha256", self.sha256);
  }
  bool operator==(const FileRecord&) const = default;
};

struct Manifest {
  int64_t schema_version = kFileVersion;
  int64_t step = 0;
  std::map<std::string, FileRecord> files;

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("schema_version", self.schema_version);
    field("step", self.step);
    field("files", self.files);
  }
  bool operator==(const Manifest&) const = default;
};

std::string manifest_text(const Manifest& manifest);

// UserError kCheckpoint, with `file`: a seal that does not fit, another schema version, a missing or unknown key.
Manifest parse_manifest(const std::string& text, const std::string& file);

}  // namespace rnnlab
