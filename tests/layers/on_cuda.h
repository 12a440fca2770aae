// SPDX-License-Identifier: Apache-2.0
// Defines base classes of tests that need a CUDA GPU, or this build's own kernels on a GPU, without which the tests are
// skipped; and autocast for tests.
#pragma once

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>

#include "layers/device/gpu_support.h"

namespace rnnlab {

class OnCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!at::hasCUDA()) GTEST_SKIP() << "needs a CUDA GPU";
  }
};

// Returns whether there is a GPU for which this build has code of its own kernels.
inline bool has_own_kernels_here() { return at::hasCUDA() && has_own_kernels(c10::Device(c10::kCUDA, 0)); }

class ByOwnKernels : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_own_kernels_here()) GTEST_SKIP() << "needs a CUDA GPU that this build has code of its own kernels for";
  }
};

class Autocast {
 public:
  explicit Autocast(at::DeviceType device, at::ScalarType type = at::kBFloat16) : device_(device) {
    at::autocast::set_autocast_enabled(device_, true);
    at::autocast::set_autocast_dtype(device_, type);
    at::autocast::increment_nesting();
  }
  ~Autocast() {
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(device_, false);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  at::DeviceType device_;
};

}  // namespace rnnlab
