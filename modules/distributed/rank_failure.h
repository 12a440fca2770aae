// Why the run of several processes ends, in the store that all of them reach: the first failure, and which process
// tells the user. A process that is started for the run and cannot even join the others uses the same words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "base/error.h"

namespace rnnlab {

// Texts as the store has them.
std::vector<uint8_t> bytes_of(const std::string& text);
std::string text_at(c10d::Store& store, const std::string& key);  // which is there

struct RankFailure {
  int64_t rank = 0;
  ExitCode exit_code = ExitCode::kInternal;
  std::string message;
};

// The first one stays. Throws where the store is gone, as all below.
void put_failure(c10d::Store& store, const RankFailure& failure);
std::optional<RankFailure> failure_in(c10d::Store& store);

// One process tells the user why the run ended: rank 0, or the first other one after it has waited three seconds for
// that. False for a process whose message is told by another one.
bool is_to_tell(c10d::Store& store, int64_t rank, const std::string& message);

}  // namespace rnnlab
