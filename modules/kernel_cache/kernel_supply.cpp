#include "kernel_cache/kernel_supply.h"

#include <chrono>

#include "base/error.h"
#include "base/folder.h"
#include "base/sha256.h"
#include "kernel_cache/nvrtc.h"

namespace rnnlab {
namespace {

constexpr const char* kFolder = "kernels";

// Returns the folder of kernels that the build compiled; empty if the path of the program is unknown.
std::filesystem::path folder_of_build() {
  std::error_code unknown;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", unknown);
  return program.empty() ? program : program.parent_path() / kFolder;
}

}  // namespace

std::optional<std::string> KernelSupply::refusal() const {
  return is_there(built_.folder()) ? std::nullopt : nvrtc_refusal();
}

CompiledKernels KernelSupply::get(const KernelProgram& program) {
  const std::string key = key_of(program);
  if (!built_.folder().empty())
    if (auto kernels = built_.find(key)) return *std::move(kernels);
  const std::string key_of_compiler = Sha256().update(key + " " + nvrtc_version()).hex();
  if (!cache_.folder().empty())
    if (auto kernels = cache_.find(key_of_compiler)) return *std::move(kernels);
  return compile_and_keep(program, key_of_compiler);
}

CompiledKernels KernelSupply::compile_and_keep(const KernelProgram& program, const std::string& key) {
  const auto began = std::chrono::steady_clock::now();
  CompiledKernels kernels = compile(program);
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  num_compiled_ += static_cast<int>(program.names.size());
  keep(key, kernels);
  return kernels;
}

void KernelSupply::keep(const std::string& key, const CompiledKernels& kernels) {
  if (could_not_keep_) return;
  could_not_keep_ = true;
  try {
    if (cache_.folder().empty()) throw_error(ExitCode::kDevice, "neither RNNLAB_CACHE nor HOME names a folder");
    cache_.add(key, kernels);
    could_not_keep_ = false;
  } catch (const UserError& error) {
    fault_ = error.what();
  }
}

std::vector<std::string> KernelSupply::take_notes() {
  std::vector<std::string> notes;
  if (num_compiled_ > 0)
    notes.push_back(fmt::format("compiled {} kernels for this GPU in {:.1f} s{}", num_compiled_, seconds_,
                                could_not_keep_ ? "" : "; kept in " + cache_.folder().string()));
  if (!fault_.empty())
    notes.push_back(fmt::format("the compiled kernels are not kept, so the next run compiles them again: {}", fault_));
  num_compiled_ = 0;
  seconds_ = 0;
  fault_.clear();
  return notes;
}

KernelSupply make_kernel_supply() {
  const std::filesystem::path cache = cache_folder();
  return {folder_of_build(), cache.empty() ? cache : cache / kFolder};
}

}  // namespace rnnlab
