// The operators that recurrent layers and convolutions call in their forward passes, seen through LibTorch's profiling
// callbacks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "recurrent/cudnn_algorithm.h"
#include "recurrent/execution_path.h"

namespace rnnlab {

// One forward pass of one layer.
struct LayerCall {
  int64_t cell_steps = 0;          // T * L * D
  int64_t num_gemms = 0;           // matrix products
  std::string recurrent_operator;  // "aten::lstm"; "" where the layer's own loop ran
  std::string recurrent_kernel;    // "aten::_cudnn_rnn", "aten::mkldnn_rnn_layer", "aten::_thnn_fused_lstm_cell", or ""
  bool is_packed = false;          // lengths
  bool is_cuda = false;
  at::ScalarType type = at::kFloat;  // of the input, before autocast
  std::vector<CudnnCall> cudnn;      // LibTorch's calls of cuDNN, as cuDNN was called
  std::vector<ExecutionPath> reported;
};

// Runs `work` and gives the calls of RecurrentLayer::forward on this thread, in order; between them a convolution, and
// what was reported outside of a recurrent layer, is a call of its own that has no more than `reported`.
std::vector<LayerCall> layer_calls_during(const std::function<void()>& work);

// Runs `work`, whose calls no layer_calls_during around it sees.
void without_observer(const std::function<void()>& work);

// For layers whose code no operator of LibTorch's gives away: tells the path of the forward pass that runs now, or of
// what stands for itself.
// `describe` is called only where somebody observes.
void report_path(const std::function<ExecutionPath()>& describe);

}  // namespace rnnlab
