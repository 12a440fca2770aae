// SPDX-License-Identifier: Apache-2.0
#include "base/shared_library.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/system/temporary_folder.h"
#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::HasSubstr;

TEST(OpenSharedLibrary, LoadsALibraryOfTheSystem) {
  const SharedLibrary library = open_shared_library("libm.so.6", RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library.handle, nullptr) << library.failure;
}

TEST(OpenSharedLibrary, SaysWhatIsMissing) {
  const SharedLibrary library = open_shared_library("libnone.so.1", RTLD_NOW | RTLD_LOCAL);
  EXPECT_EQ(library.handle, nullptr);
  EXPECT_THAT(library.failure, HasSubstr("libnone.so.1"));
}

// A test that waits here has failed.
TEST(OpenSharedLibrary, IsNeverAPipe) {
  const testing::TemporaryFolder folder;
  const std::string pipe = folder.name("libpipe.so.1");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  ::setenv("LD_LIBRARY_PATH", ("/nowhere:" + folder.path().string()).c_str(), 1);
  for (const std::string& name : {std::string("libpipe.so.1"), pipe}) {
    const SharedLibrary library = open_shared_library(name, RTLD_NOW | RTLD_LOCAL);
    EXPECT_EQ(library.handle, nullptr);
    expect_golden(library.failure);
  }
  ::unsetenv("LD_LIBRARY_PATH");
}

}  // namespace
}  // namespace rnnlab
