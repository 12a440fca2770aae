// SPDX-License-Identifier: Apache-2.0
#include "layers/device/gpu_support.h"

#include "layers/device/gpu_device.h"

namespace rnnlab {

bool has_own_kernels(c10::Device device) {
  static DeviceAnswers answers;
  return device.is_cuda() && answers.of(device, has_own_code);
}

Gpu gpu_of(c10::Device device) {
  const GpuProperties properties = properties_of_gpu(device);
  return {.name = properties.name,
          .capability = {properties.major, properties.minor},
          .has_own_kernels = has_own_kernels(device)};
}

LayerWork work_on(c10::Device device, LayerWork work) {
  work.processor = processor_of(device);
  if (device.is_cuda()) work.gpu = gpu_of(device);
  return work;
}

}  // namespace rnnlab
