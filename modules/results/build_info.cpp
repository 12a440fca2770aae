#include "results/build_info.h"

#include <fmt/format.h>

#include <vector>

#include "base/text.h"
#include "results_git_revision.h"  // made by git_revision.cmake at every build

namespace rnnlab {
namespace {

#ifdef __OPTIMIZE__
constexpr bool kOptimized = true;
#else
constexpr bool kOptimized = false;
#endif

#ifdef NDEBUG
constexpr bool kAssertions = false;
#else
constexpr bool kAssertions = true;
#endif

#if defined(__SANITIZE_ADDRESS__)
constexpr const char* kSanitizer = "AddressSanitizer";
#elif defined(__SANITIZE_THREAD__)
constexpr const char* kSanitizer = "ThreadSanitizer";
#else
constexpr const char* kSanitizer = "";
#endif

#ifdef __clang__
constexpr const char* kCompiler = "clang";
#else
constexpr const char* kCompiler = "gcc";
#endif

// What makes the build slow, in words; empty when it is fit for timing.
std::vector<std::string> slow_traits(const BuildInfo& build) {
  std::vector<std::string> traits;
  if (!build.optimized) traits.emplace_back("not optimised");
  if (build.assertions) traits.emplace_back("assertions on");
  if (!build.sanitizer.empty()) traits.push_back(build.sanitizer);
  return traits;
}

}  // namespace

BuildInfo build_info() {
  return {.type = RNNLAB_BUILD_TYPE,
          .compiler = fmt::format("{} {}", kCompiler, __VERSION__),
          .optimized = kOptimized,
          .assertions = kAssertions,
          .sanitizer = kSanitizer,
          .git_revision = kGitRevision,
          .git_dirty = kGitDirty};
}

std::string build_kind(const BuildInfo& build) {
  std::vector<std::string> parts = slow_traits(build);
  parts.insert(parts.begin(), build.type);
  return join(parts, ", ");
}

std::optional<Warning> build_warning(const BuildInfo& build) {
  if (slow_traits(build).empty()) return std::nullopt;
  return Warning{warning::kSlowBuild,
                 fmt::format("THIS BUILD IS NOT FOR TIMING ({}): build with the preset 'release' before you trust any "
                             "number",
                             build_kind(build))};
}

}  // namespace rnnlab
