// SPDX-License-Identifier: Apache-2.0
// One setting for the arithmetic of a whole run, so that both sides of a comparison use the same precision: LibTorch
// starts with TF32 on in cuDNN and off in cuBLAS. fp32 and tf32 set both libraries alike. bf16 and fp16 are autocast
// with float32 weights, and operations that autocast leaves in float32 use true float32. train_step.h scales the
// gradients of fp16.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <optional>
#include <string>

#include "base/config/schema.h"
#include "layers/device/gpu_support.h"

namespace rnnlab {

// Sets cuDNN, cuBLAS and oneDNN of this process to the same precision.
void set_precision(Precision precision);

// Returns why a CPU does not support the precision, or nothing if it does.
std::optional<std::string> unsupported_on_cpu(Precision precision);

// Returns the real precision of products, from the present switches of this process and from the GPU: "fp32", "tf32",
// "bf16", "fp16" or "fp32 (the CPU has no tf32)"; or, for example, "fp32 with tf32 in cuDNN only" if different code has
// set the switches.
std::string effective_precision(Precision precision, c10::Device device);

// Returns effective_precision() for a GPU of that capability: before 8.0 tf32 is missing and bf16 is emulated.
std::string effective_precision_on_gpu(Precision precision, Capability capability);

// Switches autocast to bf16 or fp16 on during its lifetime if `precision` is one of these; otherwise it does nothing.
// The destructor drops the cached converted weights, so that the next step casts the updated weights. Backward passes
// must run outside of its lifetime.
class AutocastGuard {
 public:
  AutocastGuard(Precision precision, c10::Device device);
  ~AutocastGuard();
  AutocastGuard(const AutocastGuard&) = delete;
  AutocastGuard& operator=(const AutocastGuard&) = delete;

 private:
  bool active_;
  c10::DeviceType device_type_;
  bool previously_enabled_ = false;
  c10::ScalarType previous_type_ = c10::ScalarType::Float;
};

}  // namespace rnnlab
