// SPDX-License-Identifier: Apache-2.0
// Tests what a launch's secret protects, and at which address a store listens.
#include "train/ranks/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <vector>

#include "base/error.h"
#include "train/ranks/local_store.h"
#include "train/ranks/run_failure.h"
#include "train/ranks/signed_store.h"

namespace rnnlab {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

Launch launch_with(const LocalStore& store, const std::string& secret) {
  Launch launch;
  launch.size = 2;
  launch.address = "127.0.0.1";
  launch.port = store.port();
  launch.launcher_hosts_store = true;
  launch.secret = secret;
  return launch;
}

StorePointer open(const LocalStore& store, const std::string& secret) {
  return open_store(launch_with(store, secret), {.name_of_run = "test", .timeout = std::chrono::seconds(5)});
}

// The cases 1, 2 and 6 of RFC 4231.
TEST(Hmac, IsThatOfItsStandard) {
  EXPECT_EQ(hmac_sha256(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hmac_sha256("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hmac_sha256(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Store, IsOneForTheRanksOfALaunch) {
  const LocalStore server;
  const StorePointer one = open(server, server.secret()), other = open(server, server.secret());
  one->set("key", bytes_of("value"));
  EXPECT_EQ(other->get("key"), bytes_of("value"));
  EXPECT_EQ(other->compareSet("key", bytes_of("value"), bytes_of("next")), bytes_of("next"));
  EXPECT_EQ(one->clone()->get("key"), bytes_of("next"));
  EXPECT_EQ(one->compareSet("key", {}, bytes_of("late")), bytes_of("next"));
}

TEST(Store, HasADifferentRandomSecretEachTime) {
  const LocalStore one, other;
  EXPECT_EQ(one.secret().size(), 64U);
  EXPECT_NE(one.secret(), other.secret());
}

TEST(Store, HidesTheKeysOfALaunchFromOthers) {
  const LocalStore server;
  open(server, server.secret())->set("key", bytes_of("value"));
  EXPECT_FALSE(open(server, "a guess that is wrong")->check({"key"}));
  EXPECT_FALSE(open(server, "")->check({"key"}));
}

// A stranger can list all keys of a TCPStore and change any of them.
class StrangerInStore : public ::testing::Test {
 protected:
  const LocalStore server_;
  const StorePointer rank_ = open(server_, server_.secret());
  const StorePointer stranger_ = sign_values(
      c10::static_intrusive_pointer_cast<c10d::PrefixStore>(open(server_, ""))->getUnderlyingStore(), "a wrong guess");

  std::string whole_key(const std::string& end) {
    for (const std::string& key : whole()->listKeys())
      if (key.ends_with(end)) return key.substr(key.find("rnnlab"));
    ADD_FAILURE() << "no key ends with " << end;
    return "";
  }
  StorePointer whole() {
    return c10::static_intrusive_pointer_cast<c10d::PrefixStore>(open(server_, ""))->getUnderlyingStore();
  }
};

TEST_F(StrangerInStore, IsNotBelieved) {
  rank_->set("key", bytes_of("value"));
  for (const std::string& forged : {std::string("another value"), std::string(), std::string(1 << 20, 'x')}) {
    whole()->set(whole_key("/key"), bytes_of(forged));
    EXPECT_THROW(rank_->get("key"), c10::Error) << forged.substr(0, 20);
  }
  stranger_->set(whole_key("/key"), bytes_of("another value"));
  EXPECT_THROW(rank_->get("key"), c10::Error) << "signed with a wrong secret";
}

TEST_F(StrangerInStore, CannotMoveASignedValueToAnotherKey) {
  rank_->set("one", bytes_of("1"));
  rank_->set("two", bytes_of("2"));
  whole()->set(whole_key("/two"), whole()->get(whole_key("/one")));
  EXPECT_THROW(rank_->get("two"), c10::Error);
}

TEST_F(StrangerInStore, CannotKeepARankFromReportingItsFailure) {
  rank_->set("failure", bytes_of("x"));
  whole()->set(whole_key("/failure"), bytes_of("1\n4\nprocess 1 of x\nforged"));
  EXPECT_FALSE(failure_in(*rank_, 2));
  put_failure(*rank_, {.rank = 1, .exit_code = ExitCode::kData, .message = "true", .process = "p"}, 2);
  EXPECT_EQ(failure_in(*rank_, 2).value().message, "true");
}

}  // namespace
}  // namespace rnnlab
