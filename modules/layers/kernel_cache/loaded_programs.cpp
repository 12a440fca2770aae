// SPDX-License-Identifier: Apache-2.0
#include "layers/kernel_cache/loaded_programs.h"

#include <c10/cuda/CUDAGraphsC10Utils.h>

#include <map>
#include <mutex>
#include <stdexcept>

#include "base/error.h"
#include "layers/kernel_cache/kernel_cache.h"

namespace rnnlab {

void check_cuda(cudaError_t error, std::string_view what) {
  if (error == cudaSuccess) return;
  (void)cudaGetLastError();  // otherwise the next kernel's check would report this error
  throw std::runtime_error(std::string(what) + " failed on this GPU: " + cudaGetErrorString(error));
}

namespace {

class LoadedPrograms {
 public:
  static LoadedPrograms& instance() {
    static LoadedPrograms programs;
    return programs;
  }

  const std::vector<cudaKernel_t>& get(const KernelProgram& program) {
    const std::lock_guard lock(mutex_);
    auto& kernels = loaded_[program.architecture + " " + program.names.front() + " " + program.source];
    if (kernels.empty()) kernels = load(supply_.get(program));
    return kernels;
  }

  // Calls use(provider) while no other thread uses it.
  template <class Use>
  auto with_supply(const Use& use) {
    const std::lock_guard lock(mutex_);
    return use(supply_);
  }

 private:
  // Libraries stay as long as the process: a kernel may be running when it ends.
  static std::vector<cudaKernel_t> load(const CompiledKernels& compiled) {
    RNNLAB_INVARIANT(c10::cuda::currentStreamCaptureStatusMayInitCtx() == c10::cuda::CaptureStatus::None,
                     "a kernel is loaded while a CUDA graph is captured");
    cudaLibrary_t library = nullptr;
    check_cuda(cudaLibraryLoadData(&library, compiled.code.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0),
               "loading a kernel");
    std::vector<cudaKernel_t> kernels;
    for (const std::string& symbol : compiled.symbols) {
      cudaKernel_t kernel = nullptr;
      check_cuda(cudaLibraryGetKernel(&kernel, library, symbol.c_str()), "finding a kernel");
      kernels.push_back(kernel);
    }
    return kernels;
  }

  std::mutex mutex_;
  KernelProvider supply_ = make_kernel_provider();
  std::map<std::string, std::vector<cudaKernel_t>> loaded_;  // by architecture, first name and source
};

}  // namespace

const std::vector<cudaKernel_t>& loaded_kernels(const KernelProgram& program) {
  return LoadedPrograms::instance().get(program);
}

std::optional<std::string> kernels_unavailable_reason() {
  return LoadedPrograms::instance().with_supply([](KernelProvider& supply) { return supply.unavailable_reason(); });
}

std::vector<std::string> notes_on_loaded_kernels() {
  return LoadedPrograms::instance().with_supply([](KernelProvider& supply) { return supply.take_notes(); });
}

}  // namespace rnnlab
