// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <gtest/gtest.h>

namespace rnnlab {
namespace {

// The outputs for the seed 1234567 that are published with the algorithm's description on Rosetta Code.
TEST(SplitMix64, GivesThePublishedNumbers) {
  SplitMix64 random(1234567);
  for (const uint64_t expected :
       {6457827717110365317u, 3203168211198807973u, 9817491932198370423u, 4593380528125082431u, 16408922859458223821u})
    EXPECT_EQ(random.next(), expected);
}

TEST(SplitMix64, CanBeginAtAnyDraw) {
  SplitMix64 random(7);
  for (uint64_t i = 0; i < 3; ++i) EXPECT_EQ(random.next(), SplitMix64(7 + i * SplitMix64::kStep).next());
}

}  // namespace
}  // namespace rnnlab
