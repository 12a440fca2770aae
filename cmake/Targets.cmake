# One way to declare a module, and one to declare its tests. Sources are listed by hand: a file that no list names is not built.

add_library(rnnlab_warnings INTERFACE)
target_compile_options(rnnlab_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>  # GCC 12 sees overlaps in std::string that are not there (its bug 105651)
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${RNNLAB_STRICT}>>:-Werror>)

# Most of the time to compile a source goes into the headers it includes: a few sources of a target are compiled as one.
# Names in their unnamed namespaces must differ then.
function(rnnlab_share_units target)
  if(RNNLAB_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 10)
  endif()
endfunction()

# For what no timing looks at and nobody waits for: a fifth less to compile than with -O3.
function(rnnlab_optimise_little target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# rnnlab_module(NAME SOURCES file... LINKS target...): the static library rnnlab::NAME in modules/NAME.
# LINKS may name only modules listed above it in modules/CMakeLists.txt.
function(rnnlab_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINKS")
  add_library(rnnlab_${name} STATIC ${arg_SOURCES})
  add_library(rnnlab::${name} ALIAS rnnlab_${name})
  target_include_directories(rnnlab_${name} PUBLIC "${CMAKE_SOURCE_DIR}/modules")
  target_link_libraries(rnnlab_${name} PUBLIC ${arg_LINKS} PRIVATE rnnlab_warnings)
  rnnlab_share_units(rnnlab_${name})
endfunction()

# rnnlab_test(NAME SOURCES file... LINKS target...): the executable NAME_tests, one CTest entry.
function(rnnlab_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINKS")
  add_executable(${name}_tests ${arg_SOURCES})
  target_include_directories(${name}_tests PRIVATE "${CMAKE_SOURCE_DIR}/tests")
  target_compile_definitions(${name}_tests PRIVATE RNNLAB_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  rnnlab_optimise_little(${name}_tests)
  target_link_libraries(${name}_tests PRIVATE ${arg_LINKS} GTest::gmock GTest::gtest_main rnnlab_warnings)
  rnnlab_share_units(${name}_tests)
  add_test(NAME ${name} COMMAND ${name}_tests)
  set_tests_properties(${name} PROPERTIES WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}" SKIP_RETURN_CODE 77)
endfunction()

# rnnlab_long_proof(NAME PROGRAM target FILTER tests ENVIRONMENT variable=value...): the tests of a program in their long form,
# as the CTest entry long_NAME, which only `scripts/test --long` runs.
function(rnnlab_long_proof name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PROGRAM;FILTER" "ENVIRONMENT")
  set(four_hours 14400)
  add_test(NAME long_${name} COMMAND ${arg_PROGRAM} "--gtest_filter=${arg_FILTER}")
  set_tests_properties(long_${name} PROPERTIES
    LABELS long TIMEOUT ${four_hours} WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}"
    ENVIRONMENT "GTEST_OUTPUT=json:${CMAKE_BINARY_DIR}/test-results/long_${name}_tests.json;${arg_ENVIRONMENT}")
endfunction()
