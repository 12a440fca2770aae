#include "checkpoint/checkpoint.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/folder.h"
#include "base/sha256.h"
#include "base/text.h"
#include "checkpoint/failure.h"
#include "checkpoint/folder_changes.h"
#include "checkpoint/names.h"
#include "results/files.h"
#include "results/json_fields.h"
#include "results/locks.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostManifestBytes = 1 << 16;
constexpr int64_t kMostStateBytes = 1 << 26;
constexpr std::array<const char*, 3> kParts = {kModelFile, kOptimizerFile, kStateFile};

// ---- writing ----

using Pieces = std::vector<std::string_view>;

FileRecord record_of(const Pieces& pieces) {
  Sha256 digest;
  FileRecord record;
  for (const std::string_view piece : pieces) {
    digest.update(piece);
    record.bytes += static_cast<int64_t>(piece.size());
  }
  record.sha256 = digest.hex();
  return record;
}

// Goes away unless it is published.
class NewCheckpoint {
 public:
  NewCheckpoint(const fs::path& folder, int64_t step)
      : folder_(folder), path_(folder / temporary_name(step)), manifest_{.step = step, .files = {}} {
    make_folder(path_);
  }
  ~NewCheckpoint() {
    std::error_code ignored;
    if (!is_published_) fs::remove_all(path_, ignored);
  }
  NewCheckpoint(const NewCheckpoint&) = delete;
  NewCheckpoint& operator=(const NewCheckpoint&) = delete;

  void add(const char* name, const Pieces& pieces) {
    manifest_.files[name] = record_of(pieces);
    write_new_file(path_ / name, pieces);
  }

  fs::path publish() {
    const std::string manifest = manifest_text(manifest_);
    write_new_file(path_ / kManifestFile, Pieces{manifest});
    sync_folder(path_);
    fs::path target = folder_ / step_folder_name(manifest_.step);
    move_into_place(path_, target);
    is_published_ = true;
    sync_folder(folder_);
    remove_whole(path_);  // the earlier checkpoint of this step, if there was one
    return target;
  }

 private:
  fs::path folder_;
  fs::path path_;
  Manifest manifest_;
  bool is_published_ = false;
};

std::string state_text(const Json& state) {
  const std::string text = json_text(state);
  RNNLAB_INVARIANT(text.size() <= kMostStateBytes, "the state of a checkpoint is too large");
  RNNLAB_INVARIANT(parse_json(text, kStateFile) == state, "the state of a checkpoint would not read back");
  return text;
}

// ---- reading ----

// A checkpoint that someone renamed would be taken for newer or older than it is.
void check_step(const fs::path& checkpoint, const Manifest& manifest) {
  const auto named = step_of(whole_path(checkpoint).filename().string());
  if (named && *named != manifest.step)
    refuse_checkpoint("{}: the folder's name says step {}, its {} says {}; give it its name back", checkpoint.string(),
                      *named, kManifestFile, manifest.step);
}

void check_parts(const std::string& file, const Manifest& manifest) {
  for (const char* part : kParts)
    if (!manifest.files.contains(part)) refuse_checkpoint("{}: files.{} is missing", file, part);
  for (const auto& [name, record] : manifest.files)
    if (std::ranges::count(kParts, name) == 0)
      refuse_checkpoint("{}: files.{} is not part of a checkpoint", file, in_quotes(name));
}

Manifest read_manifest(const fs::path& checkpoint) {
  const fs::path path = checkpoint / kManifestFile;
  const Manifest manifest =
      reading_checkpoint([&] { return parse_manifest(read_file(path, kMostManifestBytes), path.string()); });
  check_parts(path.string(), manifest);
  check_step(checkpoint, manifest);
  return manifest;
}

void check_size(const fs::path& path, const FileRecord& wanted) {
  std::error_code error;
  const auto bytes = static_cast<int64_t>(fs::file_size(path, error));
  if (!error && bytes != wanted.bytes)  // opening it will give the error
    refuse_checkpoint("{}: {} bytes, expected {} by the manifest beside it; the file is damaged or was cut off",
                      path.string(), bytes, wanted.bytes);
}

void check_digest(const fs::path& path, const Sha256& digest, const FileRecord& wanted) {
  if (digest.hex() != wanted.sha256)
    refuse_checkpoint("{}: SHA-256 {}, expected {} by the manifest beside it; the file is damaged", path.string(),
                      digest.hex(), in_quotes(wanted.sha256, 200));
}

void verify_file(const fs::path& path, const FileRecord& wanted) {
  check_size(path, wanted);
  Sha256 digest;
  reading_checkpoint([&] { read_pieces(path, [&](std::string_view piece) { digest.update(piece); }); });
  check_digest(path, digest, wanted);
}

std::string read_verified(const fs::path& path, const FileRecord& wanted, int64_t max_bytes) {
  check_size(path, wanted);
  std::string bytes = reading_checkpoint([&] { return read_file(path, max_bytes); });
  check_digest(path, Sha256().update(bytes), wanted);
  return bytes;
}

TensorFile load_tensors(const fs::path& checkpoint, const char* part, const Manifest& manifest) {
  constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
  const fs::path path = checkpoint / part;
  return parse_safetensors(read_verified(path, manifest.files.at(part), kNoLimit), path.string());
}

Json load_state(const fs::path& checkpoint, const Manifest& manifest) {
  const fs::path path = checkpoint / kStateFile;
  const std::string text = read_verified(path, manifest.files.at(kStateFile), kMostStateBytes);
  return reading_checkpoint([&] { return parse_json(text, path.string()); });
}

}  // namespace

fs::path save_checkpoint(const fs::path& folder, int64_t step, const CheckpointContents& contents) {
  RNNLAB_INVARIANT(step >= 0, "a checkpoint of a negative step");
  const SafetensorsImage model(contents.model);
  const SafetensorsImage optimizer(contents.optimizer);
  const std::string state = state_text(contents.state);
  make_durable_folder(folder);
  const FolderLock lock(folder, WhenTaken::kWait);
  remove_leftovers(folder);
  NewCheckpoint checkpoint(folder, step);
  checkpoint.add(kModelFile, model.pieces());
  checkpoint.add(kOptimizerFile, optimizer.pieces());
  checkpoint.add(kStateFile, {state});
  return checkpoint.publish();
}

Manifest verify_checkpoint(const fs::path& checkpoint) {
  Manifest manifest = read_manifest(checkpoint);
  for (const auto& [name, record] : manifest.files) verify_file(checkpoint / name, record);
  return manifest;
}

Checkpoint load_checkpoint(const fs::path& checkpoint) {
  const Manifest manifest = read_manifest(checkpoint);
  return {.step = manifest.step,
          .model = load_tensors(checkpoint, kModelFile, manifest),
          .optimizer = load_tensors(checkpoint, kOptimizerFile, manifest),
          .state = load_state(checkpoint, manifest)};
}

}  // namespace rnnlab
