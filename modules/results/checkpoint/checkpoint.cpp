// SPDX-License-Identifier: Apache-2.0
#include "results/checkpoint/checkpoint.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <system_error>

#include "base/error.h"
#include "base/folder.h"
#include "base/numbers.h"
#include "base/sha256.h"
#include "base/system/locks.h"
#include "base/text.h"

namespace rnnlab {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Returns the text between `begin` and `end`, or nullopt if `text` does not have both.
std::optional<std::string> between(const std::string& text, std::string_view begin, std::string_view end) {
  if (text.size() < begin.size() + end.size() || !text.starts_with(begin) || !text.ends_with(end)) return std::nullopt;
  return text.substr(begin.size(), text.size() - begin.size() - end.size());
}

}  // namespace

std::string step_folder_name(int64_t step) { return fmt::format("step-{:06}", step); }

std::optional<int64_t> step_of(const std::string& name) {
  const auto digits = between(name, "step-", "");
  if (!digits || !is_number(*digits)) return std::nullopt;
  const auto step = parse_int64(digits->substr(std::min(digits->find_first_not_of('0'), digits->size() - 1)));
  if (!step || step_folder_name(*step) != name) return std::nullopt;
  return step;
}

std::string temporary_name(int64_t step) { return fmt::format(".{}.tmp-{}", step_folder_name(step), ::getpid()); }

std::string removed_name(int64_t step) { return fmt::format(".{}.old-{}", step_folder_name(step), ::getpid()); }

bool is_leftover(const std::string& name) {
  if (const auto process = between(name, fmt::format(".{}.", kBestFile), ".tmp")) return is_number(*process);
  const size_t dash = name.rfind('-');
  if (!name.starts_with('.') || dash == std::string::npos || !is_number(name.substr(dash + 1))) return false;
  for (const char* kind : {".tmp", ".old"})
    if (const auto step = between(name.substr(0, dash), ".", kind)) return step_of(*step).has_value();
  return false;
}

Json unsealed(const std::string& text, const std::string& file) {
  if (!has_fitting_seal(text))
    throw_checkpoint_error(
        "{}: its last line, the SHA-256, does not match its content; the file is damaged or was cut off", file);
  return with_checkpoint_errors([&] {
    Json object = parse_json(text, file);
    object.erase(kSealKey);
    return object;
  });
}

std::string manifest_text(const Manifest& manifest) { return sealed_text(to_json(manifest)); }

Manifest parse_manifest(const std::string& text, const std::string& file) {
  return with_checkpoint_errors([&] { return record_from<Manifest>(unsealed(text, file), file); });
}

namespace {

namespace fs = std::filesystem;

constexpr mode_t kAllRightsLessUmask = 0777;

int make(const fs::path& path) {
  return uninterrupted([&] { return ::mkdir(path.c_str(), kAllRightsLessUmask); });
}

fs::path parent_of(const fs::path& folder) {
  const fs::path parent = (folder / "").parent_path().parent_path();
  return parent.empty() ? "." : parent;
}

bool is_in_the_way(int error_number) { return error_number == EEXIST || error_number == ENOTEMPTY; }

void rename_or_throw(const fs::path& from, const fs::path& to) {
  if (uninterrupted([&] { return ::rename(from.c_str(), to.c_str()); }) != 0) throw_system_error(to, "replace", errno);
}

int exchange(const fs::path& a, const fs::path& b) {
  return uninterrupted([&] { return ::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE); });
}

}  // namespace

void make_folder(const fs::path& path) {
  if (make(path) != 0) throw_system_error(path, "make", errno);
}

void make_durable_folder(const fs::path& folder) {
  if (make(folder) != 0 && errno != EEXIST) throw_system_error(folder, "make", errno);
  // The folder is also synced if it existed, because the process that made it may not have synced it.
  sync_folder(parent_of(folder));
}

void move_into_place(const fs::path& from, const fs::path& to) {
  if (uninterrupted([&] { return ::rename(from.c_str(), to.c_str()); }) == 0) return;
  if (!is_in_the_way(errno)) throw_system_error(to, "replace", errno);
  if (exchange(from, to) == 0) return;
  if (errno != EINVAL && errno != ENOSYS) throw_system_error(to, "replace", errno);
  remove_checkpoint(to.parent_path(), step_of(to.filename().string()).value());
  rename_or_throw(from, to);
}

