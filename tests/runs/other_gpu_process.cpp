// SPDX-License-Identifier: Apache-2.0
// A process that begins to use the first GPU, prints its process number and waits for at most a minute until it is
// killed. It returns exit code 1 if there is no GPU.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>

namespace {

// The part of CUDA's driver interface that is used here.
constexpr int kSuccess = 0;

template <class... Args>
bool call(void* library, const char* name, Args... args) {
  auto* function = library == nullptr ? nullptr : reinterpret_cast<int (*)(Args...)>(::dlsym(library, name));
  return function != nullptr && function(args...) == kSuccess;
}

}  // namespace

int main() {
  void* driver = ::dlopen("libcuda.so.1", RTLD_NOW);
  int device = 0;
  void* context = nullptr;
  if (!call(driver, "cuInit", 0U) || !call(driver, "cuDeviceGet", &device, 0) ||
      !call(driver, "cuDevicePrimaryCtxRetain", &context, device))
    return 1;
  std::printf("%d\n", ::getpid());
  std::fflush(stdout);
  ::alarm(60);
  ::pause();
}
