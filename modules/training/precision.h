// One word for the arithmetic of a whole run, so that no side of a comparison runs in another precision unseen:
// LibTorch starts with TF32 on in cuDNN and off in cuBLAS. fp32 and tf32 set both libraries alike; bf16 and fp16 are
// autocast with float32 weights, and whatever autocast leaves in float32 stays true float32. Gradients of fp16 are
// train_step.h's affair.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <optional>
#include <string>

#include "config/schema.h"
#include "recurrent/gpu_support.h"

namespace rnnlab {

enum class Precision { kFp32, kTf32, kBf16, kFp16 };

// Sets cuDNN, cuBLAS and oneDNN of this process alike.
void set_precision(Precision precision);

// Why a CPU does not have it; nothing where it does.
std::optional<std::string> refusal_on_cpu(Precision precision);

// What products really run in, by the switches as they stand in this process and by the GPU: "fp32", "tf32", "bf16",
// "fp16", or "fp32 (the CPU has no tf32)"; "fp32 with tf32 in cuDNN only" and the like where somebody else set them.
std::string effective_precision(Precision precision, c10::Device device);

// The same on a GPU of that capability: before 8.0 there is no tf32, and bf16 is emulated.
std::string effective_precision_on_gpu(Precision precision, Capability capability);

// Autocast to bf16 or fp16 while it lives where that is the precision, and nothing otherwise. Leaving it drops the
// cached converted weights, so that the next step casts the updated ones. Backward passes belong outside.
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

template <>
struct rnnlab::config::EnumNames<rnnlab::Precision> {
  static constexpr std::array<std::pair<Precision, std::string_view>, 4> kNames = {
      {{Precision::kFp32, "fp32"}, {Precision::kTf32, "tf32"}, {Precision::kBf16, "bf16"}, {Precision::kFp16, "fp16"}}};
};
