# SPDX-License-Identifier: Apache-2.0
# Every library that rnnlab stands on, found once.

find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(spdlog REQUIRED)
find_package(fmt REQUIRED)
find_package(ZLIB REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(GTest REQUIRED)

# libzip without its own CMake package, which demands programs that Debian has in another package.
find_path(RNNLAB_ZIP_HEADERS zip.h REQUIRED DOC "The folder of libzip's zip.h")
find_library(RNNLAB_ZIP NAMES zip REQUIRED DOC "The library libzip")
add_library(rnnlab_zip INTERFACE)
target_include_directories(rnnlab_zip SYSTEM INTERFACE $<BUILD_INTERFACE:${RNNLAB_ZIP_HEADERS}>)
target_link_libraries(rnnlab_zip INTERFACE $<BUILD_INTERFACE:${RNNLAB_ZIP}>)

# The declarations of NVIDIA's management library, which is opened when the program runs.
find_path(RNNLAB_NVML nvml.h HINTS "${CMAKE_SOURCE_DIR}/.venv/nvml" DOC "A folder with NVIDIA's nvml.h")
if(NOT RNNLAB_NVML)
  message(FATAL_ERROR "NVIDIA's nvml.h is missing: scripts/bootstrap installs it, or name its folder with -DRNNLAB_NVML=FOLDER")
endif()

# LibTorch without its own CMake package, which demands a CUDA compiler of everybody.
set(RNNLAB_TORCH "${CMAKE_SOURCE_DIR}/.venv/torch" CACHE PATH "LibTorch, 2.11 to 2.15: a folder with include/ and lib/")
set(torch_version_header "${RNNLAB_TORCH}/include/torch/headeronly/version.h")
if(NOT EXISTS "${torch_version_header}")
  message(FATAL_ERROR "RNNLAB_TORCH=${RNNLAB_TORCH} is no LibTorch from 2.11 on: ${torch_version_header} is missing; scripts/bootstrap installs one")
endif()
file(STRINGS "${torch_version_header}" torch_version REGEX "define TORCH_VERSION_(MAJOR|MINOR) ")
if(NOT torch_version MATCHES "MAJOR 2;.*MINOR (1[1-5])$")
  message(FATAL_ERROR "RNNLAB_TORCH=${RNNLAB_TORCH} is another LibTorch than 2.11 to 2.15: ${torch_version}")
endif()
file(WRITE "${CMAKE_BINARY_DIR}/lib/torch_version" "2.${CMAKE_MATCH_1}\n")  # which the Python module asks of torch
get_filename_component(torch_real "${RNNLAB_TORCH}" REALPATH)

# The torch wheel carries a newer fmt, which would shadow the one that spdlog was built with in every unit that sees both.
# Torch's include folders are -isystem too, so this link must come first.
file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/system_fmt")
file(CREATE_LINK /usr/include/fmt "${CMAKE_BINARY_DIR}/system_fmt/fmt" SYMBOLIC)
include_directories(BEFORE SYSTEM "${CMAKE_BINARY_DIR}/system_fmt")

# libtorch_cpu.so exports an old std::filesystem of its own, in which remove_all, for one, jumps to address 0: the C++
# library must come before it.
add_library(rnnlab_torch INTERFACE)
target_include_directories(rnnlab_torch SYSTEM INTERFACE
  $<BUILD_INTERFACE:${RNNLAB_TORCH}/include> $<BUILD_INTERFACE:${RNNLAB_TORCH}/include/torch/csrc/api/include>)
target_link_libraries(rnnlab_torch INTERFACE stdc++
  $<BUILD_INTERFACE:${RNNLAB_TORCH}/lib/libtorch_cpu.so> $<BUILD_INTERFACE:${RNNLAB_TORCH}/lib/libc10.so>)
# The linker looks there for what those two libraries need.
set(torch_neighbours "${torch_real}/../nvidia/cu13/lib" "${torch_real}/../nvidia/cudnn/lib")
foreach(folder IN LISTS torch_neighbours)
  target_link_options(rnnlab_torch INTERFACE $<BUILD_INTERFACE:-Wl,-rpath-link,${folder}>)
endforeach()

# at::parallel_for is a template that runs on one thread wherever it is compiled without OpenMP. The runtime must be the one
# that LibTorch brings along: a second one in the process would have threads of its own.
file(GLOB torch_openmp "${RNNLAB_TORCH}/lib/libgomp*.so.1")
if(NOT torch_openmp)
  find_package(OpenMP REQUIRED COMPONENTS CXX)
  set(torch_openmp ${OpenMP_CXX_LIBRARIES})
endif()
# Fuzz targets want one thread, and clang would bring its own runtime.
if(NOT RNNLAB_FUZZ)
  target_compile_options(rnnlab_torch INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fopenmp>)
endif()
target_link_libraries(rnnlab_torch INTERFACE $<BUILD_INTERFACE:${torch_openmp}>)
add_library(rnnlab::torch ALIAS rnnlab_torch)

# What librnnlab_cuda.so stands on: LibTorch's part for GPUs, and of CUDA the libraries that LibTorch itself loads, for
# there must be only one of each in a process. They lie beside LibTorch, or in the toolkit.
include(CudaArchitectures)
if(RNNLAB_CUDA)
  enable_language(CUDA)
  get_filename_component(cuda_toolkit "${CMAKE_CUDA_COMPILER}/../.." ABSOLUTE)
  set(cuda_libraries "${torch_real}/../nvidia/cu13/lib" "${torch_real}/../nvidia/cudnn/lib" "${RNNLAB_TORCH}/lib" "${cuda_toolkit}/lib64")
  set(cuda_headers "${torch_real}/../nvidia/cudnn/include" "${cuda_toolkit}/include" "${torch_real}/../nvidia/cu13/include"
    "${torch_real}/../nvidia/nccl/include")
  add_library(rnnlab_cuda_libraries INTERFACE)
  target_link_libraries(rnnlab_cuda_libraries INTERFACE rnnlab_torch "${RNNLAB_TORCH}/lib/libtorch_cuda.so" "${RNNLAB_TORCH}/lib/libc10_cuda.so")
  foreach(library cudart.so.13 cublas.so.13 cudnn.so.9)
    find_library(RNNLAB_LIBRARY_${library} NAMES lib${library} REQUIRED NO_DEFAULT_PATH PATHS ${cuda_libraries})
    target_link_libraries(rnnlab_cuda_libraries INTERFACE "${RNNLAB_LIBRARY_${library}}")
  endforeach()
  foreach(header cuda_runtime_api.h cublas_v2.h cudnn_adv.h nvtx3/nvToolsExt.h nccl.h)
    string(MAKE_C_IDENTIFIER "${header}" name)
    find_path(RNNLAB_FOLDER_OF_${name} ${header} REQUIRED NO_DEFAULT_PATH PATHS ${cuda_headers})
    target_include_directories(rnnlab_cuda_libraries SYSTEM INTERFACE "${RNNLAB_FOLDER_OF_${name}}")
  endforeach()
endif()

# The modules find these libraries beside themselves on a machine that has other versions.
if(RNNLAB_PORTABLE)
  foreach(library yaml-cpp spdlog fmt libz.so.1 crypto zip libbz2.so.1.0)
    find_library(RNNLAB_COPIED_${library} NAMES ${library} REQUIRED)
    file(COPY "${RNNLAB_COPIED_${library}}" DESTINATION "${CMAKE_BINARY_DIR}/lib" FOLLOW_SYMLINK_CHAIN)
  endforeach()
endif()
