// SPDX-License-Identifier: Apache-2.0
// Declares the functions of librnnlab_cuda.so that recurrent layers call, except those that run kernels
// (device/run_kernels.h).
#pragma once

#include <memory>

#include "layers/device/cuda_library.h"
#include "layers/execution_path.h"
#include "layers/persistent/persistent_trace.h"
#include "layers/persistent/slstm_pass.h"
#include "layers/recurrent_layer.h"

namespace rnnlab {

inline constinit CudaFunction<std::shared_ptr<RecurrentLayer>(const RecurrentOptions&)> make_cudnn_layer;

// persistent/persistent_pass.h and persistent/slstm_pass.h document these functions.
struct PersistentPass {
  void (*require)(c10::Device device, at::ScalarType type);
  ExecutionPath (*path)(const PersistentSpec& spec, const std::vector<PersistentTrace>& layers);
  void (*run_forward)(const PersistentSpec& spec, std::vector<PersistentTrace>& layers, std::vector<at::Tensor>& masks);
  PassGradients (*run_backward)(const PersistentSpec& spec, const std::vector<PersistentTrace>& layers,
                                const std::vector<at::Tensor>& masks, const ResultGradients& results,
                                NeededGradients needs);
  ExecutionPath (*slstm_path)(const SlstmTrace& trace);
  void (*run_slstm_forward)(SlstmTrace& trace, const at::Tensor& initial_hidden, const at::Tensor& initial_states);
  SlstmGradients (*run_slstm_backward)(const SlstmTrace& trace, const at::Tensor& output,
                                       const at::Tensor& final_states);
};
inline constinit CudaFunction<const PersistentPass&()> persistent_pass;

}  // namespace rnnlab
