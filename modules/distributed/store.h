// SPDX-License-Identifier: Apache-2.0
// Opens the store through which the processes of a run find each other, LibTorch's TCPStore: keys and values that one
// process holds and the others ask for. The store listens at one address only: on one host at that of the loopback
// interface, else at the address to which MASTER_ADDR resolves (network.h). TCPStore lets everybody read and write who
// reaches that address, so values of a launch with a secret are signed (signed_store.h).
#pragma once

#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "distributed/launch.h"

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

// Returns the value of a key, or "" if the key does not exist. Store::get() would wait for a key that somebody deletes.
std::string text_at(c10d::Store& store, const std::string& key);
void put_text(c10d::Store& store, const std::string& key, const std::string& text);

// Owns a store through which processes of one host connect; the store listens only on the loopback interface. The
// destructor closes the store.
class LocalStore {
 public:
  LocalStore();  // throws UserError kDevice if no socket can be opened
  ~LocalStore();
  int64_t port() const;
  const std::string& secret() const;  // a random Launch::secret for the processes

  // Does what Ranks::post_failure does, for a rank of the run with this name that can no longer do so itself.
  void post_failure(const std::string& name_of_run, int64_t rank, ExitCode exit_code,
                    const std::string& message) noexcept;

  // Returns whether a process of the run with this name has claimed to report why the run ended (run_failure.h).
  bool is_report_claimed(const std::string& name_of_run) noexcept;

 private:
  struct Server;
  std::unique_ptr<Server> server_;
};

}  // namespace rnnlab
