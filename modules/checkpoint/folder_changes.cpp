#include "checkpoint/folder_changes.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include <algorithm>
#include <system_error>

#include "base/error.h"
#include "checkpoint/names.h"
#include "results/file_descriptor.h"
#include "results/files.h"

namespace rnnlab {
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
  sync_folder(parent_of(folder));  // also where it was there: whoever made it may not have come so far
}

void move_into_place(const fs::path& from, const fs::path& to) {
  if (uninterrupted([&] { return ::rename(from.c_str(), to.c_str()); }) == 0) return;
  if (!is_in_the_way(errno)) throw_system_error(to, "replace", errno);
  if (exchange(from, to) == 0) return;
  if (errno != EINVAL && errno != ENOSYS) throw_system_error(to, "replace", errno);
  remove_checkpoint(to.parent_path(), step_of(to.filename().string()).value());
  rename_or_throw(from, to);
}

void remove_whole(const fs::path& path) {
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
  remove_whole(removed);
}

void remove_leftovers(const fs::path& folder) {
  for (const std::string& name : names_in(folder))
    if (is_leftover(name)) remove_whole(folder / name);
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

}  // namespace rnnlab
