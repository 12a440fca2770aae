// NVIDIA's management library (NVML), which tells of GPUs without CUDA and without waking them. It comes with the
// driver and is opened when the program runs; its declarations are those of NVIDIA's own header. Only for .cpp files:
// it brings in nvml.h.
#pragma once

#include <dlfcn.h>
#include <nvml.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>

namespace rnnlab {

inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";

// A function of NVML by its declaration and its name, for Nvml::call.
template <class Function>
struct NvmlFunction {
  const char* name;
};
#define RNNLAB_NVML(function) (::rnnlab::NvmlFunction<decltype(function)>{#function})

class Nvml {
 public:
  explicit Nvml(const char* library) : handle_(::dlopen(library, RTLD_NOW | RTLD_LOCAL)) {
    is_ready_ = handle_ != nullptr && call(RNNLAB_NVML(nvmlInit_v2));
  }
  ~Nvml() {
    if (is_ready_) call(RNNLAB_NVML(nvmlShutdown));
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  bool is_loaded() const { return handle_ != nullptr; }
  bool is_ready() const { return is_ready_; }

  // False when the function is missing (an older driver) or fails (a GPU that lacks the sensor).
  template <class Function, class... Args>
  bool call(NvmlFunction<Function> declared, Args... args) const {
    auto* function = reinterpret_cast<Function*>(::dlsym(handle_.get(), declared.name));
    return function != nullptr && function(args...) == NVML_SUCCESS;
  }

  template <class Function, class... Args>
  std::string text(NvmlFunction<Function> declared, Args... args) const {
    std::array<char, 96> buffer{};
    return call(declared, args..., buffer.data(), static_cast<unsigned>(buffer.size())) ? buffer.data() : "";
  }

  template <class Function, class... Args>
  int64_t number(NvmlFunction<Function> declared, Args... args) const {
    unsigned value = 0;
    return call(declared, args..., &value) ? int64_t{value} : 0;
  }

 private:
  struct Closer {
    void operator()(void* handle) const { ::dlclose(handle); }
  };

  std::unique_ptr<void, Closer> handle_;
  bool is_ready_ = false;
};

}  // namespace rnnlab
