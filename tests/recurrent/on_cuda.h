// Tests that need a CUDA GPU, and are skipped where there is none.
#pragma once

#include <ATen/Context.h>
#include <gtest/gtest.h>

namespace rnnlab {

class OnCuda : public testing::Test {
 protected:
  void SetUp() override {
    if (!at::hasCUDA()) GTEST_SKIP() << "needs a CUDA GPU";
  }
};

}  // namespace rnnlab
