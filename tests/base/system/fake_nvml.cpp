// SPDX-License-Identifier: Apache-2.0
// A library with NVML's functions and one GPU, so that reading NVML is tested on machines without NVML.
#include <nvml.h>
#include <unistd.h>

#include <cstdio>

namespace {

unsigned long long the_energy = 5'000;  // millijoules: each reading finds 250 more

nvmlReturn_t say(const char* what, char* text, unsigned size) {
  std::snprintf(text, size, "%s", what);
  return NVML_SUCCESS;
}

}  // namespace

extern "C" {

nvmlReturn_t nvmlInit_v2() { return NVML_SUCCESS; }
nvmlReturn_t nvmlShutdown() { return NVML_SUCCESS; }
nvmlReturn_t nvmlSystemGetDriverVersion(char* text, unsigned size) { return say("580.1", text, size); }
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = 12020;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t, int* major, int* minor) {
  *major = 7;
  *minor = 5;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 1;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned, nvmlDevice_t* device) {
  static int the_device;
  *device = reinterpret_cast<nvmlDevice_t>(&the_device);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
  if (uuid[0] == '\0') return NVML_ERROR_INVALID_ARGUMENT;
  return nvmlDeviceGetHandleByIndex_v2(0, device);
}
nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t, unsigned long long* energy) {
  *energy = the_energy;
  the_energy += 250;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t, char* text, unsigned size) { return say("Fake GPU", text, size); }
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t, nvmlMemory_t* memory) {
  *memory = {.total = 1000, .free = 600, .used = 400};
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t, nvmlClockType_t type, unsigned* clock) {
  *clock = type == NVML_CLOCK_SM ? 1200 : 2600;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t, nvmlClockType_t type, unsigned* clock) {
  *clock = type == NVML_CLOCK_SM ? 1980 : 3200;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t, unsigned long long* mask) {
  *mask =
      nvmlClocksThrottleReasonGpuIdle | nvmlClocksThrottleReasonSwPowerCap | nvmlClocksThrottleReasonHwThermalSlowdown;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t, unsigned* milliwatts) {
  *milliwatts = 76500;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t, unsigned* milliwatts) {
  *milliwatts = 700000;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t, nvmlTemperatureSensors_t, unsigned*) {
  return NVML_ERROR_NOT_SUPPORTED;
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t, unsigned* count, nvmlProcessInfo_t* processes) {
  processes[0] = {
      .pid = static_cast<unsigned>(getpid()), .usedGpuMemory = 1, .gpuInstanceId = 0, .computeInstanceId = 0};
  processes[1] = {.pid = 4321, .usedGpuMemory = 1, .gpuInstanceId = 0, .computeInstanceId = 0};
  *count = 2;
  return NVML_SUCCESS;
}

}  // extern "C"
