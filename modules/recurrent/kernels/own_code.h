// For which GPUs this build's own kernels have code: what it was configured for, and what CUDA says of the GPU that is
// there. All own kernels but the persistent ones are compiled for the same list.
#pragma once

#include <compare>
#include <string>
#include <string_view>

namespace rnnlab::kernels {

// A GPU's compute capability, such as 9.0.
struct Capability {
  int major = 0;
  int minor = 0;

  friend constexpr auto operator<=>(const Capability&, const Capability&) = default;
};

std::string text_of(Capability capability);

// Whether CUDA finds the kernels' code for the current device, or makes it from their PTX, which takes it about a
// second when it is asked for the first time.
bool has_own_code();

// The list of RNNLAB_CUDA_ARCHITECTURES as CMake settled it: "80-real 90" is code for 8.0 and 9.0 and PTX for 9.0.
std::string_view own_code();

// Whether code of such a list runs on a GPU: code on its major version from its minor one on, PTX on all later ones.
bool runs_on(std::string_view code, Capability gpu);

// The list for people: "code for 8.0 and 9.0, PTX for 9.0".
std::string described(std::string_view code);

}  // namespace rnnlab::kernels
