#include "base/folder.h"

#include <system_error>

namespace rnnlab {

std::vector<std::string> names_beside(const std::filesystem::path& path) {
  constexpr size_t kMostNames = 2000;
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(path.has_parent_path() ? path.parent_path() : ".", error);
  for (; !error && entry != end(entry) && names.size() < kMostNames; entry.increment(error))
    names.push_back(entry->path().filename().string());
  return names;
}

std::filesystem::path whole_path(const std::filesystem::path& path) {
  return std::filesystem::absolute(path / "").lexically_normal().parent_path();
}

}  // namespace rnnlab
