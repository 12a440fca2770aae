// SPDX-License-Identifier: Apache-2.0
// Tests what a sweep prints: each run says only what differs from the run before.
#include "runs/opening.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/system/temporary_folder.h"
#include "results/run_folder.h"
#include "runs/sweep.h"
#include "runs/tiny_experiment.h"

namespace rnnlab {
namespace {

using ::testing::AllOf;
using testing::cases_of;
using ::testing::HasSubstr;
using testing::kTinyYaml;
using ::testing::Not;
using testing::read_text;
using testing::TemporaryFolder;

TEST(Opening, OfTheNextRunOfASweepHasOnlyWhatDiffers) {
  const TemporaryFolder out;
  ::testing::internal::CaptureStderr();
  Logger logger(Verbosity::kNormal, Terminal{});
  const auto all =
      run_all(cases_of(std::string(kTinyYaml) + "sweep: {layer: [naive, fused]}\n"), {.out = out.path()}, logger);
  const std::string log = ::testing::internal::GetCapturedStderr();
  ASSERT_EQ(all.finished.size(), 2u);
  const std::string second = log.substr(log.find("=== run 2 of 2: layer=fused ("));
  EXPECT_THAT(log, HasSubstr("device    "));
  EXPECT_THAT(second, HasSubstr(" so far, about "));
  EXPECT_THAT(second, AllOf(HasSubstr("run       "), HasSubstr("layer     fused"), HasSubstr("path      ")));
  EXPECT_THAT(second,
              AllOf(Not(HasSubstr("device    ")), Not(HasSubstr("data      ")), Not(HasSubstr("weight_ih_l0"))));
  EXPECT_THAT(read_text(all.finished[1].folder / kLogFile),
              AllOf(HasSubstr("device    "), HasSubstr("data      "), HasSubstr("weight_ih_l0")))
      << "train.log has everything";
}

TEST(Opening, WithoutAReadableLogRepeatsEverything) {
  ::testing::internal::CaptureStderr();
  Logger logger(Verbosity::kNormal, Terminal{});
  Opening(logger, "/no/such/run").log_block({"device    cpu"});
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "device    cpu\n");
}

TEST(Opening, WarnsOfABatchThatIsLargerThanTheData) {
  const TemporaryFolder out;
  ::testing::internal::CaptureStderr();
  Logger logger(Verbosity::kNormal, Terminal{});
  run_experiment(testing::tiny_experiment({"training.batch_size=1000"}), {.out = out.path()}, logger);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("warning: training.batch_size: 1,000 "));
}

}  // namespace
}  // namespace rnnlab
