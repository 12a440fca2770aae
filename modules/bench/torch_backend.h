// The real backend: LibTorch on this machine.
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

#include "bench/backend.h"
#include "recurrent/recurrent_layer.h"
#include "system/epoch_witness.h"
#include "system/gpu_info.h"
#include "training/cuda_graph.h"

namespace rnnlab {

// How long queued work takes on its device, from outside the work.

// Seconds from the moment the device begins with what `work` queues on the current stream to the moment it has finished
// it, by CUDA events; on the CPU by the steady clock. Waits for the device before and after. Time in which a device
// waits for the host to queue more is counted.
double seconds_of(c10::Device device, const std::function<void()>& work);

// Which kernels a piece of work ran on a GPU, or which operators on the CPU, by LibTorch's profiler. Watching a GPU
// leaves hooks in the driver behind that may slow down what the process does later.

// The kinds that took longest first, at most 20; names are cut to 160 bytes. Waits for the device.
std::vector<KernelUse> kernels_during(c10::Device device, const std::function<void()>& work);

// A call, within another one of its thread or not.
struct CallSpan {
  std::string name;
  uint64_t thread = 0;
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
};

// By name: how many calls, and the time in them that was not in calls within. The longest first.
std::vector<KernelUse> self_times(std::vector<CallSpan> calls);

// The most memory that a piece of work holds through LibTorch beyond what was there when it began.

// On a CPU the tensors that this thread allocates; libraries' own buffers are not seen.
int64_t peak_bytes_during(c10::Device device, const std::function<void()>& work);

// Clocks that are held down while a benchmark runs, from a survey of the machine.

// A line for each GPU whose clocks are held down.
std::vector<std::string> throttling(const GpuSurvey& survey);

// One layer with its weights and inputs, and the three programs that are timed on it (backend.h), started kernel by
// kernel or replayed from CUDA graphs.

// What all layers of a combination have in common, drawn by a seed.
struct Problem {
  BenchCase combination;
  c10::Device device = c10::kCPU;
  std::shared_ptr<RecurrentLayer> weights;  // on the CPU, in float32
  at::Tensor input;                         // (T, B, I) on the device, in float32, as all of these
  RecurrentState initial;                   // (L * D, B, H)
  at::Tensor output_gradient;               // (T, B, D * H)
};
Problem make_problem(const BenchCase& combination, c10::Device device, uint64_t seed);

// UserError kUsage where the layer refuses the options or the device.
class LayerPrograms : public LayerRunner {
 public:
  // Graphs share the memory of `graph_memory`, which may be null unless the combination's mode is graph.
  LayerPrograms(const Problem& problem, LayerKind kind, const CapturedWork* graph_memory);

  double run(Program program, int64_t iterations) override;

  // One pass, eagerly: queues it and does not wait.
  void step(Program program);

 private:
  void want_gradients(Program program);
  void capture(Program program);
  void start(Program program);

  const Problem& problem_;
  const CapturedWork* graph_memory_;
  std::shared_ptr<RecurrentLayer> layer_;
  at::Tensor input_;
  RecurrentState initial_;
  at::Tensor output_gradient_;  // in the type of the layer's output
  std::vector<at::Tensor> data_, data_and_weights_;
  std::array<std::unique_ptr<CapturedWork>, kPrograms.size()> graphs_;
};

class TorchBackend : public BenchBackend {
 public:
  // Draws by settings.seed, and sets the number of threads of this process.
  explicit TorchBackend(const BenchSettings& settings);

  void begin(const BenchCase& combination) override;
  std::string device() const override;
  std::unique_ptr<LayerRunner> make_runner(LayerKind layer) override;
  Ceiling measure_ceiling() override;
  void begin_sampling() override;
  SamplingRecord end_sampling() override;
  Inspection inspect(LayerKind layer) override;

 private:
  std::vector<Warning> waiting_during(double wall_seconds, const EpochEvidence& seen) const;

  uint64_t seed_;
  std::vector<std::string> memory_warnings_;  // of the combination
  std::optional<Problem> problem_;
  EpochWitness witness_;
  std::chrono::steady_clock::time_point sampling_began_;
  std::unique_ptr<CapturedWork> graph_memory_;  // captures nothing itself
};

}  // namespace rnnlab
