// SPDX-License-Identifier: Apache-2.0
// Decides which rank reports to the user why the run ends, so that exactly one does. The store decides while it answers
// (run_failure.h); without it the ranks ask each other (links.h), and the lowest that answers reports.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "train/ranks/heartbeat.h"
#include "train/ranks/launch.h"
#include "train/ranks/links.h"
#include "train/ranks/store.h"

namespace rnnlab {

class EndReport {
 public:
  // The references must stay valid.
  EndReport(StorePointer store, Heartbeat& heartbeat, const Links& links, const Launch& launch);

  // See Ranks::post_failure, Ranks::claim_report and Ranks::is_cut_off.
  void post_failure(ExitCode exit_code, const std::string& message) const noexcept;
  bool claim(const std::string& message) noexcept;
  bool is_cut_off() const { return is_cut_off_; }

 private:
  bool is_reporter(const std::string& message);
  bool is_elected();
  bool wait_for_report() const;
  void wait_for_files_of_rank_0() const;
  std::vector<LinkState> states_without_store() const;

  StorePointer store_;
  Heartbeat& heartbeat_;
  const Links& links_;
  int64_t rank_, size_, first_without_store_;
  bool is_cut_off_ = false;
};

}  // namespace rnnlab
