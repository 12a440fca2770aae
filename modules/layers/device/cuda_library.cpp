// SPDX-License-Identifier: Apache-2.0
#include "layers/device/cuda_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>

#include "base/folder.h"
#include "base/shared_library.h"

namespace rnnlab {
namespace {

constexpr const char* kDriver = "libcuda.so.1";
constexpr const char* kLibrary = "librnnlab_cuda.so";

// Returns the folder of the library that contains this function.
std::filesystem::path own_folder() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0) return {};
  return std::filesystem::path(info.dli_fname).parent_path();
}

std::string load() {
  const SharedLibrary driver = open_shared_library(kDriver, RTLD_LAZY | RTLD_LOCAL);
  if (driver.handle == nullptr) return fmt::format("NVIDIA's driver is missing ({})", driver.failure);
  const std::filesystem::path library = own_folder() / kLibrary;
  if (!path_exists(library))
    return fmt::format("{} is missing: this rnnlab was built without CUDA; scripts/quickstart builds it with CUDA",
                       library.string());
  const SharedLibrary opened = open_shared_library(library.string(), RTLD_NOW | RTLD_GLOBAL);
  return opened.handle != nullptr ? "" : fmt::format("{} cannot be loaded: {}", kLibrary, opened.failure);
}

const std::string& outcome() {
  static const std::string failure = load();
  return failure;
}

}  // namespace

void load_cuda_library() { outcome(); }

std::string why_no_cuda_library() { return outcome(); }

}  // namespace rnnlab
