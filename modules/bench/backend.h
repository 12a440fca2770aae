// What the timing protocol (run_bench.h) needs of the world: layers that run, and a clock. The real one is
// torch_backend.h; tests have one whose times are written down.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/bench_case.h"
#include "system/warning.h"

namespace rnnlab {

// Three programs, each with all of the one before: their differences are the times of the parts.
enum class Program {
  kForward,      // as in training: keeps what the backward pass needs
  kForwardData,  // and the backward pass for the input and the initial state; the weights want no gradients
  kAll,          // and for the weights
};
inline constexpr std::array<Program, 3> kPrograms = {Program::kForward, Program::kForwardData, Program::kAll};

class LayerRunner {
 public:
  virtual ~LayerRunner() = default;

  // Runs `program` `iterations` times and gives the seconds it took. Throws whatever the layer throws.
  virtual double run(Program program, int64_t iterations) = 0;
};

// What the device does at its best, measured in the same process.
struct Ceiling {
  std::string device;
  std::string precision;
  double gemm_flops_per_second = 0;  // of one large square product
  double copy_bytes_per_second = 0;  // of one large copy, bytes read and bytes written

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("device", self.device);
    field("precision", self.precision);
    field("gemm_flops_per_second", self.gemm_flops_per_second);
    field("copy_bytes_per_second", self.copy_bytes_per_second);
  }
};

// One kind of kernel on a GPU, or of operator on a CPU, in one step of Program::kAll.
struct KernelUse {
  std::string name;
  int64_t count = 0;
  double seconds = 0;  // of the kernel, or in the operator itself without those that it calls

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("name", self.name);
    field("count", self.count);
    field("seconds", self.seconds);
  }
};

// What one step of Program::kAll did, looked at outside the timing.
struct Inspection {
  std::string path;                // "cuDNN standard algorithm (float32)"
  std::vector<std::string> notes;  // why no faster path
  std::vector<KernelUse> kernels;  // the longest first
  int64_t peak_memory_bytes = 0;   // beyond weights, inputs and the given gradients
};

// What the layers of a combination took turns in.
struct SamplingRecord {
  std::optional<double> wall_seconds, cpu_seconds;  // that passed, and that all threads of the process computed
  // What makes the times doubtful: what held the device back just now ("GPU 0 throttled: power cap, SM clock 1200 of
  // 1980 MHz"), what kept the process waiting, and a need beyond the memory that was free.
  std::vector<Warning> doubts;
};

class BenchBackend {
 public:
  virtual ~BenchBackend() = default;

  // Sets the process up for a combination and draws its weights and inputs; what was made for another is void then.
  // UserError where this machine cannot do it whatever the layer.
  virtual void begin(const BenchCase& combination) = 0;

  // The device of the combination: "cpu", "cuda", "cuda1".
  virtual std::string device() const = 0;

  // A layer with the combination's weights. UserError where the layer refuses.
  virtual std::unique_ptr<LayerRunner> make_runner(LayerKind layer) = 0;

  // Of the combination's device and precision.
  virtual Ceiling measure_ceiling() = 0;

  // Called before the layers of a combination take turns, and after.
  virtual void begin_sampling() = 0;
  virtual SamplingRecord end_sampling() = 0;

  // May slow down what runs later in this process.
  virtual Inspection inspect(LayerKind layer) = 0;
};

}  // namespace rnnlab
