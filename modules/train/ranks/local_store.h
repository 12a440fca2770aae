// SPDX-License-Identifier: Apache-2.0
// Owns a store through which processes of one host connect. The process that starts the ranks holds it, so it can say
// in a rank's place why that rank ended.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"

namespace rnnlab {

// The store listens only on the loopback interface. The destructor closes it.
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
