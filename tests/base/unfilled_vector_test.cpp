// SPDX-License-Identifier: Apache-2.0
#include "base/unfilled_vector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace rnnlab {
namespace {

using testing::Each;
using testing::ElementsAre;

TEST(UnfilledVector, KeepsItsElementsWhenItGrows) {
  UnfilledVector<int> values = {1, 2};
  values.resize(100'000);
  values.resize(2);
  values.push_back(3);
  EXPECT_THAT(values, ElementsAre(1, 2, 3));
}

TEST(UnfilledVector, SetsElementsThatHaveAValue) {
  EXPECT_THAT(UnfilledVector<int>(1000, 7), Each(7));
  const std::string text = "text";
  EXPECT_THAT(UnfilledVector<char>(text.begin(), text.end()), ElementsAre('t', 'e', 'x', 't'));
}

TEST(UnfilledVector, CallsConstructors) {
  UnfilledVector<std::string> texts(2);
  texts.emplace_back(3, 'x');
  EXPECT_THAT(texts, ElementsAre("", "", "xxx"));
}

}  // namespace
}  // namespace rnnlab
