// What a GPU has taken of energy, by its own counter: a witness of an epoch that no clock of the host has a part in.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace rnnlab {

class GpuEnergy {
 public:
  // Of the GPU with this UUID; "" is none. `library` is another one in tests.
  explicit GpuEnergy(const std::string& uuid, const char* library = "libnvidia-ml.so.1");
  ~GpuEnergy();
  GpuEnergy(const GpuEnergy&) = delete;
  GpuEnergy& operator=(const GpuEnergy&) = delete;

  // Joules since the driver was loaded. It counts in steps of a tenth of a second, and to ask takes milliseconds.
  // Nothing where the GPU does not count.
  std::optional<double> joules() const;

 private:
  struct Counter;
  std::unique_ptr<Counter> counter_;
};

}  // namespace rnnlab
