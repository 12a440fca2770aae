#include "experiment/versions.h"

#include <ATen/Context.h>
#include <ATen/Version.h>
#include <fmt/format.h>

#include "base/text.h"
#include "experiment/instruction_sets.h"

namespace rnnlab {
namespace {

// 13000 -> "13.0".
std::string cuda_version(long packed) { return fmt::format("{}.{}", packed / 1000, packed % 1000 / 10); }

// 91900 -> "9.19.0".
std::string cudnn_version(long packed) {
  return fmt::format("{}.{}.{}", packed / 10000, packed % 10000 / 100, packed % 100);
}

// "2.11.0" of a line with "TORCH_VERSION=2.11.0, " in what the library says of its build.
std::string build_setting(const std::string& build, const std::string& name) {
  const size_t at = build.find(" " + name + "=");
  if (at == std::string::npos) return "";
  const size_t begin = at + name.size() + 2;
  return std::string(trim(build.substr(begin, build.find(',', begin) - begin)));
}

}  // namespace

SoftwareVersions software_versions() {
  const auto& hooks = at::detail::getCUDAHooks();
  const std::string build = at::show_config();
  SoftwareVersions versions{.rnnlab = RNNLAB_VERSION,
                            .libtorch = build_setting(build, "TORCH_VERSION"),
                            .cuda = "",
                            .cudnn = "",
                            .libtorch_commit = build_setting(build, "COMMIT_SHA")};
  if (!hooks.hasCUDART()) return versions;
  versions.cuda = cuda_version(hooks.versionCUDART());
  if (hooks.hasCuDNN()) versions.cudnn = cudnn_version(hooks.versionRuntimeCuDNN());
  return versions;
}

Libraries libraries() { return {software_versions(), instruction_sets()}; }

}  // namespace rnnlab
