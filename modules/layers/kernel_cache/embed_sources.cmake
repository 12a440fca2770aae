# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT, the source of a function that returns texts of kernels: those of FILES below ROOT under their names, and
# the text of FREESTANDING under the names of standard headers. HEADER declares FUNCTION in NAMESPACE.

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
#include \"${HEADER}\"

namespace ${NAMESPACE} {
namespace {
constexpr KernelHeader k${FUNCTION}[] = {
${entries}};
}
std::span<const KernelHeader> ${FUNCTION}() { return k${FUNCTION}; }
}  // namespace ${NAMESPACE}
")
