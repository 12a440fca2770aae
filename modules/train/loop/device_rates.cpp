// SPDX-License-Identifier: Apache-2.0
#include "train/loop/device_rates.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/rand.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "layers/device/gpu_device.h"

namespace rnnlab {
namespace {

void wait_for_device(c10::Device device) {
  if (device.is_cuda()) synchronize(device);
}

double seconds_of(c10::Device device, int64_t iterations, const std::function<void()>& work) {
  return synchronised_seconds(device, [&] {
    for (int64_t i = 0; i < iterations; ++i) work();
  });
}

// Returns the shortest of several samples, because the best rate is wanted.
double shortest_seconds(c10::Device device, const std::function<void()>& work) {
  constexpr int kSamples = 7;
  constexpr double kSampleSeconds = 0.02;
  constexpr double kMostIterations = 1000, kMostSeconds = 2;
  constexpr double kTooLongToRepeat = 1;
  const double first = seconds_of(device, 1, work);
  if (first > kTooLongToRepeat) return first;
  const double once = seconds_of(device, 1, work);
  const auto iterations = static_cast<int64_t>(std::clamp(std::ceil(kSampleSeconds / once), 1.0, kMostIterations));
  double shortest = once * static_cast<double>(iterations);
  double spent = shortest;
  for (int i = 0; i < kSamples && spent < kMostSeconds; ++i) {
    const double seconds = seconds_of(device, iterations, work);
    shortest = std::min(shortest, seconds);
    spent += seconds;
  }
  return shortest / static_cast<double>(iterations);
}

at::ScalarType product_type(Precision precision) {
  const bool is_float32 = precision == Precision::kFp32 || precision == Precision::kTf32;
  if (is_float32) return at::kFloat;
  return precision == Precision::kBf16 ? at::kBFloat16 : at::kHalf;
}

}  // namespace

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double synchronised_seconds(c10::Device device, const std::function<void()>& work) {
  wait_for_device(device);
  const auto began = std::chrono::steady_clock::now();
  work();
  wait_for_device(device);
  return seconds_since(began);
}

double best_product_rate(c10::Device device, Precision precision) {
  const int64_t size = device.is_cpu() ? 2048 : 8192;
  const at::Tensor a = at::rand({size, size}, at::TensorOptions(device)).to(product_type(precision));
  const at::Tensor b = at::rand({size, size}, at::TensorOptions(device)).to(product_type(precision));
  at::Tensor product = at::empty_like(a);
  const double seconds = shortest_seconds(device, [&] { at::mm_out(product, a, b); });
  return 2 * std::pow(static_cast<double>(size), 3) / seconds;
}

double best_copy_rate(c10::Device device) {
  const int64_t bytes = device.is_cpu() ? int64_t{1} << 28 : int64_t{1} << 30;
  const at::Tensor source = at::rand({bytes / 4}, at::TensorOptions(device));
  at::Tensor target = at::empty_like(source);
  const double seconds = shortest_seconds(device, [&] { target.copy_(source); });
  return 2 * static_cast<double>(bytes) / seconds;
}

}  // namespace rnnlab
