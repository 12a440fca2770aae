# Every library that rnnlab stands on, found once.

find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(spdlog REQUIRED)
find_package(fmt REQUIRED)
find_package(ZLIB REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(GTest REQUIRED)

# TorchConfig probes the GPU for its architecture, which fails on a machine that has none. The flags that it adds for what
# it is told here are taken out again: every target has its own property CUDA_ARCHITECTURES.
set(TORCH_CUDA_ARCH_LIST "9.0")
find_package(Torch 2.11 REQUIRED)
set(RNNLAB_TORCH_CUDA_FLAGS "${CMAKE_CUDA_FLAGS}")
string(REGEX REPLACE " *-gencode[ ;]+arch=[^ ;]+" "" CMAKE_CUDA_FLAGS "${CMAKE_CUDA_FLAGS}")
include(CudaArchitectures)

# The torch wheel carries a newer fmt, which would shadow the one that spdlog was built with in every unit that sees both.
# Torch's include folders are -isystem too, so this link must come first.
file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/system_fmt")
file(CREATE_LINK /usr/include/fmt "${CMAKE_BINARY_DIR}/system_fmt/fmt" SYMBOLIC)
include_directories(BEFORE SYSTEM "${CMAKE_BINARY_DIR}/system_fmt")

# libtorch.so exports an old std::filesystem of its own, in which remove_all, for one, jumps to address 0: the C++ library
# must come before it.
add_library(rnnlab_torch INTERFACE)
target_link_libraries(rnnlab_torch INTERFACE stdc++ ${TORCH_LIBRARIES})

# at::parallel_for is a template that runs on one thread wherever it is compiled without OpenMP. The runtime must be the one
# that LibTorch brings along: a second one in the process would have threads of its own.
file(GLOB torch_openmp "${TORCH_INSTALL_PREFIX}/lib/libgomp*.so.1")
if(NOT torch_openmp)
  find_package(OpenMP REQUIRED COMPONENTS CXX)
  set(torch_openmp ${OpenMP_CXX_LIBRARIES})
endif()
# Fuzz targets want one thread, and clang would bring its own runtime.
if(NOT RNNLAB_FUZZ)
  target_compile_options(rnnlab_torch INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fopenmp>)
endif()
target_link_libraries(rnnlab_torch INTERFACE ${torch_openmp})
add_library(rnnlab::torch ALIAS rnnlab_torch)

# cuDNN, called directly: the one that LibTorch itself loads, with the headers beside it. There must be only one in a process.
# TORCH_INSTALL_PREFIX may be a link into the wheel, whose neighbours are beside what it points to.
get_filename_component(torch_real "${TORCH_INSTALL_PREFIX}" REALPATH)
get_filename_component(torch_cudnn "${torch_real}/../nvidia/cudnn" ABSOLUTE)
find_library(RNNLAB_CUDNN_LIBRARY NAMES libcudnn.so.9 REQUIRED NO_DEFAULT_PATH
  PATHS "${torch_cudnn}/lib" "${TORCH_INSTALL_PREFIX}/lib" "${CUDA_TOOLKIT_ROOT_DIR}/lib64")
find_path(RNNLAB_CUDNN_INCLUDE cudnn_adv.h REQUIRED NO_DEFAULT_PATH
  PATHS "${torch_cudnn}/include" "${CUDA_TOOLKIT_ROOT_DIR}/include")
add_library(rnnlab_cudnn INTERFACE)
target_include_directories(rnnlab_cudnn SYSTEM INTERFACE "${RNNLAB_CUDNN_INCLUDE}")
target_link_libraries(rnnlab_cudnn INTERFACE "${RNNLAB_CUDNN_LIBRARY}")
add_library(rnnlab::cudnn ALIAS rnnlab_cudnn)

# NVTX is headers alone; a toolkit that was installed in parts may lack them, and LibTorch's wheel brings them along.
get_filename_component(torch_cuda "${torch_real}/../nvidia/cu13" ABSOLUTE)
find_path(RNNLAB_NVTX_INCLUDE nvtx3/nvToolsExt.h REQUIRED NO_DEFAULT_PATH
  PATHS "${CUDA_TOOLKIT_ROOT_DIR}/include" "${torch_cuda}/include")
add_library(rnnlab_nvtx INTERFACE)
target_include_directories(rnnlab_nvtx SYSTEM INTERFACE "${RNNLAB_NVTX_INCLUDE}")
target_link_libraries(rnnlab_nvtx INTERFACE ${CMAKE_DL_LIBS})
add_library(rnnlab::nvtx ALIAS rnnlab_nvtx)

if(RNNLAB_PORTABLE)
  set(RNNLAB_FMT fmt::fmt-header-only)
  set(RNNLAB_SPDLOG spdlog::spdlog_header_only)
  find_library(RNNLAB_YAML libyaml-cpp.a REQUIRED)
  find_library(RNNLAB_ZLIB libz.a REQUIRED)
  find_library(RNNLAB_CRYPTO libcrypto.a REQUIRED)
else()
  set(RNNLAB_FMT fmt::fmt)
  set(RNNLAB_SPDLOG spdlog::spdlog)
  set(RNNLAB_YAML yaml-cpp)
  set(RNNLAB_ZLIB ZLIB::ZLIB)
  set(RNNLAB_CRYPTO OpenSSL::Crypto)
endif()
