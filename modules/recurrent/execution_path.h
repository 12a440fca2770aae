// Which code a recurrent layer, or a convolution, really ran: LibTorch chooses between cuDNN, oneDNN and loops of its
// own without a word. Found by watching one real training step, not by repeating LibTorch's conditions; only cuDNN's
// algorithm, which nothing reports, is worked out from the call's arguments.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "recurrent/cudnn_algorithm.h"

namespace rnnlab {

// What oneDNN says about the recurrent primitives it runs. It speaks only by printing to standard output, so that has
// to be caught: everything else that is printed meanwhile is printed again afterwards, and standard output and oneDNN's
// silence are always restored.

struct OnednnCall {
  std::string implementation;  // "ref", "brgemm:avx512_core"
  std::string propagation;     // "forward_training", "forward_inference", "backward"
};

// Runs `work` and gives oneDNN's recurrent calls in order. Other threads must not print to standard output meanwhile.
// Gives none where standard output cannot be caught.
std::vector<OnednnCall> onednn_calls_during(const std::function<void()>& work);

// The recurrent calls in oneDNN's verbose output
// ("onednn_verbose,v1,primitive,exec,cpu,rnn,ref,forward_training,..."); other lines are appended to `others`.
std::vector<OnednnCall> parse_onednn_log(std::string_view log, std::string& others);

struct ExecutionPath {
  std::string path;                // "oneDNN rnn ref (training)", "native loop, 8 GEMMs a step"
  std::vector<std::string> notes;  // why a faster path was not taken, and what else is worth knowing
};

// Runs `training_step`, one forward and backward pass through a model, on this thread, and tells the path of its
// recurrent layers and convolutions; where they differ, all of them, separated by "; ". Costs more than a plain step
// (use a warm-up step) and must not run beside threads that print to standard output. Whatever the step throws passes
// through.
ExecutionPath observe_execution_path(const std::function<void()>& training_step);

// The operators that recurrent layers and convolutions call in their forward passes, seen through LibTorch's profiling
// callbacks.

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
