// One layer with its weights and inputs, and the three programs that are timed on it (laboratory.h), started kernel by
// kernel or replayed from CUDA graphs.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "bench/laboratory.h"
#include "recurrent/recurrent_layer.h"
#include "training/cuda_graph.h"

namespace rnnlab {

// What all layers of a combination have in common, drawn by a seed.
struct Problem {
  Combination combination;
  c10::Device device = c10::kCPU;
  std::shared_ptr<RecurrentLayer> weights;  // on the CPU, in float32
  at::Tensor input;                         // (T, B, I) on the device, in float32, as all of these
  RecurrentState initial;                   // (L * D, B, H)
  at::Tensor output_gradient;               // (T, B, D * H)
};
Problem make_problem(const Combination& combination, c10::Device device, uint64_t seed);

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

}  // namespace rnnlab
