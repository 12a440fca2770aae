// SPDX-License-Identifier: Apache-2.0
// The real backend: it runs layers with LibTorch on this machine.
#pragma once

#include <c10/core/Device.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/system/counters.h"
#include "base/system/gpu_info.h"
#include "layers/recurrent_layer.h"
#include "runs/bench/backend.h"
#include "train/loop/cuda_functions.h"

namespace rnnlab {

// Returns the seconds from the moment when the device starts the work that `work` queues on the current stream to the
// moment when it has finished, by CUDA events; on the CPU by the steady clock. Synchronises the device before and
// after. The time in which the device waits for the host to queue more work is included.
double seconds_of(c10::Device device, const std::function<void()>& work);

// Returns the kernels that `work` ran on a GPU, or the operators on the CPU, by LibTorch's profiler: at most 20 kinds,
// the longest first, with names cut to 160 bytes. Synchronises the device. Profiling a GPU leaves hooks in the driver
// that may slow down later work of the process.
std::vector<KernelUse> kernels_during(c10::Device device, const std::function<void()>& work);

// Returns the most memory that `work` holds through LibTorch in addition to the memory at its start. On a CPU only
// tensors that this thread allocates count; buffers of libraries do not.
int64_t peak_bytes_during(c10::Device device, const std::function<void()>& work);

// Returns a warning for each GPU of the survey whose clocks are throttled.
std::vector<Warning> throttling(const GpuSurvey& survey);

// The common data of all layers of a combination, drawn with a seed.
struct Problem {
  BenchCase combination;
  c10::Device device = c10::kCPU;
  std::shared_ptr<RecurrentLayer> weights;  // on the CPU, in float32
  at::Tensor input;                         // (T, B, I) on the device, in float32, like the tensors below
  RecurrentState initial;                   // (L * D, B, H)
  at::Tensor starts;                        // (T, B) bool, or undefined
  at::Tensor output_gradient;               // (T, B, D * H)
};
Problem make_problem(const BenchCase& combination, c10::Device device, uint64_t seed);

// One layer with its weights and inputs, and the three timed passes (backend.h), with kernels launched one by one or
// replayed from CUDA graphs. Throws UserError kUsage if the layer refuses the options or the device.
class TimedLayer : public LayerRunner {
 public:
  // Graphs share the memory of `graph_memory`, which may be null unless the combination's mode is graph.
  TimedLayer(const Problem& problem, LayerChoice layer, const CapturedWork* graph_memory);

  double run(Pass pass, int64_t iterations) override;

  // Queues one pass eagerly and does not wait for it.
  void step(Pass pass);

 private:
  void require_gradients(Pass pass);
  void capture(Pass pass);
  void start(Pass pass);

  const Problem& problem_;
  const CapturedWork* graph_memory_;
  std::shared_ptr<RecurrentLayer> layer_;
  at::Tensor input_;
  RecurrentState initial_;
  at::Tensor output_gradient_;  // in the type of the layer's output
  std::vector<at::Tensor> data_, data_and_weights_;
  std::array<std::unique_ptr<CapturedWork>, kPasses.size()> graphs_;
};

class TorchBackend : public BenchBackend {
 public:
  // Uses settings.seed for all draws, and sets the number of threads of this process.
  explicit TorchBackend(const BenchSettings& settings);

  void begin(const BenchCase& combination) override;
  std::string device() const override;
  std::unique_ptr<LayerRunner> make_runner(LayerChoice layer) override;
  Ceiling measure_ceiling() override;
  void begin_sampling() override;
  SamplingRecord end_sampling() override;
  LayerInspection inspect(LayerChoice layer) override;

 private:
  std::vector<Warning> waiting_during(double wall_seconds, const EpochMeasurements& seen) const;

  uint64_t seed_;
  std::vector<std::string> memory_warnings_;  // of the combination
  std::optional<Problem> problem_;
  EpochCounters witness_;
  std::chrono::steady_clock::time_point sampling_began_;
  std::unique_ptr<CapturedWork> graph_memory_;  // captures no work; all graphs share its memory
};

}  // namespace rnnlab
