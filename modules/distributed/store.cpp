// SPDX-License-Identifier: Apache-2.0
#include "distributed/store.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "base/error.h"
#include "base/file_handles.h"
#include "base/text.h"
#include "distributed/heartbeat.h"

namespace rnnlab {
namespace {

// Returns a socket that listens on the loopback interface, at `port` or, if it is 0, at a port that the system chooses.
int listen_on_loopback(int64_t port) {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  constexpr int kWaiting = 1024;
  const bool is_listening = descriptor >= 0 &&
                            ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
                            ::bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
                            ::listen(descriptor, kWaiting) == 0;
  if (is_listening) return descriptor;
  const int error = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (error == EADDRINUSE)
    throw_error(ExitCode::kDevice,
                "127.0.0.1:{} is used by another program, but the processes of this run need it to connect: set "
                "MASTER_PORT to a free port for all of them",
                port);
  throw_error(ExitCode::kDevice, "127.0.0.1:{} cannot be opened, but the processes of this run need it to connect: {}",
              port, std::strerror(error));
}

int64_t port_of(int descriptor) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

c10d::TCPStoreOptions store_options(int64_t port, std::chrono::milliseconds timeout) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(port);
  options.waitWorkers = false;
  options.timeout = timeout;
  return options;
}

StorePointer make_server(int descriptor, std::chrono::milliseconds timeout) {
  c10d::TCPStoreOptions options = store_options(port_of(descriptor), timeout);
  options.isServer = true;
  options.masterListenFd = descriptor;
  return c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
}

StorePointer open_whole_store(const Launch& launch, std::chrono::milliseconds timeout) {
  try {
    const bool is_server = holds_store(launch);
    if (is_server && launch.is_one_host) return make_server(listen_on_loopback(launch.port), timeout);
    c10d::TCPStoreOptions of_store = store_options(launch.port, timeout);
    of_store.isServer = is_server;
    return c10::make_intrusive<c10d::TCPStore>(launch.address, of_store);
  } catch (const c10::Error& error) {
    throw_error(ExitCode::kDevice,
                "rank {} of {} cannot reach the store of its run at {}:{}, which rank 0 or its launcher holds: {}",
                launch.rank, launch.size, launch.address, launch.port, first_line(error.what_without_backtrace()));
  }
}

std::string prefix_of(const std::string& attempt, const std::string& name) { return "rnnlab/" + attempt + "/" + name; }

}  // namespace

StorePointer open_store(const Launch& launch, const std::string& name_of_run, std::chrono::milliseconds timeout) {
  require_handles(kHandlesOfProcess + launch.size * kHandlesOfPeer,
                  fmt::format("rank {} of {}", launch.rank, launch.size));
  return c10::make_intrusive<c10d::PrefixStore>(prefix_of(launch.attempt, name_of_run),
                                                open_whole_store(launch, timeout));
}

bool holds_store(const Launch& launch) { return launch.rank == 0 && !launch.launcher_hosts_store; }

struct LocalStore::Server {
  StorePointer store;
};

LocalStore::LocalStore() : server_(std::make_unique<Server>()) {
  constexpr std::chrono::seconds kTimeout{30};
  server_->store = make_server(listen_on_loopback(0), kTimeout);
}

LocalStore::~LocalStore() = default;

void LocalStore::post_failure(const std::string& name_of_run, int64_t rank, ExitCode exit_code,
                              const std::string& message) noexcept {
  try {
    c10d::PrefixStore store(prefix_of("", name_of_run), server_->store);
    put_failure(store, {.rank = rank, .exit_code = exit_code, .message = message, .process = ""});
  } catch (const std::exception&) {  // no process is left to read the message
    return;
  }
}

bool LocalStore::is_report_claimed(const std::string& name_of_run) noexcept {
  try {
    c10d::PrefixStore store(prefix_of("", name_of_run), server_->store);
    return rnnlab::is_report_claimed(store);
  } catch (const std::exception&) {
    return false;
  }
}

int64_t LocalStore::port() const { return static_cast<const c10d::TCPStore&>(*server_->store).getPort(); }

}  // namespace rnnlab
