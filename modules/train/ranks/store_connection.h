// SPDX-License-Identifier: Apache-2.0
// How a rank reaches the store of its run within its time limit, and what it says where it cannot.
#pragma once

#include <cstdint>
#include <string>

#include "train/ranks/launch.h"
#include "train/ranks/ranks.h"
#include "train/ranks/store.h"

namespace rnnlab {

// Returns what keeps a rank from its store, for a message; "" if the launcher sees to that.
std::string needs_of_ranks(const Launch& launch);

// Ranks that have not joined and cannot reach the store cannot agree on which of them reports it, so this rank does. If
// the store's host does not answer, rank 0 reports which ranks are missing.
int64_t first_without_store(const Launch& launch);

// Throws UserError kDevice after options.start_timeout; ReportedBeyondNetwork if another rank reports this.
StorePointer connect_to_store(const Launch& launch, const RanksOptions& options);

}  // namespace rnnlab
