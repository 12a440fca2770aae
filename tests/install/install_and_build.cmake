# SPDX-License-Identifier: Apache-2.0
# Installs the build BUILD into a folder of it, then configures, builds and runs the example there.
set(prefix "${BUILD}/install-test/prefix")
set(example "${BUILD}/install-test/example")
file(REMOVE_RECURSE "${BUILD}/install-test")

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command} failed (${status}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${prefix}")
run("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}/example" -B "${example}" -G "${GENERATOR}"
    "-DCMAKE_MAKE_PROGRAM=${MAKE_PROGRAM}" "-DCMAKE_PREFIX_PATH=${prefix}")
run("${CMAKE_COMMAND}" --build "${example}")
run("${example}/train_a_layer")
message("${output}")
run("${prefix}/bin/rnnlab" --version)
