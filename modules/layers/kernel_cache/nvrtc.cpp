// SPDX-License-Identifier: Apache-2.0
#include "layers/kernel_cache/nvrtc.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/error.h"
#include "base/shared_library.h"
#include "base/text.h"

namespace rnnlab {
namespace {

constexpr const char* kLibrary = "libnvrtc.so.13";
constexpr std::array kOptions = {"-std=c++20"};

// These declarations are those of nvrtc.h of CUDA 13.
using Program = struct OpaqueProgram*;
using Result = int;
constexpr Result kSuccess = 0;
constexpr Result kCompilationFailed = 6;

// Returns the path next to the CUDA runtime that this process has loaded, because the CUDA packages that LibTorch needs
// share one folder.
std::filesystem::path path_next_to_runtime() {
  Dl_info info = {};
  void* const any_function = ::dlsym(RTLD_DEFAULT, "cudaRuntimeGetVersion");
  if (any_function == nullptr || ::dladdr(any_function, &info) == 0) return kLibrary;
  return std::filesystem::path(info.dli_fname).parent_path() / kLibrary;
}

class Library {
 public:
  // If the library is missing, `unavailable_reason` says why, and the remaining members must not be used.
  Library() {
    SharedLibrary opened = open_shared_library(path_next_to_runtime().string(), RTLD_NOW | RTLD_LOCAL);
    if (opened.handle == nullptr) opened = open_shared_library(kLibrary, RTLD_NOW | RTLD_LOCAL);
    handle_ = opened.handle;
    if (handle_ == nullptr) {
      unavailable_reason = fmt::format(
          "NVRTC, which compiles the kernels, cannot be loaded: {}; install the package "
          "nvidia-cuda-nvrtc of CUDA 13, which LibTorch for CUDA needs too",
          opened.failure);
      return;
    }
    find("nvrtcVersion", version);
    find("nvrtcGetSupportedArchs", supported);
    find("nvrtcGetNumSupportedArchs", num_supported);
    find("nvrtcCreateProgram", create);
    find("nvrtcDestroyProgram", destroy);
    find("nvrtcAddNameExpression", add_name);
    find("nvrtcCompileProgram", compile);
    find("nvrtcGetLoweredName", symbol);
    find("nvrtcGetProgramLogSize", log_size);
    find("nvrtcGetProgramLog", log);
    find("nvrtcGetCUBINSize", cubin_size);
    find("nvrtcGetCUBIN", cubin);
    find("nvrtcGetPTXSize", ptx_size);
    find("nvrtcGetPTX", ptx);
    find("nvrtcGetErrorString", name_of);
    if (!unavailable_reason) load_builtins();
  }

  std::optional<std::string> unavailable_reason;
  Result (*version)(int*, int*) = nullptr;
  Result (*num_supported)(int*) = nullptr;
  Result (*supported)(int*) = nullptr;
  Result (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  Result (*destroy)(Program*) = nullptr;
  Result (*add_name)(Program, const char*) = nullptr;
  Result (*compile)(Program, int, const char* const*) = nullptr;
  Result (*symbol)(Program, const char*, const char**) = nullptr;
  Result (*log_size)(Program, size_t*) = nullptr;
  Result (*log)(Program, char*) = nullptr;
  Result (*cubin_size)(Program, size_t*) = nullptr;
  Result (*cubin)(Program, char*) = nullptr;
  Result (*ptx_size)(Program, size_t*) = nullptr;
  Result (*ptx)(Program, char*) = nullptr;
  const char* (*name_of)(Result) = nullptr;

 private:
  template <class Function>
  void find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(handle_, name));
    if (function == nullptr)
      unavailable_reason = fmt::format("NVRTC ({}) does not have {}; install NVRTC of CUDA 13", kLibrary, name);
  }

  // NVRTC loads this library by name when it compiles, and the system does not search the folder of a Python package. A
  // library that is already loaded is found.
  void load_builtins() const {
    Dl_info info = {};
    int major = 0, minor = 0;
    if (::dladdr(reinterpret_cast<const void*>(version), &info) == 0 || version(&major, &minor) != kSuccess) return;
    const auto folder = std::filesystem::path(info.dli_fname).parent_path();
    open_shared_library((folder / fmt::format("libnvrtc-builtins.so.{}.{}", major, minor)).string(),
                        RTLD_NOW | RTLD_LOCAL);
  }

