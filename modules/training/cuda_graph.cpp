#include "training/cuda_graph.h"

#include "base/error.h"

namespace rnnlab {

std::unique_ptr<CapturedWork> make_captured_work(c10::Device device, const CapturedWork* shares_memory_with) {
  if (!device.is_cuda()) throw_error(ExitCode::kDevice, "a CUDA graph needs a GPU; the device is {}", device.str());
  return make_cuda_graph(device, shares_memory_with);
}

}  // namespace rnnlab
