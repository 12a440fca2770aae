// SPDX-License-Identifier: Apache-2.0
#include "train/ranks/network.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "base/system/machine.h"
#include "base/text.h"

namespace rnnlab {
namespace {

constexpr const char* kGlooVariable = "GLOO_SOCKET_IFNAME";
constexpr const char* kSetAddress = "set MASTER_ADDR to an address of rank 0's host for all processes";

std::vector<std::string> texts_of(const std::vector<SocketAddress>& addresses) {
  std::vector<std::string> texts;
  for (const SocketAddress& address : addresses) add_once(texts, address.text());
  return texts;
}

// "[::1]" is "::1".
std::string without_brackets(const std::string& host) {
  return host.size() > 2 && host.front() == '[' && host.back() == ']' ? host.substr(1, host.size() - 2) : host;
}

// A user who gives one of these means the loopback interface.
bool is_name_of_loopback(const std::string& host) {
  const std::string name = lower_case(host);
  return name == "localhost" || name.starts_with("localhost.") || name.starts_with("ip6-") || is_numeric_address(host);
}

// Returns whether `host` is a name that this host has for itself, but that only itself can use. With an address of the
// loopback interface before one that others reach, as Debian's /etc/hosts may have it, it is no private name.
bool is_private_name(const std::string& host, const std::vector<SocketAddress>& addresses) {
  if (is_name_of_loopback(host)) return false;
  if (addresses.empty()) return host == host_name();
  return std::ranges::all_of(addresses, &SocketAddress::is_loopback);
}

// Returns whether this host has the address.
bool is_here(const SocketAddress& address) {
  return !address.is_unspecified() && Socket(address.family(), SOCK_DGRAM).bind(address.with_port(0));
}

// ---- interfaces ----

struct InterfaceAddress {
  std::string interface;
  SocketAddress address;
};

std::vector<InterfaceAddress> interface_addresses() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, &::freeifaddrs);
  std::vector<InterfaceAddress> found;
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || (each->ifa_flags & IFF_UP) == 0) continue;
    if (each->ifa_addr->sa_family == AF_INET) found.push_back({each->ifa_name, {each->ifa_addr, sizeof(sockaddr_in)}});
    if (each->ifa_addr->sa_family == AF_INET6)
      found.push_back({each->ifa_name, {each->ifa_addr, sizeof(sockaddr_in6)}});
  }
  return found;
}

// Returns for example "lo (127.0.0.1), eth0 (10.0.0.5)".
std::string list_of_interfaces() {
  std::vector<std::string> items;
  for (const auto& [interface, address] : interface_addresses())
    if (!address.is_of_link()) items.push_back(fmt::format("{} ({})", interface, address.text()));
  return items.empty() ? "none" : join(items, ", ");
}

// An interface and where its name comes from.
struct NamedInterface {
  std::string source;
  std::string name;
};

std::vector<NamedInterface> named_interfaces(const std::optional<std::string>& interface) {
  if (interface) return {{"distributed.interface", *interface}};
  std::vector<NamedInterface> named;
  for (const std::string& name : split(variable_of_this_process(kGlooVariable).value_or(""), ','))
    if (!name.empty()) named.push_back({kGlooVariable, name});
  return named;
}

// Returns an address of the interface, of this family if it has one.
SocketAddress address_of(const NamedInterface& named, int family) {
  std::vector<InterfaceAddress> all = interface_addresses();
  std::erase_if(all, [&](const auto& each) { return each.interface != named.name; });
  if (all.empty())
    throw_error(ExitCode::kDevice, "{}: this host ({}) has no interface {} that is up and has an address; it has {}",
                named.source, host_name(), in_quotes(named.name), list_of_interfaces());
  const auto rank_of = [&](const InterfaceAddress& each) {
    return (each.address.family() == family ? 0 : 2) + (each.address.is_of_link() ? 1 : 0);
  };
  return std::ranges::min(all, {}, rank_of).address;
}

// Connecting a datagram socket sends nothing. The addresses are reserved for documentation, so the route is the default
// route.
std::vector<SocketAddress> addresses_of_default_route() {
  std::vector<SocketAddress> found;
  for (const char* somewhere : {"192.0.2.1", "2001:db8::1"}) {
    const SocketAddress there = addresses_of(somewhere).front().with_port(1);
    const Socket socket(there.family(), SOCK_DGRAM);
    if (socket.connect(there)) found.push_back(own_address_of(socket.number()));
  }
  return found;
}

