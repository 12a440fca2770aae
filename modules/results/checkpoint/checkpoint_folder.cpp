// SPDX-License-Identifier: Apache-2.0
#include "results/checkpoint/checkpoint_folder.h"

#include <algorithm>
#include <ranges>
#include <system_error>

#include "base/error.h"
#include "base/fields.h"
#include "base/folder.h"
#include "base/system/files.h"
#include "base/system/json_fields.h"
#include "base/system/locks.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;

struct BestMark {
  int64_t schema_version = kFileVersion;
  int64_t step = 0;

  RNNLAB_FIELDS(schema_version, step)
};

std::optional<int64_t> best_step(const fs::path& folder) {
  constexpr int64_t kMostBytes = 1 << 12;
  const fs::path path = folder / kBestFile;
  std::error_code error;
  if (fs::symlink_status(path, error).type() == fs::file_type::not_found) return std::nullopt;
  return with_checkpoint_errors([&] {
    const Json json = unsealed(read_file(path, kMostBytes), path.string());
    return record_from<BestMark>(json, path.string()).step;
  });
}

// Returns why the checkpoint does not verify, or "".
std::string verification_error(const fs::path& checkpoint) {
  try {
    verify_checkpoint(checkpoint);
    return "";
  } catch (const UserError& error) {
    return error.what();
  }
}

// Returns the checkpoints up to step `newest`, the newest first.
std::vector<CheckpointPlace> up_to(const fs::path& folder, int64_t newest) {
  std::vector<CheckpointPlace> places = list_checkpoints(folder);
  std::erase_if(places, [&](const CheckpointPlace& place) { return place.step > newest; });
  std::ranges::reverse(places);
  return places;
}

}  // namespace

std::vector<CheckpointPlace> list_checkpoints(const fs::path& folder) {
  std::vector<CheckpointPlace> places;
  for (const std::string& name : names_in(folder))
    if (const auto step = step_of(name); step && is_folder(folder / name)) places.push_back({*step, folder / name});
  std::ranges::sort(places, {}, &CheckpointPlace::step);
  return places;
}

LatestCheckpoint latest_checkpoint(const fs::path& folder) {
  LatestCheckpoint latest;
  for (const CheckpointPlace& place : std::views::reverse(list_checkpoints(folder))) {
    const std::string error_text = verification_error(place.path);
    if (error_text.empty()) {
      latest.place = place;
      break;
    }
    latest.notes.push_back(error_text);
  }
  return latest;
}

std::optional<CheckpointPlace> best_checkpoint(const fs::path& folder) {
  const auto step = best_step(folder);
  if (!step) return std::nullopt;
  CheckpointPlace place{*step, folder / step_folder_name(*step)};
  if (!is_folder(place.path))
    throw_checkpoint_error("{}: names step {}, but {} is missing; use a different checkpoint",
                           (folder / kBestFile).string(), *step, place.path.string());
  return place;
}

void mark_best_checkpoint(const fs::path& folder, int64_t step) {
  // Without the lock, another process would remove the temporary file as a leftover.
  const FolderLock lock(folder, WhenTaken::kWait);
  RNNLAB_INVARIANT(is_folder(folder / step_folder_name(step)),
                   "a checkpoint must exist before it is marked as the best");
  write_file_atomically(folder / kBestFile, sealed_text(to_json(BestMark{.step = step})));
}

void prune_checkpoints(const fs::path& folder, int64_t newest, int64_t keep) {
  RNNLAB_INVARIANT(keep >= 1, "at least one checkpoint must be kept");
  const FolderLock lock(folder, WhenTaken::kWait);
  remove_leftovers(folder);
  const std::vector<CheckpointPlace> places = up_to(folder, newest);
  if (std::ssize(places) <= keep) return;
  const auto best = best_step(folder);
  const auto older = std::ranges::find_if(places | std::views::drop(1), [](const CheckpointPlace& place) {
    return verification_error(place.path).empty();
  });
  if (older == places.end()) return;
  const auto num_kept = std::max(keep, older - places.begin() + 1);
  for (const CheckpointPlace& place : places | std::views::drop(num_kept))
    if (place.step != best) remove_checkpoint(folder, place.step);
}

CheckpointWriter::CheckpointWriter(std::filesystem::path folder, int64_t keep)
    : folder_(std::move(folder)), keep_(keep) {
  RNNLAB_INVARIANT(keep >= 1, "at least one checkpoint must be kept");
}

void CheckpointWriter::submit(int64_t step, std::function<CheckpointContents()> contents, CheckpointKind kind) {
  wait();
  const auto save = [this, step, kind, contents = std::move(contents)] {
    save_checkpoint(folder_, step, contents());
    if (kind == CheckpointKind::kBest) mark_best_checkpoint(folder_, step);
    prune_checkpoints(folder_, step, keep_);
  };
  try {
    pending_ = std::async(std::launch::async, save);
  } catch (const std::system_error&) {
    save();  // the system refused a thread
  }
}

void CheckpointWriter::wait() {
  if (pending_.valid()) pending_.get();
}

}  // namespace rnnlab
