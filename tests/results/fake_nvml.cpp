// A library with NVML's names and one GPU in it, so that reading it is tested on machines without one.
#include <unistd.h>

#include <cstdio>

extern "C" {

struct FakeMemory {
  unsigned long long total, free, used;
};
struct FakeProcess {
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance, compute_instance;
};

int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
int nvmlSystemGetDriverVersion(char* text, unsigned size) { return std::snprintf(text, size, "580.1") < 0; }
int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = 12020;
  return 0;
}
int nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
  *major = 7;
  *minor = 5;
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 1;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned, void** device) {
  static int the_device;
  *device = &the_device;
  return 0;
}
int nvmlDeviceGetName(void*, char* text, unsigned size) { return std::snprintf(text, size, "Fake GPU") < 0; }
int nvmlDeviceGetMemoryInfo(void*, FakeMemory* memory) {
  *memory = {1000, 600, 400};
  return 0;
}
int nvmlDeviceGetClockInfo(void*, unsigned type, unsigned* clock) {
  *clock = type == 1 ? 1200 : 2600;
  return 0;
}
int nvmlDeviceGetMaxClockInfo(void*, unsigned type, unsigned* clock) {
  *clock = type == 1 ? 1980 : 3200;
  return 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* mask) {
  *mask = 0x1 | 0x4 | 0x40;
  return 0;
}
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = 76500;
  return 0;
}
int nvmlDeviceGetTemperature(void*, unsigned, unsigned*) { return 3; }  // not supported
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, FakeProcess* processes) {
  processes[0] = {static_cast<unsigned>(getpid()), 1, 0, 0};
  processes[1] = {4321, 1, 0, 0};
  *count = 2;
  return 0;
}

}  // extern "C"
