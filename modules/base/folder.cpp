// SPDX-License-Identifier: Apache-2.0
#include "base/folder.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <system_error>

#include "base/numbers.h"
#include "base/text.h"

namespace rnnlab {

std::vector<std::string> sibling_names(const std::filesystem::path& path) {
  constexpr size_t kMostNames = 2000;
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder_of(path), error);
  for (; !error && entry != end(entry) && names.size() < kMostNames; entry.increment(error))
    names.push_back(entry->path().filename().string());
  return names;
}

bool path_exists(const std::filesystem::path& path) {
  std::error_code unreadable;
  return std::filesystem::exists(path, unreadable);
}

bool is_file(const std::filesystem::path& path) {
  std::error_code unreadable;
  return std::filesystem::is_regular_file(path, unreadable);
}

bool is_folder(const std::filesystem::path& path) {
  std::error_code unreadable;
  return std::filesystem::is_directory(path, unreadable);
}

std::filesystem::path link_target(const std::filesystem::path& path) {
  std::error_code unreadable;
  return std::filesystem::read_symlink(path, unreadable);
}

std::optional<int64_t> num_bytes_of(const std::filesystem::path& file) {
  std::error_code unreadable;
  const auto num_bytes = static_cast<int64_t>(std::filesystem::file_size(file, unreadable));
  return unreadable ? std::nullopt : std::optional(num_bytes);
}

namespace {

bool is_link_to_sibling(const std::filesystem::path& path) {
  const std::filesystem::path target = link_target(path);
  return !target.empty() && !target.has_parent_path();
}

}  // namespace

std::vector<std::filesystem::path> folders_with(const std::filesystem::path& folder,
                                                std::initializer_list<const char*> any_of) {
  std::vector<std::filesystem::path> found;
  std::error_code unreadable;
  for (std::filesystem::directory_iterator entry(folder, unreadable); entry != end(entry);
       entry.increment(unreadable)) {
    const auto is_there = [&](const char* name) { return path_exists(entry->path() / name); };
    if (std::ranges::any_of(any_of, is_there) && !is_link_to_sibling(entry->path())) found.push_back(entry->path());
  }
  std::ranges::sort(found);
  return found;
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

std::filesystem::path normalized_path(const std::filesystem::path& path) {
  return std::filesystem::absolute(path / "").lexically_normal().parent_path();
}

std::string system_text(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::string value_of_key(std::string_view text, std::string_view key, char separator) {
  for (const std::string& line : split(text, '\n')) {
    const size_t at = line.find(separator);
    if (at == std::string::npos || trim(std::string_view(line).substr(0, at)) != key) continue;
    return std::string(trim(std::string_view(line).substr(at + 1)));
  }
  return "";
}

std::optional<int64_t> bytes_of_key(std::string_view text, std::string_view key) {
  constexpr int64_t kBytesOfKib = 1024;
  const auto kib = parse_int64(split(value_of_key(text, key), ' ').front());
  return kib ? std::optional(saturating_multiply(*kib, kBytesOfKib)) : std::nullopt;
}

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::filesystem::path cache_folder() {
  using Path = std::filesystem::path;
  if (const auto own = environment_variable("RNNLAB_CACHE"); !own.empty()) return own;
  if (const auto caches = environment_variable("XDG_CACHE_HOME"); !caches.empty()) return Path(caches) / "rnnlab";
  if (const auto home = environment_variable("HOME"); !home.empty()) return Path(home) / ".cache" / "rnnlab";
  return {};
}

}  // namespace rnnlab
