// SPDX-License-Identifier: Apache-2.0
// A checkpoint: tensors, state and settings of one step in a folder of files, sealed by hashes. It is written
// completely or not at all, and it is verified when it is read.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/system/files.h"
#include "base/system/json_fields.h"
#include "results/checkpoint/safetensors.h"

namespace rnnlab {

// The names in a folder of checkpoints: step-000123, and leftovers of an interrupted save or removal.

inline constexpr const char* kBestFile = "best.json";

std::string step_folder_name(int64_t step);               // "step-000123"
std::optional<int64_t> step_of(const std::string& name);  // inverse of step_folder_name; nullopt for every other name
std::string temporary_name(int64_t step);                 // ".step-000123.tmp-<process>": being written
std::string removed_name(int64_t step);                   // ".step-000123.old-<process>": being removed
bool is_leftover(const std::string& name);                // one of the two names above, or best.json being written

// Reads a sealed JSON file (base/system/json_fields.h) of a checkpoint and returns its object without the seal. Throws
// UserError kCheckpoint with the name `file` if the seal does not match.
nlohmann::ordered_json unsealed(const std::string& text, const std::string& file);

// The manifest holds the size and SHA-256 of each file of a checkpoint, in a sealed JSON file next to these files.
struct FileRecord {
  int64_t bytes = 0;
  std::string sha256;  // 64 lower-case digits

  RNNLAB_FIELDS(bytes, sha256)
  bool operator==(const FileRecord&) const = default;
};

struct Manifest {
  int64_t schema_version = kFileVersion;
  int64_t step = 0;
  std::map<std::string, FileRecord> files;

  RNNLAB_FIELDS(schema_version, step, files)
  bool operator==(const Manifest&) const = default;
};

std::string manifest_text(const Manifest& manifest);

// Throws UserError kCheckpoint, with `file`, for a wrong seal, a different schema version, and a missing or unknown
// key.
Manifest parse_manifest(const std::string& text, const std::string& file);

// The operations on a folder of checkpoints. A checkpoint is added, replaced or removed by one rename, which is atomic.
// All operations throw UserError kDevice on failure, retry after EINTR, and do not follow links.

void make_folder(const std::filesystem::path& path);

// Creates the folder if it is missing. When the function returns, the folder survives a loss of power.
void make_durable_folder(const std::filesystem::path& folder);

// Renames the folder `from` to `to`. If `to` exists, the two folders exchange their names atomically; on a file system
// without this operation, `to` is removed first.
void move_into_place(const std::filesystem::path& from, const std::filesystem::path& to);

// Removes a file, a link or a folder with its content. A missing path is not an error.
void remove_recursively(const std::filesystem::path& path);

// Renames the checkpoint before it removes the files, so that a partly removed checkpoint has a different name.
void remove_checkpoint(const std::filesystem::path& folder, int64_t step);

// Removes the leftovers of interrupted saves and removals. The folder must be locked (base/system/locks.h), so that
// these files do not belong to a running process.
void remove_leftovers(const std::filesystem::path& folder);

// Returns the names in a folder, sorted; empty if the folder is missing.
std::vector<std::string> names_in(const std::filesystem::path& folder);

// One checkpoint: a folder of model.safetensors, optimizer.safetensors, state.json and manifest.json. The manifest
// holds the size and SHA-256 of the first three files and seals itself, so a changed bit or missing byte in any file is
// detected, and the message names the file. A checkpoint appears by one rename of a temporary folder, after every file
// was synced. The caller defines the content of the state. Several checkpoints in one folder are in
// checkpoint_folder.h.

inline constexpr const char* kModelFile = "model.safetensors";
inline constexpr const char* kOptimizerFile = "optimizer.safetensors";
inline constexpr const char* kStateFile = "state.json";
inline constexpr const char* kManifestFile = "manifest.json";

// The contents to save.
struct CheckpointContents {
  std::vector<TensorView> model;
  std::vector<TensorView> optimizer;
  nlohmann::ordered_json state;       // at most 64 MiB of text; its numbers are finite and its strings are UTF-8
  std::shared_ptr<const void> owner;  // keeps the bytes of the tensors alive; null if another object does
  TensorMetadata model_metadata = {};
};

// The contents as they were saved, in memory of this object.
struct Checkpoint {
  int64_t step = 0;
  TensorFile model;
  TensorFile optimizer;
  nlohmann::ordered_json state;
};

// Writes <folder>/step-000123, which is durable when the function returns, and returns its path. Creates `folder` (not
// its parents) if it is missing, and first removes leftovers of an interrupted save. An earlier checkpoint of the same
// step is replaced atomically. Processes that save in one folder wait for each other. Throws UserError kDevice: then
// nothing has changed, except that the new checkpoint may exist completely if only the last steps failed. `folder` must
// not be a link (kDevice).
std::filesystem::path save_checkpoint(const std::filesystem::path& folder, int64_t step,
                                      const CheckpointContents& contents);

// Reads every file of the checkpoint with little memory. Throws UserError kCheckpoint with the first file that differs
// from the saved file.
Manifest verify_checkpoint(const std::filesystem::path& checkpoint);

// Verifies the checkpoint and returns its contents, parsed from the hashed bytes. Throws UserError kCheckpoint.
Checkpoint load_checkpoint(const std::filesystem::path& checkpoint);

}  // namespace rnnlab
