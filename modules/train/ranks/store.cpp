// SPDX-License-Identifier: Apache-2.0
#include "train/ranks/store.h"

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "base/file_handles.h"
#include "base/sha256.h"
#include "base/text.h"
#include "train/ranks/network.h"
#include "train/ranks/signed_store.h"
#include "train/ranks/socket.h"

namespace rnnlab {
namespace {

c10d::TCPStoreOptions store_options(int64_t port, std::chrono::milliseconds timeout) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(port);
  options.waitWorkers = false;
  options.timeout = timeout;
  return options;
}

StorePointer open_whole_store(const Launch& launch, const StoreOptions& options) {
  try {
    if (holds_store(launch))
      return listening_store(address_of_store(launch, options.interface), launch.port, options.timeout);
    return c10::make_intrusive<c10d::TCPStore>(address_of_rank_0(launch, options.interface),
                                               store_options(launch.port, options.timeout));
  } catch (const c10::Error& error) {
    throw StoreUnreachable(
        ExitCode::kDevice,
        fmt::format("rank {} of {} cannot reach the store of its run at {}:{}, which rank 0 or its launcher holds: {}",
                    launch.rank, launch.size, launch.address, launch.port, first_line(error.what_without_backtrace())));
  }
}

}  // namespace

StorePointer listening_store(const std::string& address, int64_t port, std::chrono::milliseconds timeout) {
  Socket socket = listen_at(address, port);
  c10d::TCPStoreOptions options = store_options(own_address_of(socket.number()).port(), timeout);
  options.isServer = true;
  options.masterListenFd = socket.number();
  auto store = c10::make_intrusive<c10d::TCPStore>(address, options);
  socket.release();  // the store closes it
  return store;
}

// The keys do not contain the secret, because LibTorch's messages contain keys.
StorePointer part_of(const StorePointer& whole, const std::string& secret, const std::string& attempt,
                     const std::string& name_of_run) {
  const std::string path = attempt + "/" + name_of_run;
  if (secret.empty()) return c10::make_intrusive<c10d::PrefixStore>("rnnlab/" + path, whole);
  return c10::make_intrusive<c10d::PrefixStore>("rnnlab/" + hmac_sha256(secret, path), sign_values(whole, secret));
}

StorePointer open_store(const Launch& launch, const StoreOptions& options) {
  require_handles(kHandlesOfProcess + launch.size * kHandlesOfPeer,
                  fmt::format("rank {} of {}", launch.rank, launch.size));
  return part_of(open_whole_store(launch, options), launch.secret, launch.attempt, options.name_of_run);
}

// compareSet() returns what it was called with if the key does not exist.
std::string text_at(c10d::Store& store, const std::string& key) {
  const std::string kNothing = "(no value)";
  const std::vector<uint8_t> nothing(kNothing.begin(), kNothing.end());
  const std::vector<uint8_t> bytes = store.compareSet(key, nothing, nothing);
  return bytes == nothing ? "" : std::string(bytes.begin(), bytes.end());
}

void put_text(c10d::Store& store, const std::string& key, const std::string& text) {
  store.set(key, std::vector<uint8_t>(text.begin(), text.end()));
}

}  // namespace rnnlab
