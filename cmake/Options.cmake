# SPDX-License-Identifier: Apache-2.0
# What a builder may switch, and the flags that follow from it.

# On by default if scripts/bootstrap has installed the compiler.
set(has_cuda_compiler OFF)
if(EXISTS "${CMAKE_SOURCE_DIR}/.venv/cuda/bin/nvcc")
  set(has_cuda_compiler ON)
endif()
option(RNNLAB_CUDA "Build librnnlab_cuda.so, which NVIDIA GPUs need; wants the CUDA 13.0 compiler" ${has_cuda_compiler})
option(RNNLAB_SANITIZE "Build with AddressSanitizer and UndefinedBehaviorSanitizer" OFF)
option(RNNLAB_PORTABLE "Copy every library but LibTorch and CUDA beside the modules, so that the build runs on another machine" OFF)
option(RNNLAB_UNITY "Compile several sources of a target as one: a third of the time" ON)
option(RNNLAB_PRECOMPILE "Read LibTorch's headers once instead of in every source" ON)
option(RNNLAB_FUZZ "Build the fuzz targets of tests/fuzz: with clang, and with RNNLAB_SANITIZE to see more" OFF)
option(RNNLAB_STRICT "Treat warnings in rnnlab's own code as errors" ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  # Without this it would compile everything again that reads a precompiled header.
  find_program(ENV_PROGRAM env REQUIRED)
  foreach(language C CXX CUDA)
    set(CMAKE_${language}_COMPILER_LAUNCHER "${ENV_PROGRAM};CCACHE_SLOPPINESS=pch_defines,time_macros;${CCACHE}")
  endforeach()
endif()

if(RNNLAB_SANITIZE)
  set(sanitize -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(APPEND sanitize -Wno-maybe-uninitialized)  # GCC sees uses that are not there once the sanitizers are in
  endif()
  add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:${sanitize}>")
  add_link_options(-fsanitize=address,undefined)
endif()

if(RNNLAB_FUZZ)
  # Older ones do not compile the ranges of GCC 12's library.
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang" OR CMAKE_CXX_COMPILER_VERSION VERSION_LESS 16)
    message(FATAL_ERROR "RNNLAB_FUZZ needs clang 16 or newer, whose libFuzzer it uses: scripts/fuzz configures with it")
  endif()
  add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=fuzzer-no-link>")
endif()
