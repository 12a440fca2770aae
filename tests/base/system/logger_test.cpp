// SPDX-License-Identifier: Apache-2.0
#include "base/system/logger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/expect_error.h"
#include "base/system/temporary_folder.h"
#include "golden.h"

namespace rnnlab::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::MatchesRegex;

std::string console_of(Verbosity verbosity, const Terminal& terminal) {
  ::testing::internal::CaptureStderr();
  Logger logger(verbosity, terminal);
  logger.detail("a detail {}");
  logger.info("an information");
  logger.warn("a warning");
  logger.error("an error");
  return ::testing::internal::GetCapturedStderr();
}

TEST(Logger, ObeysTheVerbosity) {
  expect_golden(console_of(Verbosity::kQuiet, {}));
  expect_golden(console_of(Verbosity::kNormal, {}));
  expect_golden(console_of(Verbosity::kVerbose, {}));
}

TEST(Logger, ColoursOnlyIfTheTerminalDoes) {
  const Terminal colored = {.is_terminal = true, .has_color = true, .width = 80};
  EXPECT_THAT(console_of(Verbosity::kQuiet, colored), ContainsRegex("\x1b\\[33m.*warning: a warning\x1b\\[m\n"));
}

TEST(Logger, WrapsDescriptionsOnATerminalButNotInTheFile) {
  const TemporaryFolder folder;
  const std::string line = "data      csv from weather.csv: 6,955 training and 1,699 validation samples";
  ::testing::internal::CaptureStderr();
  Logger logger(Verbosity::kNormal, {.is_terminal = true, .has_color = false, .width = 40});
  logger.open_file(folder.path() / "train.log");
  logger.info(line);
  logger.info("the run reached a bound that is described in more than forty columns");
  logger.close_file();
  expect_golden(::testing::internal::GetCapturedStderr());
  EXPECT_THAT(read_text(folder.path() / "train.log"), ::testing::HasSubstr(line + "\n"));
}

TEST(Logger, KeepsEverythingWithTimesInTheFile) {
  const TemporaryFolder folder;
  Logger logger(Verbosity::kQuiet, {});
  logger.open_file(folder.path() / "train.log");
  logger.detail("first");
  logger.info("second");
  logger.close_file();
  logger.info("after the end");
  EXPECT_THAT(read_text(folder.path() / "train.log"),
              MatchesRegex("20[0-9-]+T[0-9:.]+Z debug   first\n20[0-9-]+T[0-9:.]+Z info    second\n"));
}

TEST(Logger, HasWarningsForTheFileAlone) {
  const TemporaryFolder folder;
  ::testing::internal::CaptureStderr();
  Logger logger(Verbosity::kVerbose, {});
  logger.warn_in_file("no file is open");
  logger.open_file(folder.path() / "train.log");
  logger.warn_in_file("THE CPU IS BUSY");
  logger.close_file();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_THAT(read_text(folder.path() / "train.log"), MatchesRegex("20[0-9-]+T[0-9:.]+Z warning THE CPU IS BUSY\n"));
}

TEST(Logger, StartsAFileForEachRun) {
  const TemporaryFolder folder;
  Logger logger(Verbosity::kQuiet, {});
  logger.open_file(folder.path() / "one.log");
  logger.info("one");
  logger.open_file(folder.path() / "two.log");
  logger.info("two");
  logger.close_file();
  EXPECT_THAT(read_text(folder.path() / "one.log"), MatchesRegex("[^\n]*one\n"));
  EXPECT_THAT(read_text(folder.path() / "two.log"), MatchesRegex("[^\n]*two\n"));
}

TEST(Logger, MakesAFullDiskAnError) {
  Logger logger(Verbosity::kQuiet, {});
  logger.open_file("/dev/full");
  logger.check();
  logger.info("lost");
  expect_error(ExitCode::kDevice, [&] { logger.check(); });
  expect_error(ExitCode::kDevice, [&] { logger.close_file(); });
  logger.check();
}

TEST(Logger, AbandonsAFileThatIsNotWhole) {
  Logger logger(Verbosity::kQuiet, {});
  logger.open_file("/dev/full");
  logger.info("lost");
  logger.abandon_file();
  logger.check();
  logger.close_file();
}

TEST(Logger, SaysThatTheFileCannotBeOpened) {
  Logger logger(Verbosity::kQuiet, {});
  expect_error(ExitCode::kDevice, [&] { logger.open_file("/no/such/train.log"); });
}

TEST(Logger, LetsTheBarMakeWayForLinesOnTheConsole) {
  ::testing::internal::CaptureStderr();
  Logger logger(Verbosity::kNormal, {});
  int num_calls = 0;
  logger.set_before_line([&] { ++num_calls; });
  logger.detail("not shown");
  EXPECT_EQ(num_calls, 0);
  logger.info("shown");
  EXPECT_EQ(num_calls, 1);
  ::testing::internal::GetCapturedStderr();
}

}  // namespace
}  // namespace rnnlab::testing