  void* handle_ = nullptr;
};

// The library stays loaded until the process ends, because unloading has no benefit.
const Library& library() {
  static const Library kIt;
  return kIt;
}

const Library& usable_library() {
  if (library().unavailable_reason) throw_error(ExitCode::kDevice, "{}", *library().unavailable_reason);
  return library();
}

void check(Result result, const char* what) {
  if (result != kSuccess)
    throw_error(ExitCode::kDevice, "NVRTC: {} failed: {}; use layer: naive or cudnn", what, library().name_of(result));
}

class Compilation {
 public:
  explicit Compilation(const KernelProgram& program) : nvrtc_(usable_library()), program_(program) {
    std::vector<std::string> names, texts;
    for (const auto& [name, text] : program.headers) {
      names.emplace_back(name);
      texts.emplace_back(text);
    }
    check(nvrtc_.create(&it_, program.source.c_str(), "kernels.cu", static_cast<int>(names.size()),
                        pointers(texts).data(), pointers(names).data()),
          "nvrtcCreateProgram");
  }
  ~Compilation() { nvrtc_.destroy(&it_); }
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  CompiledKernels run() {
    for (const std::string& name : program_.names) check(nvrtc_.add_name(it_, name.c_str()), "nvrtcAddNameExpression");
    compile_all();
    CompiledKernels kernels;
    const bool is_ptx = program_.architecture.starts_with("compute_");
    kernels.code = is_ptx ? text_of(nvrtc_.ptx_size, nvrtc_.ptx) : text_of(nvrtc_.cubin_size, nvrtc_.cubin);
    for (const std::string& name : program_.names) {
      const char* symbol = nullptr;
      check(nvrtc_.symbol(it_, name.c_str(), &symbol), "nvrtcGetLoweredName");
      kernels.symbols.emplace_back(symbol);
    }
    return kernels;
  }

 private:
  static std::vector<const char*> pointers(const std::vector<std::string>& texts) {
    std::vector<const char*> all;
    for (const std::string& text : texts) all.push_back(text.c_str());
    return all;
  }

  void compile_all() {
    const std::string architecture = "-arch=" + program_.architecture;
    std::vector<const char*> options(kOptions.begin(), kOptions.end());
    options.push_back(architecture.c_str());
    const Result result = nvrtc_.compile(it_, static_cast<int>(options.size()), options.data());
    if (result == kCompilationFailed)
      throw_error(ExitCode::kDevice, "a kernel does not compile for {}; use layer: naive or cudnn, and report this: {}",
                  program_.architecture, for_display(text_of(nvrtc_.log_size, nvrtc_.log)));
    check(result, "nvrtcCompileProgram");
  }

  std::string text_of(Result (*size_of)(Program, size_t*), Result (*get)(Program, char*)) const {
    size_t size = 0;
    check(size_of(it_, &size), "asking for a result's size");
    std::string text(size, '\0');
    check(get(it_, text.data()), "asking for a result");
    return text;
  }

  const Library& nvrtc_;
  const KernelProgram& program_;
  Program it_ = nullptr;
};

// Returns 90 for "sm_90a", because NVRTC does not list variants.
int number_of(const std::string& architecture) { return std::stoi(architecture.substr(architecture.find('_') + 1)); }

void require_known(const std::string& architecture) {
  const Library& nvrtc = usable_library();
  int count = 0;
  check(nvrtc.num_supported(&count), "nvrtcGetNumSupportedArchs");
  std::vector<int> known(static_cast<size_t>(count));
  check(nvrtc.supported(known.data()), "nvrtcGetSupportedArchs");
  if (std::ranges::find(known, number_of(architecture)) == known.end())
    throw_error(ExitCode::kDevice, "NVRTC {} does not know this GPU's architecture, {}; use layer: naive or cudnn",
                nvrtc_version(), architecture);
}

}  // namespace

std::optional<std::string> nvrtc_unavailable_reason() { return library().unavailable_reason; }

std::string nvrtc_version() {
  int major = 0, minor = 0;
  check(usable_library().version(&major, &minor), "nvrtcVersion");
  return fmt::format("{}.{}", major, minor);
}

std::string kernel_options() { return join(std::vector<std::string>(kOptions.begin(), kOptions.end()), " "); }

CompiledKernels compile(const KernelProgram& program) {
  require_known(program.architecture);
  return Compilation(program).run();
}

}  // namespace rnnlab
