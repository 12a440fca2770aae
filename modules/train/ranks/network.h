// SPDX-License-Identifier: Apache-2.0
// Chooses the network addresses of a run over several hosts: where rank 0's store listens, and by which address this
// process connects to the other ranks. Debian and Ubuntu give a host's own name the address 127.0.1.1, which other
// hosts cannot reach, so an address is never taken from the name of this host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "train/ranks/launch.h"
#include "train/ranks/socket.h"

namespace rnnlab {

// Returns a socket that listens at the numeric `address` only, at `port` or, if it is 0, at a port that the system
// chooses. Throws UserError kDevice.
Socket listen_at(const std::string& address, int64_t port);

// Returns the numeric address at which rank 0 listens: the loopback interface if all ranks are on one host; else the
// first address of MASTER_ADDR that this host has. If MASTER_ADDR is not an address of this host, or is a name by which
// this host refers to itself (127.0.1.1), it is the address of `interface`, or of the first interface in
// GLOO_SOCKET_IFNAME. If neither is set, a name of the second kind means the address of the default route. Throws
// UserError kDevice if no address is found.
std::string address_of_store(const Launch& launch, const std::optional<std::string>& interface);

// Returns the address at which rank 0 answers this process: MASTER_ADDR, or address_of_store() if MASTER_ADDR is a name
// of this host for itself.
std::string address_of_rank_0(const Launch& launch, const std::optional<std::string>& interface);

// Returns the numeric addresses by which this process connects to the other ranks; the connections take turns. On one
// host it is that of the loopback interface, unless `interface` is set. On several hosts it is that of `interface`, or
// those of the interfaces in GLOO_SOCKET_IFNAME ("eth0,eth1"), or that by which this host reaches MASTER_ADDR. Throws
// UserError kDevice if an interface does not exist or has no address, or if other hosts cannot reach the address.
std::vector<std::string> own_addresses(const Launch& launch, const std::optional<std::string>& interface);

}  // namespace rnnlab
