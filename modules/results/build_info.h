// How this program was built, as far as it bears on its times, and from which sources.
#pragma once

#include <optional>
#include <string>

#include "results/warning.h"

namespace rnnlab {

struct BuildInfo {
  std::string type;      // CMake's: "Release"
  std::string compiler;  // "gcc 12.2.0"
  bool optimized = false;
  bool assertions = false;   // NDEBUG is not set
  std::string sanitizer;     // "AddressSanitizer" or ""
  std::string git_revision;  // of the sources, 40 hex digits, or "unknown" outside a git checkout
  bool git_dirty = false;    // the sources differ from that revision

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("type", self.type);
    field("compiler", self.compiler);
    field("optimized", self.optimized);
    field("assertions", self.assertions);
    field("sanitizer", self.sanitizer);
    field("git_revision", self.git_revision);
    field("git_dirty", self.git_dirty);
  }
};

// Of the running program.
BuildInfo build_info();

// What must be equal between compared runs: "Release", or "Debug, not optimised, AddressSanitizer".
std::string build_kind(const BuildInfo& build);

// Why times of this build mean nothing, or nothing when they do.
std::optional<Warning> build_warning(const BuildInfo& build);

}  // namespace rnnlab
