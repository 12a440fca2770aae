// SPDX-License-Identifier: Apache-2.0
#include "runs/devices.h"

#include <gtest/gtest.h>
#include <torch/cuda.h>

#include "base/error.h"
#include "base/expect_error.h"

namespace rnnlab {
namespace {

TEST(IsDeviceName, TakesTheFourForms) {
  for (const char* name : {"auto", "cpu", "cuda", "cuda:0", "cuda:7"}) EXPECT_TRUE(is_device_name(name)) << name;
  for (const char* name : {"", "gpu", "CPU", "cuda:", "cuda:x", "cuda:-1", "cuda:01", "cpu:0", "cuda:1000"})
    EXPECT_FALSE(is_device_name(name)) << name;
}

TEST(ResolveDevice, CpuIsAlwaysThere) { EXPECT_EQ(resolve_device("cpu").str(), "cpu"); }

TEST(ResolveDevice, AutoTakesTheFirstGpuOrTheCpu) {
  EXPECT_EQ(resolve_device("auto").str(), torch::cuda::is_available() ? "cuda:0" : "cpu");
}

TEST(ResolveDevice, ListsTheGpusIfOneIsMissing) {
  const std::string message = testing::message_of_error(ExitCode::kDevice, [&] { resolve_device("cuda:99"); });
  EXPECT_TRUE(message.starts_with("device: got cuda:99, but ")) << message;
  EXPECT_NE(message.find("use device=cpu"), std::string::npos) << message;
}

TEST(DeviceError, IsEmptyForAnAvailableDevice) {
  EXPECT_EQ(device_error("cpu"), "");
  EXPECT_EQ(device_error("auto"), "");
  EXPECT_NE(device_error("cuda:99"), "");
}

TEST(DeviceLabel, FitsIntoAFolderName) {
  EXPECT_EQ(device_label(c10::Device("cpu")), "cpu");
  EXPECT_EQ(device_label(c10::Device("cuda:0")), "cuda");
  EXPECT_EQ(device_label(c10::Device("cuda:1")), "cuda1");
}

}  // namespace
}  // namespace rnnlab
