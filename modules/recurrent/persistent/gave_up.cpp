#include "recurrent/persistent/gave_up.h"

#include <c10/cuda/CUDAException.h>
#include <cuda_runtime_api.h>

#include "base/error.h"

namespace rnnlab {
namespace {

int* make_flag() {
  void* memory = nullptr;
  C10_CUDA_CHECK(cudaHostAlloc(&memory, sizeof(int), cudaHostAllocPortable | cudaHostAllocMapped));
  int* flag = static_cast<int*>(memory);
  *flag = 0;
  return flag;
}

}  // namespace

int* gave_up_flag() {
  static int* const flag = make_flag();  // for as long as the process: a kernel may write to it at any time
  return flag;
}

void require_that_none_gave_up() {
  auto* flag = static_cast<volatile int*>(gave_up_flag());
  if (*flag == 0) return;
  *flag = 0;
  throw_error(
      ExitCode::kDevice,
      "layer: persistent: a block of threads waited in vain for the others of its group, so the results since then "
      "are void; `nvidia-smi` shows whether the GPU is well, and layer: cudnn does without such groups");
}

}  // namespace rnnlab
