// A checkpoint: tensors, state and settings of one step in a folder of files, sealed by hashes. It is there whole or
// not at all, and it is verified when it is read.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "system/file_version.h"
#include "system/json_fields.h"

namespace rnnlab {

// The names in a folder of checkpoints: step-000123, and what may be left of a save or removal that was interrupted.

inline constexpr const char* kBestFile = "best.json";

std::string step_folder_name(int64_t step);               // "step-000123"
std::optional<int64_t> step_of(const std::string& name);  // its inverse: nothing for any other name
std::string temporary_name(int64_t step);                 // ".step-000123.tmp-<process>": being written
std::string removed_name(int64_t step);                   // ".step-000123.old-<process>": being removed
bool is_leftover(const std::string& name);                // one of these two, or best.json being written

// Reading a sealed JSON file (system/json_fields.h) of a checkpoint: one whose seal does not fit is refused.

// The object without its seal. UserError kCheckpoint, with `file`.
nlohmann::ordered_json unsealed(const std::string& text, const std::string& file);

// What a checkpoint consists of: the size and SHA-256 of each file, in a sealed JSON file beside them (checkpoint.h).

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

// The changes that a folder of checkpoints goes through. What makes a checkpoint appear, give way or disappear is one
// rename each, which either happened or did not. All fail with UserError kDevice, go on after EINTR, and follow no
// links.

void make_folder(const std::filesystem::path& path);

// Where it is missing; it lasts through a loss of power when this returns.
void make_durable_folder(const std::filesystem::path& folder);

// Renames the folder `from` to `to`. A folder that is there already takes the name `from` in the same moment, or, where
// the file system cannot do that, is removed first.
void move_into_place(const std::filesystem::path& from, const std::filesystem::path& to);

// A file, a link or a folder with all that is in it. Nothing there is fine.
void remove_whole(const std::filesystem::path& path);

// Under another name first, so that half a checkpoint never looks like one.
void remove_checkpoint(const std::filesystem::path& folder, int64_t step);

// What interrupted saves and removals left. The folder must be locked (system/locks.h), so that what looks left
// over is.
void remove_leftovers(const std::filesystem::path& folder);

// The names in a folder, sorted; none where it is missing.
std::vector<std::string> names_in(const std::filesystem::path& folder);

// One checkpoint: a folder of model.safetensors, optimizer.safetensors, state.json and manifest.json, which holds the
// size and SHA-256 of the others and seals itself: a changed bit or missing byte in any of them is noticed and named.
// It appears whole, by one rename of a temporary folder after every file was synced, or not at all.
// What the state says is the caller's; checkpoint_folder.h has several checkpoints side by side.

inline constexpr const char* kModelFile = "model.safetensors";
inline constexpr const char* kOptimizerFile = "optimizer.safetensors";
inline constexpr const char* kStateFile = "state.json";
inline constexpr const char* kManifestFile = "manifest.json";

// To be saved.
struct CheckpointContents {
  std::vector<TensorView> model;
  std::vector<TensorView> optimizer;
  nlohmann::ordered_json state;       // at most 64 MiB of text; numbers in it are finite, strings UTF-8
  std::shared_ptr<const void> owner;  // keeps the bytes of the tensors alive; null where something else does
};

// As it was saved, in memory of its own.
struct Checkpoint {
  int64_t step = 0;
  TensorFile model;
  TensorFile optimizer;
  nlohmann::ordered_json state;
};

// Writes <folder>/step-000123, durable when this returns, and returns its path. Makes `folder` (not its parents) where
// it is missing; first removes what an interrupted save left there. An earlier checkpoint of the same step is replaced
// in one go. Saves of several processes in one folder wait for one another. UserError kDevice: nothing has changed
// then, except that the new checkpoint may be there, whole, where only the last steps failed; also where `folder` is a
// link.
std::filesystem::path save_checkpoint(const std::filesystem::path& folder, int64_t step,
                                      const CheckpointContents& contents);

// Reads every file of the checkpoint in little memory. UserError kCheckpoint names the first that is not as it was
// saved.
Manifest verify_checkpoint(const std::filesystem::path& checkpoint);

// The same, keeping what was read: the bytes that are parsed are those that were hashed. UserError kCheckpoint.
Checkpoint load_checkpoint(const std::filesystem::path& checkpoint);

}  // namespace rnnlab
