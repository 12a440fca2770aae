// The changes that a folder of checkpoints goes through. What makes a checkpoint appear, give way or disappear is one
// rename each, which either happened or did not. All fail with UserError kDevice, go on after EINTR, and follow no
// links.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace rnnlab {

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

// What interrupted saves and removals left. The folder must be locked (results/locks.h), so that what looks left
// over is.
void remove_leftovers(const std::filesystem::path& folder);

// The names in a folder, sorted; none where it is missing.
std::vector<std::string> names_in(const std::filesystem::path& folder);

}  // namespace rnnlab
