// SPDX-License-Identifier: Apache-2.0
#include "train/ranks/local_store.h"

#include <limits>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "train/ranks/launch.h"
#include "train/ranks/run_failure.h"
#include "train/ranks/store.h"

namespace rnnlab {
namespace {

constexpr int64_t kAnySize = std::numeric_limits<int64_t>::max();  // of a run, which the owner of a store ignores

}  // namespace

struct LocalStore::Server {
  std::string secret = random_secret();
  StorePointer whole;

  StorePointer part(const std::string& name_of_run) const { return part_of(whole, secret, "", name_of_run); }
};

LocalStore::LocalStore() : server_(std::make_unique<Server>()) {
  constexpr std::chrono::seconds kTimeout{30};
  server_->whole = listening_store(kLoopback, 0, kTimeout);
}

LocalStore::~LocalStore() = default;

const std::string& LocalStore::secret() const { return server_->secret; }

void LocalStore::post_failure(const std::string& name_of_run, int64_t rank, ExitCode exit_code,
                              const std::string& message) noexcept {
  try {
    put_failure(*server_->part(name_of_run), {.rank = rank, .exit_code = exit_code, .message = message, .process = ""},
                kAnySize);
  } catch (const std::exception&) {  // no process is left to read the message
    return;
  }
}

bool LocalStore::is_report_claimed(const std::string& name_of_run) noexcept {
  try {
    return rnnlab::is_report_claimed(*server_->part(name_of_run), kAnySize);
  } catch (const std::exception&) {
    return false;
  }
}

int64_t LocalStore::port() const { return static_cast<const c10d::TCPStore&>(*server_->whole).getPort(); }

}  // namespace rnnlab