// Returns the address by which other hosts reach this host if its own name does not say.
SocketAddress usual_address(const std::string& host, const std::optional<std::string>& interface) {
  const auto named = named_interfaces(interface);
  if (!named.empty()) return address_of(named.front(), AF_INET);
  if (const auto found = addresses_of_default_route(); !found.empty()) return found.front();
  std::vector<InterfaceAddress> all = interface_addresses();
  std::erase_if(all, [](const auto& each) { return each.address.is_loopback() || each.address.is_of_link(); });
  if (all.size() == 1) return all.front().address;
  throw_error(ExitCode::kDevice,
              "MASTER_ADDR: {} is no address for other hosts on this host ({}), which has {}: {}, or set "
              "distributed.interface",
              in_quotes(host), host_name(), list_of_interfaces(), kSetAddress);
}

void require_reachable(const NamedInterface& named, const SocketAddress& own, const SocketAddress& rank_0) {
  if (!own.is_loopback() || rank_0.is_loopback()) return;
  throw_error(ExitCode::kDevice,
              "{}: {} has the address {}, which other hosts cannot reach, but rank 0 is at {}: name another interface",
              named.source, named.name, own.text(), rank_0.text());
}

// The two sides of a connection to rank 0.
struct Connection {
  SocketAddress own, rank_0;
};

// The store is open, so it accepts at one of the addresses.
Connection connect_to_rank_0(const Launch& launch, const std::string& host) {
  constexpr std::chrono::seconds kLongest{5};
  for (const SocketAddress& address : addresses_of(host)) {
    const Socket socket(address.family(), SOCK_STREAM);
    if (socket.connect_within(address.with_port(launch.port), kLongest))
      return {own_address_of(socket.number()), address};
  }
  throw_error(ExitCode::kDevice,
              "rank {} of {} cannot connect to {} at port {} any more: check whether rank 0 has ended", launch.rank,
              launch.size, in_quotes(host), launch.port);
}

}  // namespace

Socket listen_at(const std::string& address, int64_t port) {
  constexpr int kWaiting = 1024, kYes = 1;
  const std::vector<SocketAddress> found = addresses_of(address);
  RNNLAB_INVARIANT(!found.empty(), "the address is numeric");
  Socket socket(found.front().family(), SOCK_STREAM);
  const bool is_listening = socket.is_open() &&
                            ::setsockopt(socket.number(), SOL_SOCKET, SO_REUSEADDR, &kYes, sizeof kYes) == 0 &&
                            socket.bind(found.front().with_port(port)) && ::listen(socket.number(), kWaiting) == 0;
  if (is_listening) return socket;
  if (errno == EADDRINUSE)
    throw_error(ExitCode::kDevice,
                "{}:{} is used by another program, but the processes of this run need it to connect: set MASTER_PORT "
                "to a free port for all of them",
                address, port);
  throw_error(ExitCode::kDevice, "{}:{} cannot be opened, but the processes of this run need it to connect: {}",
              address, port, std::strerror(errno));
}

std::string address_of_store(const Launch& launch, const std::optional<std::string>& interface) {
  if (launch.is_one_host) return kLoopback;
  const std::string host = without_brackets(launch.address);
  const std::vector<SocketAddress> found = addresses_of(host);
  if (is_private_name(host, found)) return usual_address(host, interface).text();
  const bool is_loopback_meant = is_name_of_loopback(host);
  const auto here = std::ranges::find_if(found, [&](const SocketAddress& address) {
    return (is_loopback_meant || !address.is_loopback()) && is_here(address);
  });
  if (here != found.end()) return here->text();
  if (const auto named = named_interfaces(interface); !named.empty()) return address_of(named.front(), AF_INET).text();
  std::string what = found.empty() ? "has no address here" : "is " + join(texts_of(found), ", ");
  if (is_numeric_address(host)) what = "is not an address of this host";
  throw_error(ExitCode::kDevice,
              "MASTER_ADDR: {} {}, but rank 0 runs here ({}), which has {}: {}, or set distributed.interface",
              in_quotes(host), what, host_name(), list_of_interfaces(), kSetAddress);
}

std::string address_of_rank_0(const Launch& launch, const std::optional<std::string>& interface) {
  std::string host = without_brackets(launch.address);
  if (launch.is_one_host || !is_private_name(host, addresses_of(host))) return host;
  return usual_address(host, interface).text();
}

std::vector<std::string> own_addresses(const Launch& launch, const std::optional<std::string>& interface) {
  if (launch.is_one_host && !interface) return {kLoopback};
  if (launch.is_one_host) return {address_of(named_interfaces(interface).front(), AF_INET).text()};
  const std::string host =
      holds_store(launch) ? address_of_store(launch, interface) : address_of_rank_0(launch, interface);
  const Connection connection = connect_to_rank_0(launch, host);
  std::vector<std::string> own;
  for (const NamedInterface& named : named_interfaces(interface)) {
    const SocketAddress address = address_of(named, connection.own.family());
    require_reachable(named, address, connection.rank_0);
    own.push_back(address.text());
  }
  return own.empty() ? std::vector{connection.own.text()} : own;
}

}  // namespace rnnlab
