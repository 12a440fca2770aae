# SPDX-License-Identifier: Apache-2.0
# For which GPUs rnnlab's own CUDA kernels are compiled, as RNNLAB_KERNEL_ARCHITECTURES in CMake's notation. 90-real is
# code for compute capability 9.0 and later minor versions of it, 75-virtual is PTX, which the driver compiles for any GPU
# from 7.5 on when the kernels are loaded, and 90 is both.

set(RNNLAB_CUDA_ARCHITECTURES "native" CACHE STRING
  "GPUs to compile own kernels for, such as 80-real;90-real, 75-virtual (PTX), all, or native: those in this machine")

# PTX for the oldest GPU runs on all, so it stands in for what is not known.
set(rnnlab_any_gpu 75-virtual)

# Code runs on later minor versions of its major one, so these cover 7.5, 8.0, 8.6, 8.9, 9.0, 10.0 and 12.0; the PTX in the
# last is for GPUs that come after them.
set(rnnlab_all_gpus 75-real 80-real 90-real 100-real 120)

# The GPUs in this machine, by nvidia-smi; PTX where there are none, or one that this nvcc does not know.
function(rnnlab_native_architectures result)
  set(known 75 80 86 87 88 89 90 100 103 110 120 121)
  set(${result} ${rnnlab_any_gpu} PARENT_SCOPE)
  find_program(RNNLAB_NVIDIA_SMI nvidia-smi)
  if(NOT RNNLAB_NVIDIA_SMI)
    return()
  endif()
  execute_process(COMMAND "${RNNLAB_NVIDIA_SMI}" --query-gpu=compute_cap --format=csv,noheader
    OUTPUT_VARIABLE answer ERROR_QUIET RESULT_VARIABLE status)
  string(REGEX MATCHALL "[0-9]+\\.[0-9]" capabilities "${answer}")
  if(NOT status EQUAL 0 OR NOT capabilities)
    return()
  endif()
  list(REMOVE_DUPLICATES capabilities)
  foreach(capability ${capabilities})
    string(REPLACE "." "" number "${capability}")
    if(NOT number IN_LIST known)
      return()
    endif()
    list(APPEND architectures ${number}-real)
  endforeach()
  set(${result} ${architectures} PARENT_SCOPE)
endfunction()

if(NOT RNNLAB_CUDA)
  set(RNNLAB_KERNEL_ARCHITECTURES "")
  return()
endif()

if(RNNLAB_CUDA_ARCHITECTURES STREQUAL "native")
  rnnlab_native_architectures(RNNLAB_KERNEL_ARCHITECTURES)
elseif(RNNLAB_CUDA_ARCHITECTURES STREQUAL "all")
  set(RNNLAB_KERNEL_ARCHITECTURES ${rnnlab_all_gpus})
else()
  set(RNNLAB_KERNEL_ARCHITECTURES ${RNNLAB_CUDA_ARCHITECTURES})
endif()
foreach(architecture ${RNNLAB_KERNEL_ARCHITECTURES})
  if(NOT architecture MATCHES "^[0-9]+(-real|-virtual)?$")
    message(FATAL_ERROR "RNNLAB_CUDA_ARCHITECTURES: got ${architecture}, expected such as 90-real, 75-virtual, 90, all or native")
  endif()
endforeach()
message(STATUS "Own CUDA kernels are compiled for: ${RNNLAB_KERNEL_ARCHITECTURES} (RNNLAB_CUDA_ARCHITECTURES)")

# Targets get it as they are made.
set(CMAKE_CUDA_ARCHITECTURES ${RNNLAB_KERNEL_ARCHITECTURES})
