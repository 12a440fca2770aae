#include "experiment/versions.h"

#include <ATen/Context.h>
#include <fmt/format.h>
#include <torch/version.h>

namespace rnnlab {
namespace {

// 13000 -> "13.0".
std::string cuda_version(long packed) { return fmt::format("{}.{}", packed / 1000, packed % 1000 / 10); }

// 91900 -> "9.19.0".
std::string cudnn_version(long packed) {
  return fmt::format("{}.{}.{}", packed / 10000, packed % 10000 / 100, packed % 100);
}

}  // namespace

SoftwareVersions software_versions() {
  const auto& hooks = at::detail::getCUDAHooks();
  SoftwareVersions versions{.rnnlab = RNNLAB_VERSION, .libtorch = TORCH_VERSION, .cuda = "", .cudnn = ""};
  if (!hooks.hasCUDART()) return versions;
  versions.cuda = cuda_version(hooks.versionCUDART());
  if (hooks.hasCuDNN()) versions.cudnn = cudnn_version(hooks.versionRuntimeCuDNN());
  return versions;
}

}  // namespace rnnlab
