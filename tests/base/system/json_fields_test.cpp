// SPDX-License-Identifier: Apache-2.0
#include "base/system/json_fields.h"

#include <gtest/gtest.h>

namespace rnnlab {
namespace {

using Json = nlohmann::ordered_json;

TEST(Seal, IsTheLastMember) {
  const std::string text = sealed_text(Json{{"a", 1}, {"b", {2, 3}}});
  const Json json = Json::parse(text);
  EXPECT_EQ(json.size(), 3U);
  EXPECT_EQ(json[kSealKey].get<std::string>().size(), 64U);
  EXPECT_TRUE(has_fitting_seal(text));
}

TEST(Seal, NoticesEveryChange) {
  const std::string text = sealed_text(Json{{"a", 1}});
  for (size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    other[i] = other[i] == 'x' ? 'y' : 'x';
    EXPECT_FALSE(has_fitting_seal(other)) << i;
  }
  EXPECT_FALSE(has_fitting_seal(text + "\n"));
  EXPECT_FALSE(has_fitting_seal(text.substr(0, text.size() - 1)));
  EXPECT_FALSE(has_fitting_seal(""));
  EXPECT_FALSE(has_fitting_seal("{}\n"));
}

}  // namespace
}  // namespace rnnlab
