# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT, the source of kernel_sources() (loaded_kernels.h): the texts of FILES below ROOT under their names, and
# the text of FREESTANDING under the names of standard headers.

function(embed name file)
  file(READ "${file}" text)
  string(APPEND entries "    {\"${name}\", R\"rnnlab(${text})rnnlab\"},\n")
  set(entries "${entries}" PARENT_SCOPE)
endfunction()

set(entries "")
separate_arguments(FILES)
foreach(file ${FILES})
  embed("${file}" "${ROOT}/${file}")
endforeach()
foreach(name cstddef cstdint type_traits utility cuda_runtime.h)
  embed("${name}" "${ROOT}/${FREESTANDING}")
endforeach()

file(WRITE "${OUTPUT}" "// Made at build time.
#include \"layers/persistent/host/loaded_kernels.h\"

namespace rnnlab::kernels::persistent {
namespace {
constexpr KernelHeader kSources[] = {
${entries}};
}
std::span<const KernelHeader> kernel_sources() { return kSources; }
}  // namespace rnnlab::kernels::persistent
")
