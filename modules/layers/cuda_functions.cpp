// SPDX-License-Identifier: Apache-2.0
#include "layers/cuda_functions.h"

#include <ATen/cuda/CUDAContext.h>

#include <iterator>
#include <string>

#include "layers/cudnn/cudnn_layer.h"
#include "layers/device/gpu_device.h"
#include "layers/device/run_kernels_on_cuda.h"
#include "layers/kernels/own_code.h"
#include "layers/kernels/program_scan.h"
#include "layers/kernels/program_step.h"
#include "layers/persistent/persistent_layer.h"
#include "layers/persistent/persistent_pass.h"

namespace rnnlab {
namespace {

const PersistentPass& functions_of_persistent() {
  static constexpr PersistentPass kFunctions = {require_persistent,      persistent_path, run_persistent_forward,
                                                run_persistent_backward, slstm_path,      run_slstm_forward,
                                                run_slstm_backward};
  return kFunctions;
}

std::shared_ptr<RecurrentLayer> make_layer_of_cudnn(const RecurrentOptions& options) {
  return std::make_shared<CudnnLayer>(options);
}

int priority_of(c10::Stream stream) { return c10::cuda::CUDAStream(stream).priority(); }

GpuProperties properties_of(c10::Device device) {
  const auto* properties = at::cuda::getDeviceProperties(device.index());
  return {properties->name, properties->major, properties->minor};
}

std::string uuid_of(c10::Device device) {
  const auto& bytes = at::cuda::getDeviceProperties(device.index())->uuid.bytes;
  std::string text = "GPU-";
  for (size_t i = 0; i < std::size(bytes); ++i)
    text += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", static_cast<uint8_t>(bytes[i]));
  return text;
}

[[maybe_unused]] const bool kRecurrentFunctions =
    make_cudnn_layer.define(make_layer_of_cudnn) && persistent_pass.define(functions_of_persistent) &&
    priority_of_stream.define(priority_of) && uuid_of_gpu.define(uuid_of) && properties_of_gpu.define(properties_of) &&
    has_own_code.define(kernels::has_own_code) &&
    why_no_persistent_kernels.define(kernels::persistent_kernels_refusal) &&
    notes_on_compiled_kernels.define(kernels::take_persistent_notes) &&
    define_kernels<kernels::ProgramStep, std::span<const kernels::ProgramStep>, kernels::ProgramScan>();

}  // namespace
}  // namespace rnnlab
