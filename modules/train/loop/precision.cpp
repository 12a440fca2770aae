// SPDX-License-Identifier: Apache-2.0
#include "train/loop/precision.h"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <fmt/format.h>

#include "layers/device/number_types.h"

namespace rnnlab {

void set_precision(Precision precision) {
  // LibTorch keeps an older and a newer set of switches and throws if they disagree. The older setters write both.
  const bool allow_tf32 = precision == Precision::kTf32;
  auto& context = at::globalContext();
  context.setAllowTF32CuDNN(allow_tf32);
  context.setAllowTF32CuBLAS(allow_tf32);
  context.setFloat32Precision(at::Float32Backend::MKLDNN, at::Float32Op::ALL, at::Float32Precision::IEEE);
}

std::optional<std::string> unsupported_on_cpu(Precision precision) {
  if (precision != Precision::kFp16) return std::nullopt;
  return "precision: fp16 needs a GPU; use bf16 or fp32 on the CPU";
}

namespace {

std::string precision_before_ampere(Precision precision) {
  if (precision == Precision::kTf32) return "fp32 (this GPU has no tf32)";
  if (precision == Precision::kBf16) return "bf16 (emulated, because this GPU has none)";
  return std::string(config::name_of(precision));
}

}  // namespace

std::string effective_precision_on_gpu(Precision precision, Capability capability) {
  constexpr Capability kAmpere = {8, 0};
  if (capability < kAmpere) return precision_before_ampere(precision);
  const bool is_autocast = precision == Precision::kBf16 || precision == Precision::kFp16;
  std::string base(config::name_of(is_autocast ? precision : Precision::kFp32));
  const bool in_cudnn = at::globalContext().allowTF32CuDNN();
  const bool in_cublas = at::globalContext().allowTF32CuBLAS();
  if (!in_cudnn && !in_cublas) return base;
  if (tf32_is_overridden()) return base + " (NVIDIA_TF32_OVERRIDE is 0)";
  if (in_cudnn != in_cublas) return fmt::format("{} with tf32 in {} only", base, in_cudnn ? "cuDNN" : "cuBLAS");
  return is_autocast ? base + " with tf32" : "tf32";
}

std::string effective_precision(Precision precision, c10::Device device) {
  if (device.is_cuda()) return effective_precision_on_gpu(precision, gpu_of(device).capability);
  if (precision == Precision::kTf32) return "fp32 (the CPU has no tf32)";
  return std::string(config::name_of(precision));
}

AutocastGuard::AutocastGuard(Precision precision, c10::Device device)
    : active_(precision == Precision::kBf16 || precision == Precision::kFp16), device_type_(device.type()) {
  if (!active_) return;
  previously_enabled_ = at::autocast::is_autocast_enabled(device_type_);
  previous_type_ = at::autocast::get_autocast_dtype(device_type_);
  at::autocast::set_autocast_enabled(device_type_, true);
  at::autocast::set_autocast_dtype(device_type_, precision == Precision::kBf16 ? at::kBFloat16 : at::kHalf);
  at::autocast::increment_nesting();
}

AutocastGuard::~AutocastGuard() {
  if (!active_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_dtype(device_type_, previous_type_);
  at::autocast::set_autocast_enabled(device_type_, previously_enabled_);
}

}  // namespace rnnlab
