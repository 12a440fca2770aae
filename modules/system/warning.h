// Warnings: a code for programs beside a sentence for people. Remarks that differ only in whom they are about become
// one warning.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rnnlab {

// A reason to doubt the times of a run or a benchmark: a sentence for the reader, and a code for programs. Nothing is
// read back out of the sentence. Files before version 3 hold the sentence alone, from which their reader finds the
// code.

struct JsonPlace;

struct Warning {
  std::string kind;  // one of `warning`, or that of a later version
  std::string text;

  friend bool operator==(const Warning&, const Warning&) = default;

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("kind", self.kind);
    field("text", self.text);
  }
};

namespace warning {
inline constexpr const char* kOther = "other";  // of an old file, or about nothing of the times

// The build and the machine when the run began.
inline constexpr const char* kSlowBuild = "slow_build";
inline constexpr const char* kMoreThreadsThanCpus = "more_threads_than_cpus";
inline constexpr const char* kCpuBusy = "cpu_busy";
inline constexpr const char* kHighLoad = "high_load";
inline constexpr const char* kGpuBusy = "gpu_busy";
inline constexpr const char* kGpuThrottled = "gpu_throttled";
inline constexpr const char* kLittleMemory = "little_memory";
inline constexpr const char* kDebugged = "debugged";
inline constexpr const char* kFixedAddresses = "fixed_addresses";

// What came while it ran.
inline constexpr const char* kCpuShared = "cpu_shared";
inline constexpr const char* kGpuShared = "gpu_shared";
inline constexpr const char* kWaited = "waited";        // less CPU time than the work wants
inline constexpr const char* kThrottled = "throttled";  // by the quota of a control group
inline constexpr const char* kStolen = "stolen";        // by a hypervisor
inline constexpr const char* kUnfinished = "unfinished";
inline constexpr const char* kStraggler = "straggler";  // a process that the others of its run wait for

// How it was run.
inline constexpr const char* kCopiesInEpochs = "copies_in_epochs";
inline constexpr const char* kTraced = "traced";
inline constexpr const char* kOtherMachine = "other_machine";      // than before it was resumed, or than the baseline's
inline constexpr const char* kDevicesChanged = "devices_changed";  // when it was resumed
inline constexpr const char* kScheduleChanged = "schedule_changed";
inline constexpr const char* kCheckpointUnusable = "checkpoint_unusable";
inline constexpr const char* kBestForgotten = "best_forgotten";
inline constexpr const char* kDiverged = "diverged";
inline constexpr const char* kInterrupted = "interrupted";

inline constexpr const char* kNotMeasured = "not_measured";
inline constexpr const char* kNotInspected = "not_inspected";

// What its numbers show.
inline constexpr const char* kHighLoss = "high_loss";
inline constexpr const char* kWarmupCounted = "warmup_counted";
inline constexpr const char* kUnprovenTimer = "unproven_timer";
inline constexpr const char* kUnsynchronisedTimer = "unsynchronised_timer";
inline constexpr const char* kOtherClock = "other_clock";  // the kernel's says otherwise
inline constexpr const char* kImpossibleSum = "impossible_sum";
inline constexpr const char* kMissingTime = "missing_time";
inline constexpr const char* kImpossibleWait = "impossible_wait";
inline constexpr const char* kWrongMedian = "wrong_median";
inline constexpr const char* kWrongSummary = "wrong_summary";
inline constexpr const char* kWarmupNotMarked = "warmup_not_marked";
inline constexpr const char* kUnequalEpochs = "unequal_epochs";
inline constexpr const char* kWrongIdentity = "wrong_identity";
inline constexpr const char* kOtherPrecision = "other_precision";

// What was changed in its folder afterwards.
inline constexpr const char* kBrokenSeal = "broken_seal";      // of the rows
inline constexpr const char* kRowsDisagree = "rows_disagree";  // in the two files that have them
inline constexpr const char* kEditedSummary = "edited_summary";
inline constexpr const char* kEditedConfig = "edited_config";
inline constexpr const char* kEditedEnvironment = "edited_environment";

// The shape of its times.
inline constexpr const char* kOutlier = "outlier";
inline constexpr const char* kTrend = "trend";
inline constexpr const char* kTwoModes = "two_modes";
inline constexpr const char* kEqualTimes = "equal_times";
inline constexpr const char* kColdEpoch = "cold_epoch";

// Of a comparison.
inline constexpr const char* kOtherWeights = "other_weights";
inline constexpr const char* kLossesPart = "losses_part";
inline constexpr const char* kOneAfterTheOther = "one_after_the_other";
inline constexpr const char* kAtOneTime = "at_one_time";
inline constexpr const char* kOnOneMachine = "on_one_machine";
inline constexpr const char* kMissingRounds = "missing_rounds";
}  // namespace warning

// The sentences alone.
std::vector<std::string> texts_of(const std::vector<Warning>& warnings);

// Unless it is among them.
void add_once(std::vector<Warning>& warnings, const Warning& warning);

// The kind that a sentence of a file before version 3 has.
std::string kind_of_old_warning(std::string_view text);

// An object, or a sentence in a file before version 3.
void from_json(const JsonPlace& place, Warning& warning);

// What is to be said about several runs or groups in one line: remarks that are alike but for whom they are about
// become one, with a list of names.

struct Remark {
  std::string before;     // "batch size: 64 in cpu naive, 128 in "
  std::string who;        // "cpu fused"
  std::string after;      // " (data.batch: 1 and 2)"
  std::string kind = {};  // remarks of one kind are alike though `after` differs, as in a number; "": `after` counts
};

// With the kind of each, in the order of the first of each. "a", "a and b" or "a, b, c and 5 more" takes the place of
// `who`; where `after` differs, the first stands for all and says so.
std::vector<Warning> merged(const std::vector<Remark>& remarks);

}  // namespace rnnlab
