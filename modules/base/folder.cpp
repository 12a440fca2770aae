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
namespace {

std::filesystem::path folder_in(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

}  // namespace

std::vector<std::string> sibling_names(const std::filesystem::path& path) {
  constexpr size_t kMostNames = 2000;
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(path.has_parent_path() ? path.parent_path() : ".", error);
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

namespace {

bool is_link_to_sibling(const std::filesystem::path& path) {
  std::error_code is_no_link;
  const std::filesystem::path target = std::filesystem::read_symlink(path, is_no_link);
  return !is_no_link && !target.empty() && !target.has_parent_path();
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

std::filesystem::path cache_folder() {
  if (const auto own = folder_in("RNNLAB_CACHE"); !own.empty()) return own;
  if (const auto caches = folder_in("XDG_CACHE_HOME"); !caches.empty()) return caches / "rnnlab";
  if (const auto home = folder_in("HOME"); !home.empty()) return home / ".cache" / "rnnlab";
  return {};
}

}  // namespace rnnlab
