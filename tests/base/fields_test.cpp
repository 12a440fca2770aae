// SPDX-License-Identifier: Apache-2.0
#include "base/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

struct Address {
  std::string street = "Main";
  int64_t number = 1;

  RNNLAB_FIELDS(street, number)
};

struct Person {
  std::string name = "Ada";
  std::optional<std::string> title = {};
  int64_t born = 1815;
  Address address = {};

  int64_t age(int64_t year) const { return year - born; }

  RNNLAB_FIELDS(name, since<3>(born), where_given(title), named("age in 1852", age(1852)), flattened(address))
};

std::vector<std::pair<std::string, int64_t>> keys_of(const Person& person) {
  std::vector<std::pair<std::string, int64_t>> all;
  person.visit_fields([&](const std::string& key, const auto&, int64_t since) { all.emplace_back(key, since); });
  return all;
}

TEST(Fields, HaveTheOrderOfTheListTheirKeysAndFirstVersions) {
  EXPECT_THAT(keys_of({}), ElementsAre(Pair("name", 0), Pair("born", 3), Pair("title", kWhereGiven),
                                       Pair("age in 1852", 0), Pair("street", 0), Pair("number", 0)));
}

struct AddOne {
  void operator()(const std::string&, int64_t& member, int64_t) const { ++member; }
  template <class Other>
  void operator()(const std::string&, const Other&, int64_t) const {}
};

TEST(Fields, CanBeSet) {
  Person person;
  person.visit_fields(AddOne{});
  EXPECT_EQ(person.born, 1816);
  EXPECT_EQ(person.address.number, 2);
}

TEST(Fields, TakeOneKeyAfterTheOther) {
  std::string_view list = "jobs, since<3>(when), named(\"a, b\", f(x, y)), last";
  EXPECT_EQ(take_key(list), "jobs");
  EXPECT_EQ(take_key(list), "when");
  EXPECT_EQ(take_key(list), "a, b");
  EXPECT_EQ(take_key(list), "last");
  EXPECT_EQ(list, "");
}

}  // namespace
}  // namespace rnnlab
