#include "checkpoint/names.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace rnnlab::testing {
namespace {

TEST(StepFolderName, SortsAsItCounts) {
  EXPECT_EQ(step_folder_name(0), "step-000000");
  EXPECT_EQ(step_folder_name(123), "step-000123");
  EXPECT_EQ(step_folder_name(1234567), "step-1234567");
}

TEST(StepOf, TakesOnlyWhatItMade) {
  for (const int64_t step : {int64_t{0}, int64_t{123}, int64_t{1234567}, INT64_MAX})
    EXPECT_EQ(step_of(step_folder_name(step)), step);
  for (const char* name : {"step-", "step-12", "step-0000123", "step-000123x", "step--00123", "step-+00123",
                           "astep-000123", "step-9223372036854775808", "step-000123 "})
    EXPECT_EQ(step_of(name), std::nullopt) << name;
}

TEST(IsLeftover, TakesOnlyWhatWeMade) {
  EXPECT_TRUE(is_leftover(temporary_name(123)));
  EXPECT_TRUE(is_leftover(removed_name(123)));
  EXPECT_TRUE(is_leftover(".step-000123.tmp-7"));
  EXPECT_TRUE(is_leftover(".best.json.7.tmp"));
  for (const char* name : {"step-000123", "step-000123.tmp-7", ".step-000123.tmp-", ".step-000123.tmp-x",
                           ".step-12.tmp-7", ".step-000123.new-7", ".step-000123", ".tmp-7", ".best.json..tmp",
                           ".best.json.x.tmp", ".best.json.tmp", "best.json", ".", "..", ""})
    EXPECT_FALSE(is_leftover(name)) << name;
}

}  // namespace
}  // namespace rnnlab::testing
