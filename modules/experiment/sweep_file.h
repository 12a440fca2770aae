// Which runs a sweep consists of and where each of them is, in one file beside the run folders, so that a sweep that
// was stopped can go on: <out>/sweep-<start time>-<process>.json. A name that is taken gets -2, -3 and so on, because
// processes in different containers may have the same number. It is replaced atomically whenever a run gets its
// folder, and removed once every run has had its turn. One process at a time works on a sweep.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "results/locks.h"

namespace rnnlab {

struct SweepEntry {
  std::string label;                  // "device=cpu layer=naive"
  std::string experiment;             // as YAML
  std::optional<std::string> folder;  // of the run, absolute; none before it has one

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("label", self.label);
    field("experiment", self.experiment);
    field("folder", self.folder);
  }
};

class SweepFile {
 public:
  // A new file in `out`, which is made where it is missing. UserError kDevice.
  SweepFile(const std::filesystem::path& out, std::vector<SweepEntry> entries);

  // One that is there. UserError kUsage where it is not readable as one, kDevice where another process is at work on
  // it.
  explicit SweepFile(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  const std::string& lock_warning() const { return lock_.warning(); }
  const std::vector<SweepEntry>& entries() const { return entries_; }

  // Of all commands that went on with the sweep, in their order: they hold for its runs that are still to come, too.
  const std::vector<std::string>& overrides() const { return overrides_; }

  // UserError kDevice.
  void add_overrides(const std::vector<std::string>& more);
  void set_folder(size_t entry, const std::filesystem::path& folder);
  void remove() const;

 private:
  void write() const;

  std::filesystem::path path_;
  FileLock lock_;
  std::vector<SweepEntry> entries_;
  std::vector<std::string> overrides_;
};

}  // namespace rnnlab
