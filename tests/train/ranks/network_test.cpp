// SPDX-License-Identifier: Apache-2.0
#include "train/ranks/network.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>

#include "base/error.h"
#include "train/ranks/store.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Launch over_hosts(const std::string& address, int64_t port = 29'500) {
  Launch launch;
  launch.launcher = Launcher::kTorchrun;
  launch.size = 2;
  launch.is_one_host = false;
  launch.address = address;
  launch.port = port;
  return launch;
}

UserError network_error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const UserError& error) {
    return error;
  }
  return {ExitCode::kDone, ""};
}

// A socket that listens, and is closed at the end.
class Listening {
 public:
  explicit Listening(const std::string& address) : socket_(listen_at(address, 0)) {}

  sockaddr_in6 address() const {
    sockaddr_in6 address{};
    socklen_t size = sizeof address;
    ::getsockname(socket_.number(), reinterpret_cast<sockaddr*>(&address), &size);
    return address;
  }
  int64_t port() const { return ntohs(address().sin6_port); }

 private:
  Socket socket_;
};

bool has_ipv6() {
  return network_error_of([] { const Listening listening("::1"); }).exit_code() == ExitCode::kDone;
}

TEST(Network, ListensAtOneAddressOnly) {
  const Listening listening("127.0.0.2");
  const sockaddr_in6 any = listening.address();
  EXPECT_EQ(reinterpret_cast<const sockaddr_in&>(any).sin_addr.s_addr, ::inet_addr("127.0.0.2"));
  const Listening other("127.0.0.3");
  EXPECT_EQ(network_error_of([&] { listen_at("127.0.0.2", listening.port()); }).exit_code(), ExitCode::kDevice);
}

TEST(Network, ListensAtAnAddressOfIPv6) {
  if (!has_ipv6()) GTEST_SKIP() << "this machine has no IPv6";
  const Listening listening("::1");
  const sockaddr_in6 address = listening.address();
  EXPECT_TRUE(IN6_IS_ADDR_LOOPBACK(&address.sin6_addr));
  EXPECT_EQ(address_of_store(over_hosts("[::1]"), {}), "::1");
  EXPECT_THAT(own_addresses(over_hosts("::1", listening.port()), {}), ElementsAre("::1"));
}

TEST(Network, PutsTheStoreWhereMasterAddrPoints) {
  EXPECT_EQ(address_of_store(over_hosts("127.0.0.1"), {}), "127.0.0.1");
  EXPECT_EQ(address_of_store(over_hosts("127.0.0.5"), {}), "127.0.0.5");
  EXPECT_THAT(address_of_store(over_hosts("localhost"), {}), ::testing::AnyOf("127.0.0.1", "::1"));
}

TEST(Network, PutsTheStoreOfOneHostOnTheLoopbackInterface) {
  Launch launch = over_hosts("203.0.113.7");
  launch.is_one_host = true;
  EXPECT_EQ(address_of_store(launch, {}), "127.0.0.1");
  EXPECT_THAT(own_addresses(launch, {}), ElementsAre("127.0.0.1"));
}

TEST(Network, DoesNotListenEverywhere) {
  for (const char* address : {"0.0.0.0", "::", "203.0.113.7", "no-such-host.invalid", ""}) {
    const UserError error = network_error_of([&] { address_of_store(over_hosts(address), {}); });
    EXPECT_EQ(error.exit_code(), ExitCode::kDevice) << address;
    EXPECT_THAT(error.what(), HasSubstr("MASTER_ADDR: '" + std::string(address) + "'"));
    EXPECT_THAT(error.what(), HasSubstr("lo (127.0.0.1)")) << "what this host has";
  }
}

TEST(Network, IsReachedByTheInterfaceThatIsSet) {
  const Listening listening("127.0.0.1");
  EXPECT_THAT(own_addresses(over_hosts("127.0.0.1", listening.port()), "lo"), ElementsAre("127.0.0.1"));
  EXPECT_EQ(address_of_store(over_hosts("203.0.113.7"), "lo"), "127.0.0.1")
      << "an address that the host does not know of, such as that of a gateway";
}

TEST(Network, ReadsTheVariableOfGloo) {
  const Listening listening("127.0.0.1");
  ::setenv("GLOO_SOCKET_IFNAME", "lo,lo", 1);
  EXPECT_THAT(own_addresses(over_hosts("127.0.0.1", listening.port()), {}), ElementsAre("127.0.0.1", "127.0.0.1"));
  ::setenv("GLOO_SOCKET_IFNAME", "eth77", 1);
  EXPECT_THAT(network_error_of([&] { own_addresses(over_hosts("127.0.0.1", listening.port()), {}); }).what(),
              HasSubstr("GLOO_SOCKET_IFNAME: this host"));
  ::unsetenv("GLOO_SOCKET_IFNAME");
}

TEST(Network, NamesTheInterfacesIfOneIsMissing) {
  const Listening listening("127.0.0.1");
  for (const bool is_one_host : {false, true}) {
    Launch launch = over_hosts("127.0.0.1", listening.port());
    launch.is_one_host = is_one_host;
    const UserError error = network_error_of([&] { own_addresses(launch, "eth77"); });
    EXPECT_EQ(error.exit_code(), ExitCode::kDevice);
    EXPECT_THAT(error.what(), ::testing::ContainsRegex("no interface 'eth77' .* lo \\(127.0.0.1\\)"));
  }
}

TEST(Network, ConnectsByTheAddressThatReachesRank0) {
  const Listening listening("127.0.0.9");
  EXPECT_THAT(own_addresses(over_hosts("127.0.0.9", listening.port()), {}), ElementsAre("127.0.0.1"));
  EXPECT_EQ(address_of_rank_0(over_hosts("127.0.0.9"), {}), "127.0.0.9");
  EXPECT_EQ(address_of_rank_0(over_hosts("[fd00::1]"), {}), "fd00::1");
}

}  // namespace
}  // namespace rnnlab
