// SPDX-License-Identifier: Apache-2.0
// Declares the forward and the backward pass of a stack of layers on a GPU with clusters, with one kernel for each
// layer, for two layers or for a part of a layer's steps (kernels/persistent/persistent_layer.h, layer_parts.h). They
// have the contracts of run_forward_pass and run_backward_pass, and give the same results except for rounding of the
// type, and of TF32 in float32 if LibTorch allows TF32 in products. The products for weights' gradients run while
// kernels of other layers run, which leave SMs free.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "layers/execution_path.h"
#include "layers/persistent/persistent_trace.h"

namespace rnnlab {

// Throws UserError kUsage if no pass can run as `layer: persistent` on this GPU or in this type: its compute capability
// is below 8.0, its kernels cannot be compiled, the kind of GPU failed its check, or the type is float64. Throws
// kDevice if an earlier pass on this GPU timed out.
void require_persistent(c10::Device device, at::ScalarType type);

// Returns the class of numbers of a pass on tensors of this type, for people.
std::string_view persistent_class_name(at::ScalarType type);

// Returns what a forward pass runs, for execution_path.h.
ExecutionPath persistent_path(const PersistentSpec& spec, const std::vector<PersistentTrace>& layers);

// Has the contract of run_forward_pass, except that it draws the masks, bool, if the specification has dropout. If it
// is captured in a CUDA graph, it runs at every replay; it allocates by LibTorch.
void run_persistent_forward(const PersistentSpec& spec, std::vector<PersistentTrace>& layers,
                            std::vector<at::Tensor>& masks);

// Has the contract of run_backward_pass, after a forward pass for which gradients were possible.
PassGradients run_persistent_backward(const PersistentSpec& spec, const std::vector<PersistentTrace>& layers,
                                      const std::vector<at::Tensor>& masks, const ResultGradients& results,
                                      NeededGradients needs);

// The check of a kind of GPU on which the kernels were never tested, which are all except those of compute capability
// 9.0: whether they give the results of `layer: fused`. Each class of numbers is checked when a layer first uses it. A
// kind of GPU that passed is stored in cache_folder(), by class, driver and kernels.
//
// Returns the largest error of outputs and gradients of a layer of each cell, relative to the largest number of `fused`
// (or `naive`, for cells that `fused` does not have) and to the difference that rounding of `type` explains: at most 1
// if the kernels are correct.
double largest_difference_from_fused(c10::Device device, at::ScalarType type);

}  // namespace rnnlab
