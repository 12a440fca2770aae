// SPDX-License-Identifier: Apache-2.0
#include "train/ranks/store_connection.h"

#include <fmt/format.h>

#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "train/ranks/bounded_work.h"
#include "train/ranks/links.h"
#include "train/ranks/network.h"

namespace rnnlab {
namespace {

// Returns open_store(), or throws after a time limit.
StorePointer open_store_in_time(const Launch& launch, const RanksOptions& options) {
  const auto limit = options.start_timeout + kReportTimeout;
  const StoreOptions for_store = {
      .name_of_run = options.name, .timeout = options.start_timeout, .interface = options.interface};
  if (auto store = run_within(limit, [launch, for_store] { return open_store(launch, for_store); })) return *store;
  throw StoreUnreachable(
      ExitCode::kDevice,
      fmt::format(
          "rank {} of {} gets no answer from the store of its run at {}:{}, which rank 0 or its launcher holds: "
          "check whether that process is suspended",
          launch.rank, launch.size, launch.address, launch.port));
}

LinkState state_of_store(const Launch& launch, const RanksOptions& options) {
  const auto ask = [launch, interface = options.interface] {
    return state_of_port(address_of_rank_0(launch, interface), launch.port);
  };
  return run_within(kReportTimeout, ask).value_or(LinkState::kUnknown);
}

}  // namespace

std::string needs_of_ranks(const Launch& launch) {
  if (launch.launcher == Launcher::kRnnlab) return "";
  std::vector<std::string> needs;
  if (!launch.is_one_host) needs.push_back(fmt::format("reach {}:{}", launch.address, launch.port));
  if (!launch.secret.empty()) needs.push_back(fmt::format("have the same {}", kSecretVariable));
  return needs.empty() ? "" : "; they must " + join_with_and(needs);
}

int64_t first_without_store(const Launch& launch) { return launch.launcher_hosts_store ? 0 : 1; }

StorePointer connect_to_store(const Launch& launch, const RanksOptions& options) {
  try {
    return open_store_in_time(launch, options);
  } catch (const StoreUnreachable& failure) {
    const LinkState state = state_of_store(launch, options);
    const bool may_report = launch.rank <= first_without_store(launch) && state != LinkState::kUnreachable;
    if (may_report || state == LinkState::kUnknown) throw;
    throw ReportedBeyondNetwork(failure.exit_code(), failure.what());
  }
}

}  // namespace rnnlab
