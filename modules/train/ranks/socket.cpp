// SPDX-License-Identifier: Apache-2.0
#include "train/ranks/socket.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

namespace rnnlab {

SocketAddress::SocketAddress(const sockaddr* address, socklen_t num_bytes) : size(num_bytes) {
  std::memcpy(&bytes, address, num_bytes);
}

// The port is at the same place for IPv4 and IPv6.
int64_t SocketAddress::port() const { return ntohs(reinterpret_cast<const sockaddr_in&>(bytes).sin_port); }

SocketAddress SocketAddress::with_port(int64_t port) const {
  SocketAddress other = *this;
  reinterpret_cast<sockaddr_in&>(other.bytes).sin_port = htons(static_cast<uint16_t>(port));
  return other;
}

std::string SocketAddress::text() const {
  std::array<char, NI_MAXHOST> name{};
  const int failed = ::getnameinfo(get(), size, name.data(), name.size(), nullptr, 0, NI_NUMERICHOST | NI_NUMERICSERV);
  return failed == 0 ? name.data() : "";
}

bool SocketAddress::is_loopback() const {
  constexpr uint8_t kLoopbackNet = 127;
  constexpr size_t kMappedAt = 12;  // the first byte of an address of IPv4 within one of IPv6
  if (family() == AF_INET) {
    const in_addr& address = reinterpret_cast<const sockaddr_in&>(bytes).sin_addr;
    return reinterpret_cast<const uint8_t*>(&address)[0] == kLoopbackNet;
  }
  const in6_addr& address = reinterpret_cast<const sockaddr_in6&>(bytes).sin6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&address)) return address.s6_addr[kMappedAt] == kLoopbackNet;
  return IN6_IS_ADDR_LOOPBACK(&address);
}

bool SocketAddress::is_unspecified() const {
  const std::string own = text();
  return own == "0.0.0.0" || own == "::" || own == "::ffff:0.0.0.0";
}

bool SocketAddress::is_of_link() const {
  return family() == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6&>(bytes).sin6_addr);
}

std::vector<SocketAddress> addresses_of(const std::string& host, int flags) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = flags;
  addrinfo* first = nullptr;
  if (host.empty() || ::getaddrinfo(host.c_str(), nullptr, &wanted, &first) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(first, &::freeaddrinfo);
  std::vector<SocketAddress> found;
  for (const addrinfo* each = first; each != nullptr; each = each->ai_next)
    if (each->ai_family == AF_INET || each->ai_family == AF_INET6) found.emplace_back(each->ai_addr, each->ai_addrlen);
  return found;
}

bool is_numeric_address(const std::string& host) { return !addresses_of(host, AI_NUMERICHOST).empty(); }

SocketAddress own_address_of(int socket) {
  SocketAddress address;
  address.size = sizeof address.bytes;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address.bytes), &address.size);
  return address;
}

int error_of_connection(int socket) {
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

bool Socket::connect_within(const SocketAddress& address, std::chrono::milliseconds limit) const {
  ::fcntl(number(), F_SETFL, O_NONBLOCK);
  if (connect(address)) return true;
  pollfd waiting{.fd = number(), .events = POLLOUT, .revents = 0};
  if (errno != EINPROGRESS || ::poll(&waiting, 1, static_cast<int>(limit.count())) != 1) return false;
  return error_of_connection(number()) == 0;
}

}  // namespace rnnlab
