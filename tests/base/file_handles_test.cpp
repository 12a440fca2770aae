// SPDX-License-Identifier: Apache-2.0
#include "base/file_handles.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <cerrno>

#include "base/expect_error.h"

namespace rnnlab::testing {
namespace {

using ::testing::HasSubstr;

// Lowers the limit on open files, for as long as it lives.
class HandleLimit {
 public:
  explicit HandleLimit(rlim_t most) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit lower{.rlim_cur = most, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &lower);
  }
  ~HandleLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  HandleLimit(const HandleLimit&) = delete;
  HandleLimit& operator=(const HandleLimit&) = delete;

 private:
  rlimit before_{};
};

TEST(NumFreeHandles, IsTheLimitWithoutThoseThatAreOpen) {
  const HandleLimit limit(60);
  const int64_t before = num_free_handles(100);
  EXPECT_LE(before, 57) << "three streams are open";
  const int opened = ::dup(STDERR_FILENO);
  EXPECT_EQ(num_free_handles(100), before - 1);
  ::close(opened);
  EXPECT_EQ(num_free_handles(100), before);
  EXPECT_EQ(num_free_handles(5), 5) << "no more than was asked for is counted";
}

TEST(RequireHandles, RefusesWorkThatNeedsMore) {
  const HandleLimit limit(40);
  const int64_t num_free = num_free_handles(100);
  EXPECT_NO_THROW(require_handles(num_free, "8 processes"));
  EXPECT_THAT(message_of_error(ExitCode::kDevice, [&] { require_handles(num_free + 1, "8 processes"); }),
              ::testing::AllOf(HasSubstr(fmt::format("need {} ", num_free + 1)), HasSubstr("ulimit -n")));
}

TEST(IsLimitOnHandles, IsThatOfTheProcessOrOfTheSystem) {
  EXPECT_TRUE(is_limit_on_handles(EMFILE));
  EXPECT_TRUE(is_limit_on_handles(ENFILE));
  EXPECT_FALSE(is_limit_on_handles(ENOENT));
}

}  // namespace
}  // namespace rnnlab::testing
