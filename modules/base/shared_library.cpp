// SPDX-License-Identifier: Apache-2.0
#include "base/shared_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <optional>
#include <vector>

#include "base/folder.h"
#include "base/regular_file.h"
#include "base/text.h"

namespace rnnlab {
namespace {

// Returns the paths that the loader would open first. Those of folders that only an administrator sets are left out.
std::vector<std::string> paths_of(const std::string& name) {
  if (name.find('/') != std::string::npos) return {name};
  std::vector<std::string> paths;
  const std::string folders = environment_variable("LD_LIBRARY_PATH");
  if (folders.empty()) return paths;
  for (const std::string& folder : split(folders, ':'))
    for (const std::string& one : split(folder, ';')) paths.push_back((one.empty() ? "." : one) + "/" + name);
  return paths;
}

// Returns the path of the first of these that is there, if it is a pipe, a socket or a device.
std::optional<std::string> special_file(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || S_ISDIR(status.st_mode)) continue;
    if (S_ISREG(status.st_mode)) return std::nullopt;
    return fmt::format("{}: is {}, expected a library; remove it, or change LD_LIBRARY_PATH", path,
                       kind_of_special_file(status.st_mode));
  }
  return std::nullopt;
}

}  // namespace

SharedLibrary open_shared_library(const std::string& name, int flags) {
  if (auto failure = special_file(paths_of(name))) return {nullptr, *failure};
  void* const handle = ::dlopen(name.c_str(), flags);
  if (handle != nullptr) return {handle, ""};
  const char* reason = ::dlerror();
  return {nullptr, reason == nullptr ? name : reason};
}

}  // namespace rnnlab
