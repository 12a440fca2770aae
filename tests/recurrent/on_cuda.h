// Defines base classes of tests that need a CUDA GPU, or this build's own kernels on a GPU. Without these the tests are
// skipped.
#pragma once

#include <ATen/Context.h>
#include <gtest/gtest.h>

#include "recurrent/device/gpu_support.h"

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

}  // namespace rnnlab
