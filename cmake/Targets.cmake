# SPDX-License-Identifier: Apache-2.0
# One way to declare a module, and one to declare its tests. Sources are listed by hand: a file that no list names is not built.

add_library(rnnlab_warnings INTERFACE)
target_compile_options(rnnlab_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual>
  # GCC 12 sees overlaps and overflows in std::string that are not there (its bug 105651).
  "$<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-stringop-overflow;-Wno-array-bounds>"
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${RNNLAB_STRICT}>>:-Werror>)

# A library that lacks a part of its own is found when it is linked. Not so with sanitizers, whose runtime programs bring.
set(rnnlab_no_undefined $<$<NOT:$<OR:$<BOOL:${RNNLAB_SANITIZE}>,$<BOOL:${RNNLAB_FUZZ}>>>:-Wl,--no-undefined>)

# Most of the time to compile a source goes into the headers it includes: a few sources of a target are compiled as one.
# Names in their unnamed namespaces must differ then.
function(rnnlab_share_units target)
  if(RNNLAB_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 10)
  endif()
endfunction()

# rnnlab_precompiled(NAME LINKS target... HEADERS header...): a target that lends its precompiled headers (rnnlab_precompile).
# Reading LibTorch's takes ten seconds and more of each source.
function(rnnlab_precompiled name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINKS;HEADERS")
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/${name}.cpp" CONTENT "// Only to have a source.\n")  # written once
  add_library(${name} OBJECT "${CMAKE_BINARY_DIR}/${name}.cpp")
  target_link_libraries(${name} PRIVATE ${arg_LINKS} rnnlab_warnings)
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
endfunction()

function(rnnlab_precompile target lender)
  if(RNNLAB_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ${lender})
  endif()
endfunction()

set(rnnlab_slow_headers
  <ATen/core/Tensor.h> <torch/nn/module.h> <torch/csrc/autograd/custom_function.h> <fmt/format.h>
  <algorithm> <filesystem> <functional> <map> <memory> <optional> <string> <vector>)

# For what no timing looks at and nobody waits for: a fifth less to compile than with -O3.
function(rnnlab_optimise_little target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# rnnlab_module(NAME LINKS target...): the library rnnlab::NAME of the module in this folder, without its sources, which are
# in parts. It is shared, because librnnlab_cuda.so uses the modules of the program that loads it. LINKS may name only
# modules that modules/CMakeLists.txt lists above it.
function(rnnlab_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINKS")
  add_library(rnnlab_${name} SHARED)
  add_library(rnnlab::${name} ALIAS rnnlab_${name})
  set_target_properties(rnnlab_${name} PROPERTIES EXPORT_NAME ${name} LINKER_LANGUAGE CXX)
  set_property(GLOBAL APPEND PROPERTY RNNLAB_MODULES rnnlab_${name})
  set_property(GLOBAL PROPERTY RNNLAB_LINKS_OF_${name} ${arg_LINKS})
  target_link_options(rnnlab_${name} PRIVATE ${rnnlab_no_undefined})
  target_include_directories(rnnlab_${name} PUBLIC
    $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/modules> $<INSTALL_INTERFACE:include/rnnlab>)
  target_link_libraries(rnnlab_${name} PUBLIC ${arg_LINKS})
endfunction()

# rnnlab_part(NAME OF module [ON_TORCH] SOURCES file... [LINKS target...]): sources of one folder of a module, which are
# compiled in their own way, as the target rnnlab_NAME_part. LINKS are libraries that only these sources use. ON_TORCH: most
# of them read LibTorch's headers.
function(rnnlab_part name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "ON_TORCH" "OF" "SOURCES;LINKS")
  set(part rnnlab_${name}_part)
  add_library(${part} OBJECT ${arg_SOURCES})
  set_target_properties(${part} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${part} PRIVATE "${CMAKE_SOURCE_DIR}/modules")
  get_property(links GLOBAL PROPERTY RNNLAB_LINKS_OF_${arg_OF})
  target_link_libraries(${part} PRIVATE ${links} ${arg_LINKS} rnnlab_warnings)
  target_sources(rnnlab_${arg_OF} PRIVATE $<TARGET_OBJECTS:${part}>)
  target_link_libraries(rnnlab_${arg_OF} PRIVATE ${arg_LINKS})
  rnnlab_share_units(${part})
  if(arg_ON_TORCH)
    rnnlab_precompile(${part} rnnlab_module_headers)
  endif()
endfunction()

# rnnlab_cuda_sources(file...): sources of this folder that need CUDA's libraries and go into librnnlab_cuda.so.
function(rnnlab_cuda_sources)
  list(TRANSFORM ARGN PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  set_property(GLOBAL APPEND PROPERTY RNNLAB_CUDA_SOURCES ${ARGN})
endfunction()

# rnnlab_test(NAME [ON_GPUS] SOURCES file... LINKS target...): the executable NAME_tests, which is the CTest entry NAME. Each of
# its tests is an entry NAME.Suite.Test as well, with the label "single": `ctest --preset single -R Suite`. By default the whole
# program runs, because it then starts once. ON_GPUS: it loads librnnlab_cuda.so at its start if there is one.
function(rnnlab_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "ON_GPUS" "" "SOURCES;LINKS")
  add_executable(${name}_tests ${arg_SOURCES} "${CMAKE_SOURCE_DIR}/tests/golden.cpp" "${CMAKE_SOURCE_DIR}/tests/test_process.cpp")
  if(arg_ON_GPUS)
    target_sources(${name}_tests PRIVATE "${CMAKE_SOURCE_DIR}/tests/load_cuda_library.cpp")
    target_link_libraries(${name}_tests PRIVATE rnnlab::layers)
    if(TARGET rnnlab_cuda)
      add_dependencies(${name}_tests rnnlab_cuda)
    endif()
  endif()
  target_include_directories(${name}_tests PRIVATE "${CMAKE_SOURCE_DIR}/tests")
  target_compile_definitions(${name}_tests PRIVATE
    RNNLAB_GOLDEN="${CMAKE_CURRENT_SOURCE_DIR}/golden.txt" RNNLAB_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  rnnlab_optimise_little(${name}_tests)
  target_link_libraries(${name}_tests PRIVATE ${arg_LINKS} GTest::gmock GTest::gtest_main rnnlab_warnings)
  rnnlab_share_units(${name}_tests)
  if(arg_ON_GPUS)
    rnnlab_precompile(${name}_tests rnnlab_test_headers)
  endif()
  add_test(NAME ${name} COMMAND ${name}_tests)
  set_tests_properties(${name} PROPERTIES WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}" SKIP_RETURN_CODE 77 TIMEOUT 3600
    ENVIRONMENT "GTEST_OUTPUT=xml:${CMAKE_BINARY_DIR}/test-results/${name}_tests.xml")
  gtest_discover_tests(${name}_tests TEST_PREFIX "${name}." WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}" DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 120 PROPERTIES LABELS single)
endfunction()

# rnnlab_long_proof(NAME PROGRAM target FILTER tests ENVIRONMENT variable=value...): the tests of a program in their long form,
# as the CTest entry long_NAME, which only `scripts/test --long` runs.
function(rnnlab_long_proof name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PROGRAM;FILTER" "ENVIRONMENT")
  set(four_hours 14400)
  add_test(NAME long_${name} COMMAND ${arg_PROGRAM} "--gtest_filter=${arg_FILTER}")
  set_tests_properties(long_${name} PROPERTIES
    LABELS long TIMEOUT ${four_hours} WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}"
    ENVIRONMENT "GTEST_OUTPUT=xml:${CMAKE_BINARY_DIR}/test-results/long_${name}_tests.xml;${arg_ENVIRONMENT}")
endfunction()
