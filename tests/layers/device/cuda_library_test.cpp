// SPDX-License-Identifier: Apache-2.0
#include "layers/device/cuda_library.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "golden.h"

namespace rnnlab {
namespace {

constinit CudaFunction<int(int)> doubled;
constinit CudaFunction<int(int)> missing;

TEST(CudaFunction, IsCalledByItsNameOnceItIsDefined) {
  EXPECT_FALSE(doubled.is_defined());
  EXPECT_TRUE(doubled.define([](int number) { return 2 * number; }));
  EXPECT_TRUE(doubled.is_defined());
  EXPECT_EQ(doubled(21), 42);
}

TEST(CudaFunction, IsADefectToCallWithoutTheLibrary) { EXPECT_THROW(missing(1), InvariantError); }

TEST(CudaLibrary, IsNotLoadedWithoutTheDriver) {
  if (::dlopen("libcuda.so.1", RTLD_LAZY) != nullptr) GTEST_SKIP() << "the driver is here";
  load_cuda_library();
  expect_golden(why_no_cuda_library());
}

}  // namespace
}  // namespace rnnlab
