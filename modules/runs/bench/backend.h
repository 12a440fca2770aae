// SPDX-License-Identifier: Apache-2.0
// The interface that the timing protocol (run_bench.h) needs: runnable layers and a clock. The real implementation is
// torch_backend.h; tests have an implementation with predefined times.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/system/warning.h"
#include "runs/bench/bench_settings.h"
#include "train/loop/operation_times.h"

namespace rnnlab {

// Three passes, each of which includes the previous one: the differences of their times are the times of the parts.
enum class Pass {
  kForward,       // the forward pass of training, which keeps values for the backward pass
  kBackwardData,  // and the backward pass for the input and the initial state, without gradients of the weights
  kBackward,      // and the backward pass for the weights
};
inline constexpr std::array<Pass, 3> kPasses = {Pass::kForward, Pass::kBackwardData, Pass::kBackward};

class LayerRunner {
 public:
  virtual ~LayerRunner() = default;

  // Runs `pass` `iterations` times and returns the seconds. Rethrows the exceptions of the layer.
  virtual double run(Pass pass, int64_t iterations) = 0;
};

// The highest rates of the device, measured in the same process.
struct Ceiling {
  std::string device;
  std::string precision;
  double gemm_flops_per_second = 0;  // of one large square product
  double copy_bytes_per_second = 0;  // of one large copy, bytes read and bytes written

  RNNLAB_FIELDS(device, precision, gemm_flops_per_second, copy_bytes_per_second)
};

// Observations of one step of Pass::kBackward, made outside the timing.
struct LayerInspection {
  std::string path;                // "cuDNN standard algorithm (float32)"
  std::vector<std::string> notes;  // why no faster path was used
  std::vector<KernelUse> kernels;  // the longest first
  int64_t peak_memory_bytes = 0;   // beyond weights, inputs and the given gradients
};

// The circumstances in which the layers of a combination were sampled.
struct SamplingRecord {
  std::optional<double> wall_seconds, cpu_seconds;  // elapsed, and computed by all threads of the process
  // Reasons to doubt the times: GPU throttling ("GPU 0 throttled: power cap, SM clock 1200 of 1980 MHz"), waiting of
  // the process, and an estimated need above the free memory.
  std::vector<Warning> warnings;
};

class BenchBackend {
 public:
  virtual ~BenchBackend() = default;

  // Configures the process for a combination and draws its weights and inputs; runners of earlier combinations become
  // invalid. Throws UserError if this machine cannot run the combination with any layer.
  virtual void begin(const BenchCase& combination) = 0;

  // Returns the device of the combination: "cpu", "cuda", "cuda1".
  virtual std::string device() const = 0;

  // Returns a layer with the combination's weights. Throws UserError if the layer refuses the combination.
  virtual std::unique_ptr<LayerRunner> make_runner(LayerChoice layer) = 0;

  // Measures the ceiling of the combination's device and precision.
  virtual Ceiling measure_ceiling() = 0;

  // These functions are called before and after the layers of a combination are sampled.
  virtual void begin_sampling() = 0;
  virtual SamplingRecord end_sampling() = 0;

  // Profiling may slow down later work of this process.
  virtual LayerInspection inspect(LayerChoice layer) = 0;
};

}  // namespace rnnlab
