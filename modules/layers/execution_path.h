// SPDX-License-Identifier: Apache-2.0
// Finds out which code a recurrent layer or a convolution ran, because LibTorch chooses between cuDNN, oneDNN and its
// own loops without reporting it. One real training step is observed; LibTorch's conditions are not repeated. Only
// cuDNN's algorithm, which nothing reports, is derived from the call's arguments.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "layers/recurrent_options.h"

namespace rnnlab {

enum class CudnnPass { kForward, kBackward };
enum class CudnnSequences { kWhole, kPacked };  // kPacked: of varied lengths

struct CudnnCall {
  Cell cell = Cell::kLstm;
  int64_t input_size = 0, hidden_size = 0, batch_size = 0, num_layers = 1, num_directions = 1;
  at::ScalarType type = at::kFloat;  // of the tensors that reach cuDNN, after autocast
  CudnnSequences sequences = CudnnSequences::kWhole;
};

// Returns LibTorch's choice for one pass of `call`; never kAuto. The passes of one call may differ.
CudnnAlgorithm cudnn_algorithm(const CudnnCall& call, CudnnPass pass);

// Returns "standard", "persist static" or "persist static small-H".
std::string_view algorithm_text(CudnnAlgorithm algorithm);

// Returns why `call` runs the standard algorithm in both directions; "" if it does not.
std::string why_standard(const CudnnCall& call);

// oneDNN reports the recurrent primitives that it runs only by printing to standard output, so standard output is
// captured. Everything else that is printed meanwhile is printed again afterwards. Standard output and oneDNN's
// verbosity are always restored.

struct OnednnCall {
  std::string implementation;  // "ref", "brgemm:avx512_core"
  std::string propagation;     // "forward_training", "forward_inference", "backward"
};

// Runs `work` and returns oneDNN's recurrent calls in order. Other threads must not print to standard output meanwhile.
// Returns no calls if standard output cannot be captured.
std::vector<OnednnCall> onednn_calls_during(const std::function<void()>& work);

// Returns the recurrent calls in oneDNN's verbose output
// ("onednn_verbose,v1,primitive,exec,cpu,rnn,ref,forward_training,..."); other lines are appended to `others`.
std::vector<OnednnCall> parse_onednn_log(std::string_view log, std::string& others);

// A setting that the observed work did not obey, because other code ran than the one that the setting names.
struct PathFallback {
  std::string key;     // "layer", "convolution" or "cudnn_algorithm"
  std::string done;    // what ran: "the code of layer: hoisted"
  std::string reason;  // a clause
};

struct ExecutionPath {
  std::string path;                // "oneDNN rnn ref (training)", "native loop, 8 GEMMs a step"
  std::vector<std::string> notes;  // why a faster path was not taken, and further information
  std::vector<PathFallback> fallbacks = {};
};

// Runs `training_step`, one forward and backward pass through a model, on this thread, and returns the path of its
// recurrent layers and convolutions; different paths are separated by "; ". An observed step takes longer than a normal
// step (use a warm-up step), and no other thread may print to standard output meanwhile. Exceptions of the step are
// passed on.
ExecutionPath observe_execution_path(const std::function<void()>& training_step);

// Describes one forward pass of one layer by the operators that it called, which LibTorch's profiling callbacks report.
struct LayerCall {
  int64_t cell_steps = 0;          // T * L * D
  int64_t num_gemms = 0;           // matrix products
  std::string recurrent_operator;  // "aten::lstm"; "" if the layer's own loop ran
  std::string recurrent_kernel;    // "aten::_cudnn_rnn", "aten::mkldnn_rnn_layer", "aten::_thnn_fused_lstm_cell", or ""
  bool is_packed = false;          // sequences of different lengths
  bool is_cuda = false;
  at::ScalarType type = at::kFloat;  // of the input, before autocast
  std::vector<CudnnCall> cudnn;      // LibTorch's calls of cuDNN with their arguments
  std::vector<ExecutionPath> reported;
};

// Runs `work` and returns the calls of RecurrentLayer::forward on this thread, in order. A convolution, or a path that
// was reported outside of a recurrent layer, is a call of its own that has only `reported`.
std::vector<LayerCall> layer_calls_during(const std::function<void()>& work);

// Runs `work`, whose calls are hidden from an enclosing layer_calls_during.
void without_observer(const std::function<void()>& work);

// Reports the path of the current forward pass, for layers whose code is not visible in LibTorch's operators, or the
// path of other code outside of a layer. `describe` is called only while an observer is active.
void report_path(const std::function<ExecutionPath()>& describe);

// Reports a fallback of the current forward pass. `describe` is called only while an observer is active.
void report_fallback(const std::function<PathFallback()>& describe);

}  // namespace rnnlab
