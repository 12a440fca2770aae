// SPDX-License-Identifier: Apache-2.0
// Defines warnings: each has a code for programs and a sentence for people. Remarks that differ only in their subject
// become one warning.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"

namespace rnnlab {

// States a reason to doubt the times of a run or a benchmark: a sentence for the reader and a code for programs, which
// never parse the sentence. Files before version 3 contain only the sentence; their reader derives the code from it.
struct JsonPlace;

struct Warning {
  std::string kind;  // a code of namespace `warning`, or of a later version
  std::string text;

  friend bool operator==(const Warning&, const Warning&) = default;

  RNNLAB_FIELDS(kind, text)
};

namespace warning {
inline constexpr const char* kOther = "other";  // from an old file, or not about times

// These warnings are about the build, and the machine when the run began.
inline constexpr const char* kSlowBuild = "slow_build";
inline constexpr const char* kMoreThreadsThanCpus = "more_threads_than_cpus";
inline constexpr const char* kCpuBusy = "cpu_busy";
inline constexpr const char* kHighLoad = "high_load";
inline constexpr const char* kGpuBusy = "gpu_busy";
inline constexpr const char* kGpuThrottled = "gpu_throttled";
inline constexpr const char* kLittleMemory = "little_memory";
inline constexpr const char* kDebugged = "debugged";
inline constexpr const char* kUnequalProcessors = "unequal_processors";  // of the processes of one run
inline constexpr const char* kFixedAddresses = "fixed_addresses";

// These warnings are about events during the run.
inline constexpr const char* kCpuShared = "cpu_shared";
inline constexpr const char* kGpuShared = "gpu_shared";
inline constexpr const char* kWaited = "waited";        // less CPU time than the work needs
inline constexpr const char* kThrottled = "throttled";  // by the quota of a control group
inline constexpr const char* kStolen = "stolen";        // by a hypervisor
inline constexpr const char* kUnfinished = "unfinished";
inline constexpr const char* kStraggler = "straggler";  // one process is slower, and the others of its run wait for it

// These warnings are about the way of running.
inline constexpr const char* kCopiesInEpochs = "copies_in_epochs";
inline constexpr const char* kTraced = "traced";
inline constexpr const char* kOtherMachine = "other_machine";      // than before a resume, or than the baseline's
inline constexpr const char* kDevicesChanged = "devices_changed";  // at a resume
inline constexpr const char* kScheduleChanged = "schedule_changed";
inline constexpr const char* kCheckpointUnusable = "checkpoint_unusable";
inline constexpr const char* kBestForgotten = "best_forgotten";
inline constexpr const char* kDiverged = "diverged";
inline constexpr const char* kInterrupted = "interrupted";

inline constexpr const char* kNotMeasured = "not_measured";
inline constexpr const char* kNotInspected = "not_inspected";

// These warnings are about the numbers of a run.
inline constexpr const char* kHighLoss = "high_loss";
inline constexpr const char* kNotBetterThanBaseline = "not_better_than_baseline";
inline constexpr const char* kWarmupCounted = "warmup_counted";
inline constexpr const char* kUnprovenTimer = "unproven_timer";
inline constexpr const char* kUnsynchronisedTimer = "unsynchronised_timer";
inline constexpr const char* kOtherClock = "other_clock";  // the kernel's clock differs
inline constexpr const char* kImpossibleSum = "impossible_sum";
inline constexpr const char* kMissingTime = "missing_time";
inline constexpr const char* kImpossibleWait = "impossible_wait";
inline constexpr const char* kWrongMedian = "wrong_median";
inline constexpr const char* kWrongSummary = "wrong_summary";
inline constexpr const char* kWarmupNotMarked = "warmup_not_marked";
inline constexpr const char* kUnequalEpochs = "unequal_epochs";
inline constexpr const char* kWrongIdentity = "wrong_identity";
inline constexpr const char* kOtherPrecision = "other_precision";

// These warnings are about changes in a run's folder afterwards.
inline constexpr const char* kBrokenSeal = "broken_seal";      // of the rows
inline constexpr const char* kRowsDisagree = "rows_disagree";  // the two files with the rows differ
inline constexpr const char* kEditedSummary = "edited_summary";
inline constexpr const char* kEditedConfig = "edited_config";
inline constexpr const char* kEditedEnvironment = "edited_environment";

// These warnings are about the distribution of the times.
inline constexpr const char* kOutlier = "outlier";
inline constexpr const char* kTrend = "trend";
inline constexpr const char* kTwoModes = "two_modes";
inline constexpr const char* kEqualTimes = "equal_times";
inline constexpr const char* kColdEpoch = "cold_epoch";

// These warnings are about a comparison.
inline constexpr const char* kOtherWeights = "other_weights";
inline constexpr const char* kLossesPart = "losses_part";
inline constexpr const char* kOneAfterTheOther = "one_after_the_other";
inline constexpr const char* kAtOneTime = "at_one_time";
inline constexpr const char* kOnOneMachine = "on_one_machine";
inline constexpr const char* kMissingRounds = "missing_rounds";
inline constexpr const char* kSkippedCopy = "skipped_copy";  // of a run that is compared
}  // namespace warning

// Returns whether such a warning matters only to a reader of the times: the losses and weights of the run are right.
bool is_about_times(const Warning& warning);

// Splits off the warnings that are about times.
struct SplitWarnings {
  std::vector<Warning> of_times, others;
};
SplitWarnings split_by_times(const std::vector<Warning>& warnings);

// Returns one line for a result whose times nobody compares, "do not rely on these times: REASON (and 2 more reasons,
// which WHERE)"; "" without warnings. `where` is such as "--verbose shows".
std::string one_line_on_times(const std::vector<Warning>& of_times, std::string_view where);

// Returns only the sentences.
std::vector<std::string> texts_of(const std::vector<Warning>& warnings);

// Appends the warning unless the list already contains it.
void add_once(std::vector<Warning>& warnings, const Warning& warning);

// Returns the code of a sentence from a file before version 3.
std::string kind_of_old_warning(std::string_view text);

// Reads an object, or a sentence from a file before version 3.
void from_json(const JsonPlace& place, Warning& warning);

// States a remark about a run or a group. Remarks that differ only in their subject become one warning with a list of
// names.
struct GroupFinding {
  std::string before;     // "batch size: 64 in cpu naive, 128 in "
  std::string who;        // "cpu fused"
  std::string after;      // " (data.batch: 1 and 2)"
  std::string kind = {};  // remarks of one kind are alike even if `after` differs; "": compares `after`
};

// Subjects that have one name together: "all 12 runs" for the names of twelve runs.
struct NamedSet {
  std::vector<std::string> members;
  std::string name;
};

// Merges alike remarks; the warnings have the order in which their first remarks occur, and the kind of these. `who` is
// replaced by "a", "a and b" or "a, b, c and 5 more". Three or more members of a set become its name where all of
// them are subjects; the first of `sets` that applies is used. If `after` differs, the warning has that of the first
// remark and says so.
std::vector<Warning> merged(const std::vector<GroupFinding>& remarks, const std::vector<NamedSet>& sets = {});

}  // namespace rnnlab
