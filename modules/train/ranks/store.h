// SPDX-License-Identifier: Apache-2.0
// Opens the store through which the processes of a run find each other, LibTorch's TCPStore: keys and values that one
// process holds and the others ask for. The store listens at one address only: on one host at that of the loopback
// interface, else at the address to which MASTER_ADDR resolves (network.h). TCPStore lets everybody read and write who
// reaches that address, so values of a launch with a secret are signed (signed_store.h).
#pragma once

#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "train/ranks/launch.h"

namespace c10d {
class Store;
}

namespace rnnlab {

using StorePointer = c10::intrusive_ptr<c10d::Store>;

struct StoreOptions {
  std::string name_of_run;                     // ranks of a run with a different name use different keys
  std::chrono::milliseconds timeout{120'000};  // of each request
  std::optional<std::string> interface = {};   // DistributedSettings::interface
};

class StoreUnreachable : public UserError {
 public:
  using UserError::UserError;
};

// Throws StoreUnreachable (kDevice), or another UserError if this process has too few open files or no address. A
// suspended process accepts connections but does not answer, so the function may never return.
StorePointer open_store(const Launch& launch, const StoreOptions& options);

// Returns a store that listens at `address`; port 0 takes a free one.
StorePointer listening_store(const std::string& address, int64_t port, std::chrono::milliseconds timeout);

// Returns the part of a whole store that belongs to one run: all its keys and, if there is a secret, only values that a
// process with the secret has signed.
StorePointer part_of(const StorePointer& whole, const std::string& secret, const std::string& attempt,
                     const std::string& name_of_run);

// Returns the value of a key, or "" if the key does not exist. Store::get() would wait for a key that somebody deletes.
std::string text_at(c10d::Store& store, const std::string& key);
void put_text(c10d::Store& store, const std::string& key, const std::string& text);

}  // namespace rnnlab
