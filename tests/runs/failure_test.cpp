// SPDX-License-Identifier: Apache-2.0
#include "runs/failure.h"

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <new>
#include <system_error>

#include "golden.h"

namespace rnnlab {
namespace {

template <class Exception>
Failure failure_of(const Exception& exception) {
  return describe_failure(std::make_exception_ptr(exception));
}

// Returns the failure that LibTorch's error of this message becomes.
Failure failure_of_libtorch(const std::string& message) {
  try {
    TORCH_CHECK(false, message);
  } catch (...) {
    return describe_failure(std::current_exception());
  }
}

TEST(DescribeFailure, KeepsAUsersMistakeAsItIs) {
  const Failure failure = failure_of(UserError(ExitCode::kData, "a.csv:3: no number"));
  EXPECT_EQ(failure.exit_code, ExitCode::kData);
  EXPECT_EQ(failure.message, "a.csv:3: no number");
}

TEST(DescribeFailure, ShowsNoStackOfLibTorch) {
  const Failure failure = failure_of_libtorch("shapes differ\nsecond line");
  EXPECT_EQ(failure.exit_code, ExitCode::kInternal);
  expect_golden(failure.message);
}

TEST(DescribeFailure, CallsAnErrorOfCudaTheDevices) {
  EXPECT_EQ(failure_of_libtorch("CUDA error: an illegal memory access").exit_code, ExitCode::kDevice);
  const c10::AcceleratorError by_type({}, 700, "an illegal memory access was encountered");
  EXPECT_EQ(failure_of(by_type).exit_code, ExitCode::kDevice);
}

TEST(DescribeFailure, SaysWhatToDoWhenMemoryIsShort) {
  EXPECT_EQ(failure_of(std::bad_alloc()).exit_code, ExitCode::kDevice);
  expect_golden(failure_of(std::bad_alloc()).message);
}

TEST(DescribeFailure, SaysWhatToDoWhenThereAreNoMoreThreads) {
  const Failure failure = failure_of(std::system_error(EAGAIN, std::system_category()));
  EXPECT_EQ(failure.exit_code, ExitCode::kDevice);
  expect_golden(failure.message);
  EXPECT_EQ(failure_of(std::system_error(EINVAL, std::system_category())).exit_code, ExitCode::kInternal);
}

TEST(DescribeFailure, SaysWhatToDoWhenTooManyFilesAreOpen) {
  const auto expect_named = [](const Failure& failure) {
    EXPECT_EQ(failure.exit_code, ExitCode::kDevice);
    EXPECT_TRUE(failure.message.ends_with("(ulimit -n 1024)")) << failure.message;
  };
  expect_named(failure_of(std::system_error(EMFILE, std::generic_category())));
  expect_named(failure_of(std::system_error(ENFILE, std::generic_category())));
  for (const char* message : {"socket: Too many open files", "Failed to init uv loop"})
    expect_named(failure_of_libtorch(message));
}

TEST(DescribeFailure, CallsAMissingDeviceOrConnectionTheEnvironments) {
  const c10::DistNetworkError lost(c10::SourceLocation{}, "failed to connect to any network address");
  EXPECT_EQ(failure_of(lost).exit_code, ExitCode::kDevice);
  expect_golden(failure_of(lost).message);
  EXPECT_EQ(failure_of_libtorch("Unable to open /dev/urandom").exit_code, ExitCode::kDevice);
}

TEST(DescribeFailure, SaysWhatToDoWhenTheGpuIsFull) {
  try {
    TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory. Tried to allocate 2.00 GiB.\nadvice for Python");
  } catch (...) {
    const Failure failure = describe_failure(std::current_exception());
    EXPECT_EQ(failure.exit_code, ExitCode::kDevice);
    expect_golden(failure.message);
  }
}

TEST(DescribeFailure, KnowsTheCpuAllocator) {
  const std::string message =
      "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory";
  EXPECT_EQ(failure_of_libtorch(message).exit_code, ExitCode::kDevice);
}

TEST(DescribeFailure, OwnsItsDefects) { EXPECT_EQ(failure_of(InvariantError("x")).exit_code, ExitCode::kInternal); }

}  // namespace
}  // namespace rnnlab
