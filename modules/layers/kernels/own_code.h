// SPDX-License-Identifier: Apache-2.0
// Reports for which GPUs this build's own kernels have code: by the configuration of the build, and by CUDA for the GPU
// of this machine. All own kernels except the persistent kernels are compiled for the same list.
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

// Returns whether CUDA finds the kernels' code for the current device, or can compile it from PTX, which takes about a
// second at the first call.
bool has_own_code();

// Returns the list of RNNLAB_CUDA_ARCHITECTURES after CMake's configuration: "80-real 90" is code for 8.0 and 9.0, and
// PTX for 9.0.
std::string_view own_code();

// Returns whether code of such a list runs on a GPU: code runs on the same major version and an equal or later minor
// version, PTX on all later versions.
bool runs_on(std::string_view code, Capability gpu);

// Returns what the user can do if a build has no code for a GPU, as the end of a sentence.
std::string how_to_get_code(Capability gpu);

// Returns the list for people: "code for 8.0 and 9.0, PTX for 9.0".
std::string described(std::string_view code);

}  // namespace rnnlab::kernels
