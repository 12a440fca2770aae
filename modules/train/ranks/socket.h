// SPDX-License-Identifier: Apache-2.0
// Addresses of IPv4 and IPv6, and sockets, as the system has them. Nothing here throws: a caller examines errno and
// writes the message.
#pragma once

#include <netdb.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/file_descriptor.h"

namespace rnnlab {

struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;

  SocketAddress() = default;
  SocketAddress(const sockaddr* address, socklen_t num_bytes);

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
  int family() const { return bytes.ss_family; }
  int64_t port() const;
  SocketAddress with_port(int64_t port) const;
  std::string text() const;  // numeric, without the port

  bool is_loopback() const;
  bool is_unspecified() const;
  bool is_of_link() const;  // valid on its own link only
};

// Returns the addresses of a host in the system's order, or none if the name has none. With AI_NUMERICHOST no name is
// asked for.
std::vector<SocketAddress> addresses_of(const std::string& host, int flags = 0);

bool is_numeric_address(const std::string& host);

// Returns the address at which a socket listens or from which it is connected.
SocketAddress own_address_of(int socket);

// Returns the error with which a connection that was begun has failed; 0 if it has not.
int error_of_connection(int socket);

class Socket {
 public:
  Socket() = default;
  Socket(int family, int type) : descriptor_(::socket(family, type | SOCK_CLOEXEC, 0)) {}

  int number() const { return descriptor_.number(); }
  bool is_open() const { return descriptor_.is_open(); }
  int release() { return descriptor_.release(); }

  bool bind(const SocketAddress& address) const { return ::bind(number(), address.get(), address.size) == 0; }
  bool connect(const SocketAddress& address) const { return ::connect(number(), address.get(), address.size) == 0; }

  // Returns whether the other side accepts within `limit`.
  bool connect_within(const SocketAddress& address, std::chrono::milliseconds limit) const;

 private:
  FileDescriptor descriptor_;
};

}  // namespace rnnlab
