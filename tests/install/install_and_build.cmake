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

# The example predicts what the program predicts.
file(WRITE "${example}/pets.csv" "a,b,kind\n1,5,cat\n2,7,dog\n3,6,cat\n4,8,dog\n2,5,cat\n1,8,dog\n")
file(WRITE "${example}/pets.yaml" "name: pets\ndevice: cpu\ndata: {source: csv, path: pets.csv, target: [kind]}\n"
  "model: {hidden_size: 4}\ntraining: {epochs: 2, batch_size: 2}\n")
run("${prefix}/bin/rnnlab" train pets.yaml --quiet WORKING_DIRECTORY "${example}")
run("${prefix}/bin/rnnlab" convert pets --whole -o pets.safetensors WORKING_DIRECTORY "${example}")
file(WRITE "${example}/new.csv" "a,b\n5,1\n8,4\n")
run("${prefix}/bin/rnnlab" predict pets.safetensors data.path=new.csv WORKING_DIRECTORY "${example}")
set(expected "${output}")
run("${example}/use_a_model" pets.safetensors new.csv WORKING_DIRECTORY "${example}")
message("${output}")
if(NOT output STREQUAL expected)
  message(FATAL_ERROR "the program predicts\n${expected}")
endif()