void remove_recursively(const fs::path& path) {
  std::error_code error;
  do {
    fs::remove_all(path, error);
  } while (error == std::errc::interrupted);
  if (error) throw_system_error(path, "remove", error.value());
}

void remove_checkpoint(const fs::path& folder, int64_t step) {
  const fs::path removed = folder / removed_name(step);
  rename_or_throw(folder / step_folder_name(step), removed);
  sync_folder(folder);
  remove_recursively(removed);
}

void remove_leftovers(const fs::path& folder) {
  for (const std::string& name : names_in(folder))
    if (is_leftover(name)) remove_recursively(folder / name);
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  do {
    names.clear();
    fs::directory_iterator entry(folder, error);
    for (; !error && entry != end(entry); entry.increment(error)) names.push_back(entry->path().filename().string());
  } while (error == std::errc::interrupted);
  if (error && error != std::errc::no_such_file_or_directory) throw_system_error(folder, "read", error.value());
  std::ranges::sort(names);
  return names;
}

namespace {

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

// The temporary folder is removed unless it is published.
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
    remove_recursively(path_);  // the earlier checkpoint of this step, if one existed
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
  RNNLAB_INVARIANT(text.size() <= kMostStateBytes, "the state of a checkpoint must not be larger than kMostStateBytes");
  RNNLAB_INVARIANT(parse_json(text, kStateFile) == state,
                   "the state of a checkpoint must be the same after it is written and parsed");
  return text;
}

// ---- reading ----

// A renamed checkpoint would be treated as newer or older than it is.
void check_step(const fs::path& checkpoint, const Manifest& manifest) {
  const auto named = step_of(normalized_path(checkpoint).filename().string());
  if (named && *named != manifest.step)
    throw_checkpoint_error("{}: the folder's name says step {}, its {} says {}; restore its name", checkpoint.string(),
                           *named, kManifestFile, manifest.step);
}

void check_parts(const std::string& file, const Manifest& manifest) {
  for (const char* part : kParts)
    if (!manifest.files.contains(part)) throw_checkpoint_error("{}: files.{} is missing", file, part);
  for (const auto& [name, record] : manifest.files)
    if (std::ranges::count(kParts, name) == 0)
      throw_checkpoint_error("{}: files.{} is not part of a checkpoint", file, in_quotes(name));
}

Manifest read_manifest(const fs::path& checkpoint) {
  const fs::path path = checkpoint / kManifestFile;
  const Manifest manifest =
      with_checkpoint_errors([&] { return parse_manifest(read_file(path, kMostManifestBytes), path.string()); });
  check_parts(path.string(), manifest);
  check_step(checkpoint, manifest);
  return manifest;
}

void check_size(const fs::path& path, const FileRecord& wanted) {
  const auto bytes = num_bytes_of(path);
  if (bytes && *bytes != wanted.bytes)  // opening the file will report the error
    throw_checkpoint_error("{}: {} bytes, expected {} by the manifest; the file is damaged or was cut off",
                           path.string(), *bytes, wanted.bytes);
}

void check_digest(const fs::path& path, const Sha256& digest, const FileRecord& wanted) {
  if (digest.hex() != wanted.sha256)
    throw_checkpoint_error("{}: SHA-256 {}, expected {} by the manifest; the file is damaged", path.string(),
                           digest.hex(), in_quotes(wanted.sha256, 200));
}

void verify_file(const fs::path& path, const FileRecord& wanted) {
  check_size(path, wanted);
  Sha256 digest;
  with_checkpoint_errors([&] { read_pieces(path, [&](std::string_view piece) { digest.update(piece); }); });
  check_digest(path, digest, wanted);
}

std::string read_verified(const fs::path& path, const FileRecord& wanted, int64_t max_bytes) {
  check_size(path, wanted);
  std::string bytes = with_checkpoint_errors([&] { return read_file(path, max_bytes); });
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
  return with_checkpoint_errors([&] { return parse_json(text, path.string()); });
}

}  // namespace

fs::path save_checkpoint(const fs::path& folder, int64_t step, const CheckpointContents& contents) {
  RNNLAB_INVARIANT(step >= 0, "the step of a checkpoint must not be negative");
  const SafetensorsImage model(contents.model, contents.model_metadata);
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
